//! What every system is asked, and what the right answer is.

use std::collections::BTreeMap;

use serde::Serialize;

use super::load::Load;
use crate::fleet::Reading;

const MICROS_PER_HOUR: i64 = 3_600_000_000;
const HOURLY_HOURS: i64 = 30 * 24;
const RAW_HOURS: i64 = 6;
const MANY_HOURS: i64 = 24;
const MANY_SENSORS: u32 = 50;
const LATEST_SENSORS: u32 = 1000;
/// How far a mean may be off, relative: systems add in different orders.
const MEAN_ERROR_MAX: f64 = 1e-9;

/// Kinds of questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The hours of one sensor for 30 days: counts and means.
    Hourly,
    /// Every reading of one sensor for 6 hours.
    Raw,
    /// The hours of 50 sensors for 24 hours: counts and means.
    HourlyMany,
    /// The newest value of 1,000 sensors, or of all where there are fewer.
    Latest,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Hourly, Self::Raw, Self::HourlyMany, Self::Latest];

    /// As figures are named after it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Hourly => "hourly",
            Self::Raw => "raw",
            Self::HourlyMany => "hourly_many",
            Self::Latest => "latest",
        }
    }
}

/// One question.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Question {
    pub(super) kind: Kind,
    /// Numbers of the sensors.
    pub(super) sensors: Vec<u32>,
    /// Whether these are all there are: then nobody needs to name them.
    pub(super) is_all: bool,
    /// Start, microseconds since the epoch, inclusive.
    pub(super) from: i64,
    /// End, exclusive.
    pub(super) to: i64,
}

/// A line of an answer, whoever gave it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The sensor's id.
    pub sensor: String,
    /// The hour or the instant in microseconds since the epoch; absent in newest
    /// values, as not every system tells.
    pub at: Option<i64>,
    /// Values in it, where the question is about hours.
    pub count: Option<u64>,
    /// The mean or the value.
    pub value: f64,
}

impl Question {
    /// The `number`th of its kind: each another sensor and, where the range is
    /// shorter than the data, another time.
    pub(super) fn new(load: &Load, kind: Kind, number: u32) -> Self {
        let fleet = &load.fleet;
        let all = fleet.sensors;
        // A step that has no factor in common with usual numbers of sensors.
        let first = number.wrapping_mul(7919) % all;
        let count = match kind {
            Kind::Hourly | Kind::Raw => 1,
            Kind::HourlyMany => MANY_SENSORS.min(all),
            Kind::Latest => LATEST_SENSORS.min(all),
        };
        let hours = match kind {
            Kind::Hourly => HOURLY_HOURS,
            Kind::Raw => RAW_HOURS,
            Kind::HourlyMany => MANY_HOURS,
            Kind::Latest => i64::MAX / MICROS_PER_HOUR,
        };
        let end = fleet.at(fleet.ticks());
        let from = match kind {
            Kind::Raw => {
                let last = (end - fleet.start) / MICROS_PER_HOUR - RAW_HOURS;
                let hour = i64::from(number).wrapping_mul(31) % (last + 1).max(1);
                fleet.start + hour * MICROS_PER_HOUR
            }
            Kind::Latest => fleet.start,
            Kind::Hourly | Kind::HourlyMany => {
                let last_hour = (end + MICROS_PER_HOUR - 1).div_euclid(MICROS_PER_HOUR);
                fleet.start.max((last_hour - hours) * MICROS_PER_HOUR)
            }
        };
        Self {
            kind,
            sensors: (0..count).map(|n| (first + n) % all).collect(),
            is_all: count == all,
            from,
            to: end.min(from.saturating_add(hours.saturating_mul(MICROS_PER_HOUR))),
        }
    }

    /// Ids of the sensors.
    pub(super) fn ids(&self, load: &Load) -> Vec<String> {
        let ids = self.sensors.iter().map(|s| load.fleet.sensor_id(*s));
        ids.collect()
    }

    /// The right answer, from what was written.
    pub(super) fn answer(&self, load: &Load) -> Vec<Row> {
        let fleet = &load.fleet;
        // The first tick at or after an instant.
        let tick = |at: i64| {
            let behind = (at - fleet.start).max(0);
            u64::try_from((behind + fleet.interval - 1) / fleet.interval).unwrap_or(0)
        };
        let mut rows = Vec::new();
        for sensor in &self.sensors {
            // The last tick may have readings of the first sensors only.
            let sensors = u64::from(fleet.sensors);
            let ticks = (fleet.readings + sensors - 1 - u64::from(*sensor)) / sensors;
            let range = tick(self.from)..ticks.min(tick(self.to));
            let readings = range.map(|tick| Reading {
                sensor: *sensor,
                tick,
            });
            let id = fleet.sensor_id(*sensor);
            match self.kind {
                Kind::Raw => rows.extend(readings.map(|reading| Row {
                    sensor: id.clone(),
                    at: Some(fleet.at(reading.tick)),
                    count: None,
                    value: load.value(reading, 0),
                })),
                Kind::Latest => rows.extend(readings.rev().take(1).map(|reading| Row {
                    sensor: id.clone(),
                    at: None,
                    count: None,
                    value: load.value(reading, 0),
                })),
                Kind::Hourly | Kind::HourlyMany => {
                    let mut hours: BTreeMap<i64, (u64, i64)> = BTreeMap::new();
                    for reading in readings {
                        let hour = fleet.at(reading.tick).div_euclid(MICROS_PER_HOUR);
                        let (count, sum) = hours.entry(hour * MICROS_PER_HOUR).or_default();
                        *count += 1;
                        *sum += load.units(reading, 0);
                    }
                    rows.extend(hours.into_iter().map(|(hour, (count, sum))| Row {
                        sensor: id.clone(),
                        at: Some(hour),
                        count: Some(count),
                        value: sum as f64 / load.scale() as f64 / count as f64,
                    }));
                }
            }
        }
        sort(&mut rows);
        rows
    }
}

/// By sensor, then by time.
pub(super) fn sort(rows: &mut [Row]) {
    rows.sort_by(|a, b| (&a.sensor, a.at).cmp(&(&b.sensor, b.at)));
}

/// The first difference between the right answer and one that was given, in words.
pub(super) fn difference(right: &[Row], given: &[Row]) -> Option<String> {
    if right.len() != given.len() {
        return Some(format!("{} rows, not {}", given.len(), right.len()));
    }
    let differs = |(right, given): &(&Row, &Row)| {
        let bound = MEAN_ERROR_MAX * right.value.abs();
        right.sensor != given.sensor
            || right.at != given.at
            || right.count != given.count
            || (right.value - given.value).abs() > bound
            || given.value.is_nan()
    };
    let (right, given) = right.iter().zip(given).find(differs)?;
    Some(format!("{given:?}, not {right:?}"))
}

#[cfg(test)]
mod tests {
    use super::super::load::tests::load;
    use super::*;

    #[test]
    fn hours_hold_the_readings_of_the_fleet() {
        let mut load = load(1);
        load.fleet.readings = 3 * 5400 + 1;
        let rows = Question::new(&load, Kind::Hourly, 0).answer(&load);
        let counts: Vec<_> = rows.iter().map(|row| row.count.unwrap()).collect();
        assert_eq!(counts, vec![3600, 1801], "the first sensor has one more");
        let mean = (0..3600)
            .map(|tick| load.value(Reading { sensor: 0, tick }, 0))
            .sum::<f64>()
            / 3600.0;
        assert!((rows[0].value - mean).abs() < 1e-9);
    }

    #[test]
    fn questions_go_over_sensors_and_times() {
        let mut load = load(1);
        load.fleet.readings = 3 * 3600 * 24;
        let questions: Vec<Question> = (0..20)
            .map(|number| Question::new(&load, Kind::Raw, number))
            .collect();
        assert!(questions.iter().any(|q| q.sensors != questions[0].sensors));
        assert!(questions.iter().any(|q| q.from != questions[0].from));
        for question in questions {
            assert_eq!(question.answer(&load).len(), 6 * 3600);
        }
        let latest = Question::new(&load, Kind::Latest, 3);
        assert!(latest.is_all && latest.answer(&load).len() == 3);
    }

    #[test]
    fn a_difference_is_told_and_rounding_is_none() {
        let load = load(1);
        let right = Question::new(&load, Kind::Hourly, 0).answer(&load);
        let mut given = right.clone();
        given[0].value *= 1.0 + 1e-12;
        assert_eq!(difference(&right, &given), None);
        given[0].count = Some(1);
        assert!(
            difference(&right, &given)
                .unwrap()
                .contains("count: Some(1)")
        );
        assert_eq!(difference(&right, &[]).unwrap(), "0 rows, not 1");
    }
}
