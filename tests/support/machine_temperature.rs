//! The real readings of `tests/data/`, and what must come out of them.

use std::collections::HashSet;
use std::path::Path;

use serde_json::{Value, json};

/// Rows of the file.
pub(crate) const ROWS: usize = 22_695;
/// Distinct instants.
pub(crate) const READINGS: u64 = 22_683;
/// Rows whose instant came before with another value.
pub(crate) const CONFLICTS: u64 = 12;
/// Hours with a reading.
pub(crate) const HOURS: usize = 1_891;
/// Sum of the stored values.
pub(crate) const SUM: f64 = 1_948_976.877_659_337;

/// The sensor that the tests post them as.
pub(crate) const SENSOR: &str = "machine-temperature";

/// One row: when (RFC 3339, UTC) and what.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) at: String,
    pub(crate) temp: f64,
}

impl Row {
    /// The start of its hour.
    pub(crate) fn hour(&self) -> String {
        format!("{}:00:00Z", &self.at[..13])
    }
}

/// One hour as it must come out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Hour {
    pub(crate) hour: String,
    pub(crate) count: u64,
    pub(crate) sum: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

fn text(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(file);
    std::fs::read_to_string(path).unwrap()
}

/// The file of the readings as it is: columns `timestamp` and `value`.
pub(crate) fn file() -> String {
    text("machine_temperature.csv")
}

fn lines(file: &str) -> Vec<Vec<String>> {
    let text = text(file);
    let fields = |line: &str| line.split(',').map(str::to_owned).collect();
    text.lines().skip(1).map(fields).collect()
}

/// All rows in file order.
pub(crate) fn rows() -> Vec<Row> {
    let row = |fields: Vec<String>| Row {
        at: format!("{}Z", fields[0].replace(' ', "T")),
        temp: fields[1].parse().unwrap(),
    };
    lines("machine_temperature.csv")
        .into_iter()
        .map(row)
        .collect()
}

/// The rows apart: those that came first for their instant, and the later ones,
/// which conflict with them.
pub(crate) fn firsts_and_conflicting(rows: Vec<Row>) -> (Vec<Row>, Vec<Row>) {
    let mut seen = HashSet::new();
    rows.into_iter()
        .partition(|row| seen.insert(row.at.clone()))
}

/// All hours, in order.
pub(crate) fn hours() -> Vec<Hour> {
    let hour = |fields: Vec<String>| Hour {
        hour: fields[0].clone(),
        count: fields[1].parse().unwrap(),
        sum: fields[2].parse().unwrap(),
        min: fields[3].parse().unwrap(),
        max: fields[4].parse().unwrap(),
    };
    lines("machine_temperature.hourly.csv")
        .into_iter()
        .map(hour)
        .collect()
}

/// Rows as a JSON array to post.
pub(crate) fn body(rows: &[Row]) -> Value {
    let item = |row: &Row| json!({"sensorId": SENSOR, "ts": row.at, "temp": row.temp});
    rows.iter().map(item).collect()
}
