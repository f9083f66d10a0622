//! The body of a bulk put, line by line: NDJSON or CSV. Each line stands by
//! itself: a bad one is told and costs no other. Pure.

use serde_json::{Map, Value};

use super::error::FieldError;
use super::sensor_form::SensorForm;
use crate::model::{MeasureName, SensorId};

/// One sensor of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListItem {
    /// Its place among the items of the body, from 0.
    pub index: u64,
    /// Its line, from 1.
    pub line: u64,
    /// Which sensor.
    pub sensor: SensorId,
    /// What is said of it.
    pub form: SensorForm,
}

/// One item that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListRejection {
    /// Its place among the items of the body, from 0.
    pub index: u64,
    /// Its line, from 1.
    pub line: u64,
    /// The member at fault, where one is.
    pub field: Option<String>,
    /// The kind of fault, stable.
    pub code: &'static str,
    /// What was wrong and what to do.
    pub detail: String,
}

/// A body, read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SensorList {
    /// What can be put, in order.
    pub items: Vec<ListItem>,
    /// What cannot.
    pub rejections: Vec<ListRejection>,
}

/// Why a body cannot be read at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    /// Nothing in it.
    #[error("the body is empty; send a line for each sensor")]
    Empty,
    /// A header of CSV that names what is not known.
    #[error("the header of the CSV: {0}")]
    Header(String),
}

/// What a column of CSV is.
enum Column {
    Sensor,
    /// A member of the form.
    Member(&'static str),
    /// A member of an object of the form.
    Inner(&'static str, String),
}

impl SensorList {
    /// Reads lines of JSON objects with `sensorId` each; blank ones are skipped.
    ///
    /// # Errors
    /// [`ListError::Empty`].
    pub fn ndjson(body: &[u8]) -> Result<Self, ListError> {
        let mut list = Self::default();
        let mut index = 0;
        for (line, bytes) in (1..).zip(body.split(|byte| *byte == b'\n')) {
            if bytes.trim_ascii().is_empty() {
                continue;
            }
            match serde_json::from_slice::<Value>(bytes) {
                Ok(value) => list.take(index, line, &value),
                Err(error) => list.reject(index, line, None, "invalid_json", error.to_string()),
            }
            index += 1;
        }
        list.unless_empty(index)
    }

    /// Reads CSV with a header: `sensorId`, `name`, `model`, `site`, `retention`,
    /// `rawRetention`, `unit.<measure>`, `attr.<key>`. An empty cell says nothing.
    ///
    /// # Errors
    /// [`ListError`].
    pub fn csv(body: &[u8]) -> Result<Self, ListError> {
        let mut reader = csv::ReaderBuilder::new()
            .flexible(true)
            .trim(csv::Trim::All)
            .from_reader(body);
        let header = reader
            .headers()
            .map_err(|error| ListError::Header(error.to_string()))?;
        if header.is_empty() {
            return Err(ListError::Empty);
        }
        let columns: Result<Vec<Column>, ListError> = header.iter().map(column).collect();
        let columns = columns?;
        let sensors = columns.iter().filter(|c| matches!(c, Column::Sensor));
        if sensors.count() != 1 {
            let told = "it must have one column `sensorId`";
            return Err(ListError::Header(told.to_owned()));
        }
        let mut list = Self::default();
        let mut index = 0;
        for row in reader.records() {
            match row {
                Ok(row) => {
                    let line = row.position().map_or(0, csv::Position::line);
                    if row.len() == columns.len() {
                        list.take(index, line, &row_json(&columns, &row));
                    } else {
                        let told = format!(
                            "the row has {} cells, the header {}",
                            row.len(),
                            columns.len()
                        );
                        list.reject(index, line, None, "invalid_row", told);
                    }
                }
                Err(error) => {
                    let line = error.position().map_or(0, csv::Position::line);
                    list.reject(index, line, None, "invalid_row", error.to_string());
                }
            }
            index += 1;
        }
        list.unless_empty(index)
    }

    fn unless_empty(self, items: u64) -> Result<Self, ListError> {
        match items {
            0 => Err(ListError::Empty),
            _ => Ok(self),
        }
    }

    fn take(&mut self, index: u64, line: u64, value: &Value) {
        let said = match value.get("sensorId") {
            Some(Value::String(said)) => said,
            _ => {
                let told = "each line names its sensor: \"sensorId\": \"S1\"".to_owned();
                let field = Some("sensorId".to_owned());
                return self.reject(index, line, field, "missing_sensor_id", told);
            }
        };
        let sensor = match SensorId::new(said) {
            Ok(sensor) => sensor,
            Err(error) => {
                let field = Some("sensorId".to_owned());
                return self.reject(index, line, field, "invalid_sensor_id", error.to_string());
            }
        };
        match SensorForm::read(value, None) {
            Ok(form) => self.items.push(ListItem {
                index,
                line,
                sensor,
                form,
            }),
            Err(FieldError { field, reason }) => {
                let told = format!("`{field}` {reason}");
                self.reject(index, line, Some(field), "invalid_field", told);
            }
        }
    }

    fn reject(
        &mut self,
        index: u64,
        line: u64,
        field: Option<String>,
        code: &'static str,
        detail: String,
    ) {
        self.rejections.push(ListRejection {
            index,
            line,
            field,
            code,
            detail,
        });
    }
}

fn column(name: &str) -> Result<Column, ListError> {
    if name == "sensorId" {
        return Ok(Column::Sensor);
    }
    let members = ["name", "model", "site", "retention", "rawRetention"];
    if let Some(member) = members.into_iter().find(|member| *member == name) {
        return Ok(Column::Member(member));
    }
    if let Some(measure) = name.strip_prefix("unit.")
        && MeasureName::new(measure).is_ok()
    {
        return Ok(Column::Inner("units", measure.to_owned()));
    }
    if let Some(key) = name.strip_prefix("attr.")
        && !key.is_empty()
    {
        return Ok(Column::Inner("attributes", key.to_owned()));
    }
    Err(ListError::Header(format!(
        "the column `{name}` is unknown; known are sensorId, {}, unit.<measure> and attr.<key>",
        members.join(", ")
    )))
}

fn row_json(columns: &[Column], row: &csv::StringRecord) -> Value {
    let mut members = Map::new();
    for (column, cell) in columns.iter().zip(row) {
        if cell.is_empty() {
            continue;
        }
        match column {
            Column::Sensor => {
                members.insert("sensorId".to_owned(), cell.into());
            }
            Column::Member(member) => {
                members.insert((*member).to_owned(), cell.into());
            }
            Column::Inner(member, key) => {
                let inner = members
                    .entry(*member)
                    .or_insert_with(|| Value::Object(Map::new()));
                if let Value::Object(inner) = inner {
                    inner.insert(key.clone(), cell.into());
                }
            }
        }
    }
    Value::Object(members)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_stand_by_themselves() {
        let body = b"{\"sensorId\":\"S1\",\"name\":\"a\"}\n\n{bad\n{\"name\":\"x\"}\r\n\
                     {\"sensorId\":\"S2\",\"nmae\":\"x\"}\n{\"sensorId\":\"S3\"}";
        let list = SensorList::ndjson(body).unwrap();
        let items: Vec<_> = list.items.iter().map(|i| (i.index, i.line)).collect();
        assert_eq!(items, [(0, 1), (4, 6)]);
        let told: Vec<_> = list
            .rejections
            .iter()
            .map(|r| (r.index, r.line, r.code))
            .collect();
        let expected = [
            (1, 3, "invalid_json"),
            (2, 4, "missing_sensor_id"),
            (3, 5, "invalid_field"),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn a_table_says_the_same_as_lines() {
        let table =
            "sensorId,name,attr.room,unit.temp,site\nS1,a,4b,°C,plant\nS2,,,,\nS3,x\n,y,,,\n";
        let lines = "{\"sensorId\":\"S1\",\"name\":\"a\",\"attributes\":{\"room\":\"4b\"},\
                     \"units\":{\"temp\":\"°C\"},\"site\":\"plant\"}\n{\"sensorId\":\"S2\"}";
        let table = SensorList::csv(table.as_bytes()).unwrap();
        let forms = |list: &SensorList| -> Vec<_> {
            let items = list.items.iter();
            items.map(|i| (i.sensor.clone(), i.form.clone())).collect()
        };
        assert_eq!(
            forms(&table),
            forms(&SensorList::ndjson(lines.as_bytes()).unwrap())
        );
        let told: Vec<_> = table.rejections.iter().map(|r| (r.line, r.code)).collect();
        assert_eq!(told, [(4, "invalid_row"), (5, "missing_sensor_id")]);
        for (body, fault) in [
            ("", "empty"),
            ("sensorId,nmae\nS1,x\n", "`nmae` is unknown"),
            ("name\nx\n", "one column `sensorId`"),
            ("sensorId\n", "empty"),
        ] {
            let error = SensorList::csv(body.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(fault), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(body in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = SensorList::ndjson(&body);
            let _ = SensorList::csv(&body);
        }
    }
}
