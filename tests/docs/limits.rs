//! The bounds in `docs/limits.md` are those of the settings and of the code.

use hourglass::config::Settings;
use hourglass::model::{
    EXACT_INTEGER_MAX, MEASURES_PER_READING_MAX, MEASURES_PER_SENSOR_MAX, MeasureName, SensorId,
    VALUE_MAGNITUDE_MAX,
};
use toml::{Table, Value};

use super::{quoted, read};

/// Bounds whose keys do not end as bounds do.
const OTHER_BOUNDS: [&str; 7] = [
    "buffer.conflicts_kept",
    "buffer.recent_readings",
    "ingest.max_future",
    "ingest.min_time",
    "query.limit_default",
    "shutdown.grace",
    "udp.receive_buffer",
];

fn cells(row: &str) -> Vec<String> {
    let cells = row.trim().trim_matches('|').split('|');
    cells.map(|cell| cell.trim().to_owned()).collect()
}

/// The rows of the tables whose header begins with `first`.
fn rows(first: &str) -> Vec<Vec<String>> {
    let text = read("docs/limits.md");
    let mut rows = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with('|') && cells(line)[0] == first {
            lines.next();
            while let Some(row) = lines.next_if(|line| line.starts_with('|')) {
                rows.push(cells(row));
            }
        }
    }
    assert!(!rows.is_empty(), "no table of {first}");
    rows
}

fn default(key: &str) -> String {
    let defaults: Table = Settings::default().to_toml().parse().unwrap();
    let (section, name) = key.split_once('.').unwrap();
    match &defaults[section][name] {
        Value::String(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        other => panic!("{key} is {other}"),
    }
}

#[test]
fn every_bound_that_can_be_set_stands_with_its_default() {
    let mut documented: Vec<String> = Vec::new();
    for row in rows("what is bounded") {
        let Some(key) = quoted(&row[2]).into_iter().next() else {
            continue;
        };
        let stated = row[1].replace(',', "");
        assert_eq!(stated, default(&key), "{key}");
        documented.push(key);
    }
    let bounds: Table = Settings::default().to_toml().parse().unwrap();
    for (section, values) in &bounds {
        for key in values.as_table().unwrap().keys() {
            let key = format!("{section}.{key}");
            let is_bound = key.ends_with("_max")
                || key.ends_with("_timeout")
                || OTHER_BOUNDS.contains(&key.as_str());
            // What paces the work refuses nobody.
            let is_pace = key.starts_with("flush.");
            let is_there = documented.contains(&key);
            assert_eq!(is_there, is_bound && !is_pace, "{key} in docs/limits.md");
        }
    }
}

#[test]
fn bounds_of_the_code_are_the_ones_stated() {
    let stated = |what: &str| {
        let row = rows("what is bounded")
            .into_iter()
            .find(|row| row[0] == what);
        row.unwrap_or_else(|| panic!("no bound of {what}"))[1].replace(',', "")
    };
    assert_eq!(
        stated("sensor id, UTF-8"),
        format!("{} bytes", SensorId::BYTES_MAX)
    );
    assert_eq!(
        stated("measure name, UTF-8"),
        format!("{} bytes", MeasureName::BYTES_MAX)
    );
    assert_eq!(
        stated("measures of one reading"),
        MEASURES_PER_READING_MAX.to_string()
    );
    assert_eq!(
        stated("measures of one sensor, since the start"),
        MEASURES_PER_SENSOR_MAX.to_string()
    );
    assert_eq!(
        stated("magnitude of a value"),
        format!("{VALUE_MAGNITUDE_MAX:e}")
    );
    assert_eq!(stated("integer, exact"), "2^53");
    assert_eq!(EXACT_INTEGER_MAX, 1 << 53);
}

#[test]
fn every_open_point_says_whom_it_concerns_and_who_owns_it() {
    for first in ["not yet", "deviation"] {
        for row in rows(first) {
            assert_eq!(row.len(), 4, "{row:?}");
            assert!(row.iter().all(|cell| !cell.is_empty()), "{row:?}");
            assert_eq!(row[3], "owner: core", "{row:?}");
        }
    }
}
