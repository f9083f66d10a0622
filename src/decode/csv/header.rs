//! The header row, and which column is what.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::super::decoded::Fault;
use super::super::line_protocol::is_float;
use super::super::timestamp::looks_like_a_time;
use super::columns::CsvColumns;
use super::rows::{Fits, Rows};
use super::{header_fault, invalid_row, listed, trimmed};
use crate::decode::BodyError;
use crate::model::{MeasureName, SensorId};

/// Names of columns that are the sensor, the first one first.
const SENSOR_NAMES: [&str; 5] = ["sensorId", "sensor_id", "sensor", "device_id", "device"];
/// Names of columns that are the time.
const TIME_NAMES: [&str; 3] = ["ts", "time", "timestamp"];
/// The name of the column that is the age.
const AGE_NAMES: [&str; 1] = ["ageMs"];

/// Most columns of a table.
const COLUMNS_MAX: usize = 10_000;

/// Where the sensor of a row stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SensorSource<'a> {
    /// In the column at this place.
    Column(usize),
    /// Nowhere: every row is of this one.
    Every(&'a str),
}

/// Which column is what.
#[derive(Debug)]
pub(super) struct Layout<'a> {
    /// All columns as they are called.
    pub(super) names: Vec<String>,
    pub(super) sensor: SensorSource<'a>,
    pub(super) time: Option<usize>,
    pub(super) age: Option<usize>,
    /// Measures with the places of their columns.
    pub(super) measures: Vec<(String, usize)>,
}

impl Fits for Layout<'_> {
    fn cells_max(&self) -> usize {
        self.names.len()
    }

    fn check_width(&self, cells: usize) -> Result<(), Fault> {
        let columns = self.names.len();
        if cells == columns {
            return Ok(());
        }
        Err(invalid_row(format!(
            "the row has {cells} of the {columns} cells of the header"
        )))
    }

    /// What names or dates a reading is on one line.
    fn may_hold_a_line_end(&self, place: usize) -> bool {
        let is_sensor = self.sensor == SensorSource::Column(place);
        !is_sensor && self.time != Some(place) && self.age != Some(place)
    }
}

impl<'a> Layout<'a> {
    /// Reads the header, the first row.
    pub(super) fn read(rows: &mut Rows<'_>, columns: &'a CsvColumns) -> Result<Self, BodyError> {
        let mut cells = Vec::new();
        let Some((_, row)) = rows.next(&AnyWidth, &mut cells) else {
            return Err(header_fault(
                "the body is empty; its first row must name the columns",
            ));
        };
        if let Err(fault) = row {
            let reason = format!("the header cannot be read: {}", fault.detail);
            return Err(header_fault(reason));
        }
        let names: Vec<String> = cells
            .iter()
            .map(|cell: &Cow<'_, str>| trimmed(cell).to_owned())
            .collect();
        let mut seen = HashSet::new();
        let twice = names
            .iter()
            .find(|name| !name.is_empty() && !seen.insert(*name));
        if let Some(twice) = twice {
            return Err(header_fault(format!(
                "the header has the column {} twice; give one of them another name",
                listed(std::slice::from_ref(twice))
            )));
        }
        Self::of(names, columns)
    }

    fn of(names: Vec<String>, columns: &'a CsvColumns) -> Result<Self, BodyError> {
        let places: HashMap<&str, usize> = names
            .iter()
            .enumerate()
            .map(|(place, name)| (name.as_str(), place))
            .collect();
        let place = |name: &str| places.get(name).copied();
        let named = |parameter: &str, column: &str| {
            place(column).ok_or_else(|| {
                header_fault(format!(
                    "`{parameter}` names the column {}, which the header does not have; it has {}",
                    listed(&[column.to_owned()]),
                    listed(&names)
                ))
            })
        };
        let age = match &columns.age {
            Some(column) => Some(named("ageMs", column)?),
            None => by_convention(&names, &AGE_NAMES),
        };
        let time = match &columns.time {
            Some(column) => Some(named("ts", column)?),
            None => by_convention(&names, &TIME_NAMES),
        };
        let sensor = match &columns.sensor {
            Some(text) => match place(text) {
                Some(place) => SensorSource::Column(place),
                None => {
                    SensorId::new(text).map_err(|error| {
                        header_fault(format!(
                            "`sensorId` names no column of the header ({}), and is no sensor id: \
                             {error}",
                            listed(&names)
                        ))
                    })?;
                    SensorSource::Every(text)
                }
            },
            None => by_convention(&names, &SENSOR_NAMES).map_or_else(
                || {
                    Err(header_fault(format!(
                        "no column says which sensor a row is of: add a column sensorId, or say \
                         which one it is (sensorId=COLUMN), or which sensor all rows are of \
                         (sensorId=ID); the header has {}",
                        listed(&names)
                    )))
                },
                |place| Ok(SensorSource::Column(place)),
            )?,
        };
        let mut measures = Vec::new();
        let mut taken = HashSet::new();
        for (measure, column) in &columns.measures {
            let place = named(measure, column)?;
            if !taken.insert(place) {
                return Err(header_fault(format!(
                    "the column {} is named for two measures; name it for one",
                    listed(std::slice::from_ref(column))
                )));
            }
            measures.push((measure.clone(), place));
        }
        if measures.is_empty() {
            for (place, name) in names.iter().enumerate() {
                let is_other = sensor == SensorSource::Column(place)
                    || time == Some(place)
                    || age == Some(place);
                if !is_other {
                    check_measure(place, name, &names)?;
                    measures.push((name.clone(), place));
                }
            }
        }
        if measures.is_empty() {
            return Err(header_fault(format!(
                "no column is a measure; the header has {}",
                listed(&names)
            )));
        }
        Ok(Self {
            names,
            sensor,
            time,
            age,
            measures,
        })
    }
}

/// The header may have any number of columns.
struct AnyWidth;

impl Fits for AnyWidth {
    fn cells_max(&self) -> usize {
        COLUMNS_MAX
    }

    fn check_width(&self, _: usize) -> Result<(), Fault> {
        Ok(())
    }

    fn may_hold_a_line_end(&self, _: usize) -> bool {
        true
    }
}

/// The first of `conventions` that a column is called, as it stands there or in
/// other case.
fn by_convention(names: &[String], conventions: &[&str]) -> Option<usize> {
    let exactly = |convention: &&str| names.iter().position(|name| name == convention);
    let in_any_case = |convention: &&str| {
        names
            .iter()
            .position(|name| name.eq_ignore_ascii_case(convention))
    };
    let mut found = conventions.iter().filter_map(exactly);
    let mut alike = conventions.iter().filter_map(in_any_case);
    found.next().or_else(|| alike.next())
}

/// Whether a column that nobody named may be a measure of its name. A file
/// without a header has its first readings there.
fn check_measure(place: usize, name: &str, names: &[String]) -> Result<(), BodyError> {
    let number = place + 1;
    let columns = listed(names);
    if name.is_empty() {
        return Err(header_fault(format!(
            "column {number} has no name; give it one, or name the columns to take \
             (MEASURE=COLUMN); the header has {columns}"
        )));
    }
    if is_float(name.as_bytes()) || looks_like_a_time(name) {
        return Err(header_fault(format!(
            "the first row must name the columns, and column {number} is called `{name}`; add a \
             header, or say which measure it is (MEASURE={name}); the header has {columns}"
        )));
    }
    MeasureName::new(name).map_err(|error| {
        header_fault(format!(
            "column {number} is no measure: {error}; the header has {columns}"
        ))
    })?;
    Ok(())
}
