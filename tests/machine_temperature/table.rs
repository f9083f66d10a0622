//! What must come out: the table of `tests/data/README.md`, every hour of the
//! hourly file and every reading of the file, exactly.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::support::hourglass::Hourglass;
use crate::support::machine_temperature::{
    HOURS, Hour, READINGS, Row, SENSOR, SUM, firsts_and_conflicting, hours, rows,
};

const MIN: f64 = 2.084_721_205_999_999_8;
const MAX: f64 = 108.510_542_800_000_01;

/// An answer of `/hourly`. Numbers stay text: the JSON reader of the tests may
/// round the last bit.
#[derive(Deserialize)]
pub(super) struct HourlyAnswer {
    #[serde(rename = "sensorId")]
    pub(super) sensor_id: String,
    pub(super) hours: Vec<HourAnswer>,
    pub(super) complete: bool,
}

#[derive(Deserialize)]
pub(super) struct HourAnswer {
    pub(super) hour: String,
    pub(super) count: u64,
    pub(super) measures: BTreeMap<String, StatsAnswer>,
}

#[derive(Deserialize)]
pub(super) struct StatsAnswer {
    count: u64,
    sum: Box<RawValue>,
    avg: Box<RawValue>,
    min: Box<RawValue>,
    max: Box<RawValue>,
}

#[derive(Deserialize)]
struct ReadingsAnswer {
    readings: Vec<ReadingAnswer>,
    next: Option<String>,
    complete: bool,
}

#[derive(Deserialize)]
struct ReadingAnswer {
    ts: String,
    measures: BTreeMap<String, Box<RawValue>>,
}

fn number(text: &RawValue) -> f64 {
    text.get().parse().unwrap()
}

fn within(sum: f64, exact: f64, magnitudes: f64) -> bool {
    (sum - exact).abs() <= 1e-12 * magnitudes
}

impl HourAnswer {
    /// Checks that it says of `temp`, the only measure, what `hour` does. All
    /// values of the file are above 0, so the sum is that of their magnitudes.
    pub(super) fn assert_is(&self, hour: &Hour) {
        let stats = &self.measures["temp"];
        let (sum, avg) = (number(&stats.sum), number(&stats.avg));
        let said = (
            &self.hour,
            self.measures.len(),
            self.count,
            stats.count,
            number(&stats.min).to_bits(),
            number(&stats.max).to_bits(),
        );
        let (min, max) = (hour.min.to_bits(), hour.max.to_bits());
        assert_eq!(said, (&hour.hour, 1, hour.count, hour.count, min, max));
        assert!(within(sum, hour.sum, hour.sum), "{hour:?}: sum {sum}");
        let (exact, bound) = (hour.sum / hour.count as f64, hour.sum / hour.count as f64);
        assert!(within(avg, exact, bound), "{hour:?}: avg {avg}");
    }
}

/// What `/hourly` says of the sensor.
pub(super) async fn hourly(server: &Hourglass) -> HourlyAnswer {
    let path = format!("/v1/sensors/{SENSOR}/hourly?from=2013-12-02T21:00:00Z&to=-1w");
    let (status, text) = server.get_text(&path).await;
    assert_eq!(status, 200, "{text}");
    serde_json::from_str(&text).unwrap()
}

/// Every reading by instant, and whether the answer is complete; a page of
/// 10,000 after the other.
pub(super) async fn readings(server: &Hourglass) -> (Vec<(String, f64)>, bool) {
    let (mut readings, mut complete) = (Vec::new(), true);
    let mut cursor = String::new();
    loop {
        let path = format!("/v1/sensors/{SENSOR}/readings?limit=10000{cursor}");
        let (status, text) = server.get_text(&path).await;
        assert_eq!(status, 200, "{text}");
        let page: ReadingsAnswer = serde_json::from_str(&text).unwrap();
        complete &= page.complete;
        for reading in page.readings {
            assert_eq!(reading.measures.len(), 1, "{}", reading.ts);
            readings.push((reading.ts, number(&reading.measures["temp"])));
        }
        match page.next {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return (readings, complete),
        }
    }
}

/// The same over CSV, in one answer.
async fn readings_as_csv(server: &Hourglass) -> Vec<(String, f64)> {
    let path = format!("/v1/sensors/{SENSOR}/readings?format=csv");
    let (status, text) = server.get_text(&path).await;
    assert_eq!(status, 200, "{text}");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("ts,temp"));
    let reading = |line: &str| {
        let (ts, temp) = line.split_once(',').unwrap();
        (ts.to_owned(), temp.parse().unwrap())
    };
    lines.map(reading).collect()
}

/// The rows that are stored, by instant: the first of each.
pub(super) fn stored_rows() -> Vec<Row> {
    let (mut firsts, _) = firsts_and_conflicting(rows());
    firsts.sort_by(|a, b| a.at.cmp(&b.at));
    firsts
}

/// Checks the whole table.
pub(super) async fn assert_whole(server: &Hourglass) {
    let answer = hourly(server).await;
    assert!(answer.complete);
    assert_eq!(answer.sensor_id, SENSOR);
    assert_eq!(answer.hours.len(), HOURS);
    for (said, hour) in answer.hours.iter().zip(hours()) {
        said.assert_is(&hour);
    }
    let counts: u64 = answer.hours.iter().map(|hour| hour.count).sum();
    assert_eq!(counts, READINGS);
    let temps = || answer.hours.iter().map(|hour| &hour.measures["temp"]);
    let sum: f64 = temps().map(|temp| number(&temp.sum)).sum();
    // Adding 1,891 sums up here rounds as often.
    assert!(within(sum, SUM, SUM), "{sum}");
    let min = temps().map(|temp| number(&temp.min)).fold(MAX, f64::min);
    let max = temps().map(|temp| number(&temp.max)).fold(MIN, f64::max);
    assert_eq!(
        (min.to_bits(), max.to_bits()),
        (MIN.to_bits(), MAX.to_bits())
    );

    let (pages, complete) = readings(server).await;
    assert!(complete);
    let stored = stored_rows();
    for readings in [pages, readings_as_csv(server).await] {
        assert_eq!(readings.len() as u64, READINGS);
        for ((ts, temp), row) in readings.iter().zip(&stored) {
            assert_eq!((ts, temp.to_bits()), (&row.at, row.temp.to_bits()));
        }
    }
}
