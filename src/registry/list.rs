//! The body of a bulk put, line by line: NDJSON or CSV. Each line stands by
//! itself: a bad one is told and costs no other. Read in parts, so that a body
//! is never in memory as so many forms. Pure.

use bytes::Bytes;
use serde_json::Value;

use super::error::FieldError;
use super::sensor_form::SensorForm;
use super::table::Table;
use crate::model::SensorId;

/// Most bytes of one line, in UTF-8.
pub(super) const LINE_BYTES_MAX: usize = 1 << 20;

/// A part ends behind this many bytes, whatever its lines: so reading one takes
/// some milliseconds at most.
const PART_BYTES: usize = 1 << 20;

/// One sensor of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListItem {
    /// Where it stands.
    pub place: Place,
    /// Which sensor.
    pub sensor: SensorId,
    /// What is said of it.
    pub form: SensorForm,
}

/// Where an item stands in its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Its number among the items, from 0.
    pub index: u64,
    /// Its line, from 1.
    pub line: u64,
}

/// One item that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListRejection {
    /// Where it stands.
    pub place: Place,
    /// The member at fault, where one is.
    pub field: Option<String>,
    /// The kind of fault, stable.
    pub code: &'static str,
    /// What was wrong and what to do.
    pub detail: String,
}

/// Some lines of a list, read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ListPart {
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

/// A body that is read part by part.
#[derive(Debug)]
pub struct SensorList {
    lines: Lines,
    /// Items read so far.
    items: u64,
}

#[derive(Debug)]
enum Lines {
    Ndjson(JsonLines),
    Csv(Table),
}

/// One line: an object, or why it is none.
pub(super) struct Line {
    /// From 1.
    pub(super) number: u64,
    /// An upper bound of what it takes to read it.
    pub(super) bytes: usize,
    pub(super) said: Result<Value, (&'static str, String)>,
}

impl SensorList {
    /// Lines of JSON objects with `sensorId` each; blank ones are skipped.
    ///
    /// # Errors
    /// [`ListError::Empty`].
    pub fn ndjson(body: Bytes) -> Result<Self, ListError> {
        if body.trim_ascii().is_empty() {
            return Err(ListError::Empty);
        }
        let lines = Lines::Ndjson(JsonLines {
            rest: body,
            line: 0,
        });
        Ok(Self { lines, items: 0 })
    }

    /// CSV with a header: `sensorId`, `name`, `model`, `site`, `retention`,
    /// `rawRetention`, `unit.<measure>`, `attr.<key>`. An empty cell says nothing.
    ///
    /// # Errors
    /// [`ListError`].
    pub fn csv(body: Bytes) -> Result<Self, ListError> {
        let lines = Lines::Csv(Table::new(body)?);
        Ok(Self { lines, items: 0 })
    }

    /// The next lines, at most `items_max`; `None` behind the last.
    pub fn next_part(&mut self, items_max: usize) -> Option<ListPart> {
        let mut part = ListPart::default();
        let (mut items, mut bytes) = (0, 0);
        while items < items_max && bytes < PART_BYTES {
            let line = match &mut self.lines {
                Lines::Ndjson(lines) => lines.next(),
                Lines::Csv(table) => table.next(),
            };
            let Some(line) = line else {
                break;
            };
            items += 1;
            bytes += line.bytes;
            let place = Place {
                index: self.items,
                line: line.number,
            };
            self.items += 1;
            part.take(place, line.said);
        }
        (items > 0).then_some(part)
    }
}

impl ListPart {
    fn take(&mut self, place: Place, said: Result<Value, (&'static str, String)>) {
        let id = "sensorId";
        let value = match said {
            Ok(value) => value,
            Err((code, detail)) => return self.reject(place, None, code, detail),
        };
        let Some(said) = value.get(id).and_then(Value::as_str) else {
            let told = "each line names its sensor: \"sensorId\": \"S1\"".to_owned();
            return self.reject(place, Some(id), "missing_sensor_id", told);
        };
        let sensor = match SensorId::new(said) {
            Ok(sensor) => sensor,
            Err(error) => {
                return self.reject(place, Some(id), "invalid_sensor_id", error.to_string());
            }
        };
        match SensorForm::read(&value, None) {
            Ok(form) => self.items.push(ListItem {
                place,
                sensor,
                form,
            }),
            Err(error) => {
                let told = error.to_string();
                let FieldError { field, .. } = error;
                self.reject(place, Some(&field), "invalid_field", told);
            }
        }
    }

    fn reject(&mut self, place: Place, field: Option<&str>, code: &'static str, detail: String) {
        self.rejections.push(ListRejection {
            place,
            field: field.map(str::to_owned),
            code,
            detail,
        });
    }
}

#[derive(Debug)]
struct JsonLines {
    rest: Bytes,
    /// Lines read so far.
    line: u64,
}

impl JsonLines {
    /// The next line that is not blank.
    fn next(&mut self) -> Option<Line> {
        while !self.rest.is_empty() {
            let end = memchr::memchr(b'\n', &self.rest).map_or(self.rest.len(), |at| at + 1);
            let line = self.rest.split_to(end);
            self.line += 1;
            if line.trim_ascii().is_empty() {
                continue;
            }
            return Some(Line {
                number: self.line,
                bytes: line.len(),
                said: read_json(&line),
            });
        }
        None
    }
}

fn read_json(line: &[u8]) -> Result<Value, (&'static str, String)> {
    if line.len() > LINE_BYTES_MAX {
        return Err(("line_too_long", too_long()));
    }
    serde_json::from_slice(line).map_err(|error| {
        // Its own line number is always 1, which only misleads.
        let told = error.to_string();
        let told = told.split(" at line ").next().unwrap_or_default();
        let told = format!("the line is no JSON: {told} at column {}", error.column());
        ("invalid_json", told)
    })
}

/// What is said of a line beyond the bound.
pub(super) fn too_long() -> String {
    format!("the line has more than {LINE_BYTES_MAX} bytes")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// All parts of `list` as one.
    fn whole(list: Result<SensorList, ListError>, items_max: usize) -> ListPart {
        let (mut list, mut whole) = (list.unwrap(), ListPart::default());
        while let Some(part) = list.next_part(items_max) {
            assert!(part.items.len() + part.rejections.len() <= items_max);
            whole.items.extend(part.items);
            whole.rejections.extend(part.rejections);
        }
        whole
    }

    fn told(part: &ListPart) -> Vec<(u64, u64, &'static str)> {
        let rejections = part.rejections.iter();
        rejections
            .map(|r| (r.place.index, r.place.line, r.code))
            .collect()
    }

    #[test]
    fn lines_stand_by_themselves() {
        let long = format!("\n{{\"sensorId\":\"{}\"}}", "x".repeat(LINE_BYTES_MAX));
        let body = "{\"sensorId\":\"S1\",\"name\":\"a\"}\n\n{bad\n{\"name\":\"x\"}\r\n\
                    {\"sensorId\":\"S2\",\"nmae\":\"x\"}\n{\"sensorId\":\"S3\"}"
            .to_owned()
            + &long;
        for items_max in [1, 2, 100] {
            let part = whole(SensorList::ndjson(body.clone().into()), items_max);
            let items: Vec<_> = part
                .items
                .iter()
                .map(|i| (i.place.index, i.place.line))
                .collect();
            assert_eq!(items, [(0, 1), (4, 6)]);
            let expected = [
                (1, 3, "invalid_json"),
                (2, 4, "missing_sensor_id"),
                (3, 5, "invalid_field"),
                (5, 7, "line_too_long"),
            ];
            assert_eq!(told(&part), expected);
            let nearest = &part.rejections[2].detail;
            assert_eq!(nearest, "`nmae` is unknown here, did you mean `name`?");
        }
    }

    #[test]
    fn a_table_says_the_same_as_lines() {
        let table = "\u{feff}sensorId,name,attr.room,unit.temp,site\nS1,a,4b,°C,plant\n\
                     \"S2\",,,,\nS3,x\n\n,y,,,\n";
        let lines = "{\"sensorId\":\"S1\",\"name\":\"a\",\"attributes\":{\"room\":\"4b\"},\
                     \"units\":{\"temp\":\"°C\"},\"site\":\"plant\"}\n{\"sensorId\":\"S2\"}";
        let windows = table.replace('\n', "\r\n");
        for (table, items_max) in [(table, 1), (table, 3), (&windows, 2), (table, 100)] {
            let table = whole(SensorList::csv(table.to_owned().into()), items_max);
            let lines = whole(SensorList::ndjson(lines.into()), items_max);
            let forms = |part: &ListPart| -> Vec<_> {
                let items = part.items.iter();
                items.map(|i| (i.sensor.clone(), i.form.clone())).collect()
            };
            assert_eq!(forms(&table), forms(&lines));
            let expected = [(2, 4, "invalid_row"), (3, 6, "missing_sensor_id")];
            assert_eq!(told(&table), expected);
        }
    }

    #[test]
    fn a_table_with_a_header_that_says_nothing_known_is_refused() {
        let many: Vec<String> = (0..2000).map(|n| format!("attr.{n}")).collect();
        for (body, fault) in [
            ("", "empty"),
            ("sensorId,nmae\nS1,x\n", "`nmae` is unknown"),
            ("name\nx\n", "a column `sensorId`"),
            ("sensorId,name,name\nS1,a,b\n", "`name` stands there twice"),
            ("sensorId\n", "empty"),
            ("sensorId\n\n \n", "empty"),
            (&many.join(","), "at most 1024"),
        ] {
            let error = SensorList::csv(body.to_owned().into())
                .unwrap_err()
                .to_string();
            assert!(error.contains(fault), "{error}");
        }
        assert_eq!(
            SensorList::ndjson(" \n\n".into()).unwrap_err(),
            ListError::Empty
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(body in proptest::collection::vec(any::<u8>(), 0..200)) {
            let header = [b"sensorId,name\n", body.as_slice()].concat();
            for list in [
                SensorList::ndjson(body.clone().into()),
                SensorList::csv(body.into()),
                SensorList::csv(header.into()),
            ] {
                if list.is_ok() {
                    let _ = whole(list, 2);
                }
            }
        }
    }
}
