//! A generated fleet: what its devices send, and what must be there after the
//! faults: every acknowledged reading once, nothing that was never sent, and
//! hours that say what their readings say.

use std::collections::{BTreeMap, HashMap, HashSet};

use rand::seq::SliceRandom;
use serde_json::{Value, json};

use crate::support::hourglass::Hourglass;
use crate::support::seed::seeded;

/// Seconds between two readings of a sensor: 360 of them an hour.
const STEP_SECONDS: u32 = 10;
/// All instants lie in one day, 2026-05-01, long closed.
const STEPS_MAX: u32 = 24 * 3600 / STEP_SECONDS;
/// Instants of every sensor that one batch holds.
const BATCH_STEPS: u32 = 2;

/// What batches hold: sensors, steps and the values that differ by variant.
#[derive(Debug, Clone)]
pub(super) struct Fleet {
    sensors: Vec<String>,
    /// Batches in the order they are sent, as steps and the variant of values.
    batches: Vec<(u32, u32)>,
}

/// RFC 3339, as answers have it.
fn instant(step: u32) -> String {
    let second = step * STEP_SECONDS;
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("2026-05-01T{hour:02}:{minute:02}:{:02}Z", second % 60)
}

fn value(sensor: usize, step: u32, variant: u32) -> f64 {
    // Exact in binary, and no two alike.
    sensor as f64 * 10_000.0 + f64::from(step) + f64::from(variant) / 8.0
}

/// What was found of a fleet that should not be so; all 0 when all is well.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Faults {
    pub(super) acknowledged_lost: usize,
    pub(super) stored_twice: usize,
    pub(super) never_sent: usize,
}

impl Fleet {
    /// `sensors` sensors with `steps` readings each, in batches of some readings
    /// of every sensor, shuffled: most data is late.
    pub(super) fn new(sensors: usize, steps: u32) -> Self {
        Self::named("fleet", sensors, steps)
    }

    /// The same with names of its own for its sensors.
    pub(super) fn named(name: &str, sensors: usize, steps: u32) -> Self {
        assert!(steps <= STEPS_MAX && steps % BATCH_STEPS == 0);
        let mut batches: Vec<_> = (0..steps / BATCH_STEPS)
            .map(|n| (n * BATCH_STEPS, 0))
            .collect();
        batches.shuffle(&mut seeded());
        Self {
            sensors: (0..sensors).map(|n| format!("{name}/{n}")).collect(),
            batches,
        }
    }

    /// The same instants, in another order, every `nth` batch with other values.
    pub(super) fn with_other_values_in_every(&self, nth: u32) -> Self {
        let mut other = self.clone();
        for (step, variant) in &mut other.batches {
            *variant = u32::from(*step / BATCH_STEPS % nth == 0);
        }
        other.batches.shuffle(&mut seeded());
        other
    }

    /// Batches.
    pub(super) fn batches(&self) -> usize {
        self.batches.len()
    }

    /// Readings; each has one value.
    pub(super) fn readings(&self) -> usize {
        self.batches() * self.batch_readings()
    }

    /// Readings of a batch.
    pub(super) fn batch_readings(&self) -> usize {
        self.sensors.len() * BATCH_STEPS as usize
    }

    /// A batch as its sender posts it.
    pub(super) fn body(&self, batch: usize) -> String {
        let readings = self.of(batch).map(|(sensor, step, value)| {
            json!({ "sensorId": self.sensors[sensor], "ts": instant(step), "temp": value })
        });
        Value::Array(readings.collect()).to_string()
    }

    fn of(&self, batch: usize) -> impl Iterator<Item = (usize, u32, f64)> + '_ {
        let (first, variant) = self.batches[batch];
        let steps = first..first + BATCH_STEPS;
        let sensors = 0..self.sensors.len();
        sensors.flat_map(move |sensor| {
            let of = move |step| (sensor, step, value(sensor, step, variant));
            steps.clone().map(of)
        })
    }

    /// Values that may stand at each instant of each sensor.
    fn sent(fleets: &[&Self]) -> HashMap<(String, String), Vec<f64>> {
        let mut sent: HashMap<_, Vec<f64>> = HashMap::new();
        for fleet in fleets {
            for (sensor, step, value) in (0..fleet.batches()).flat_map(|batch| fleet.of(batch)) {
                let key = (fleet.sensors[sensor].clone(), instant(step));
                sent.entry(key).or_default().push(value);
            }
        }
        sent
    }

    /// Checks what `server` tells of this fleet, of which the batches
    /// `acknowledged` were answered 202.
    pub(super) async fn assert_is_there(&self, server: &Hourglass, acknowledged: &HashSet<usize>) {
        assert_are_there(server, &[(self, acknowledged)]).await;
    }
}

/// Checks what `server` tells of fleets of the same sensors, each with the
/// batches that were acknowledged.
pub(super) async fn assert_are_there(server: &Hourglass, fleets: &[(&Fleet, &HashSet<usize>)]) {
    let of_all: Vec<&Fleet> = fleets.iter().map(|(fleet, _)| *fleet).collect();
    let sent = Fleet::sent(&of_all);
    let (mut faults, mut there) = (Faults::default(), HashSet::new());
    for sensor in &of_all[0].sensors {
        let readings = told(server, sensor).await;
        assert_hours(server, sensor, &readings).await;
        for (at, value) in readings {
            let key = (sensor.clone(), at);
            let is_sent = sent.get(&key).is_some_and(|values| values.contains(&value));
            faults.never_sent += usize::from(!is_sent);
            faults.stored_twice += usize::from(!there.insert(key));
        }
    }
    for (fleet, acknowledged) in fleets {
        for (sensor, step, _) in acknowledged.iter().flat_map(|batch| fleet.of(*batch)) {
            let key = (fleet.sensors[sensor].clone(), instant(step));
            faults.acknowledged_lost += usize::from(!there.contains(&key));
        }
    }
    eprintln!("{faults:?} of {} readings told", there.len());
    assert_eq!(faults, Faults::default());
}

fn path(sensor: &str) -> String {
    format!("/v1/sensors/{}", sensor.replace('/', "%2F"))
}

/// Instants and values of a sensor.
pub(super) async fn told(server: &Hourglass, sensor: &str) -> Vec<(String, f64)> {
    let path = format!("{}/readings?limit=100000", path(sensor));
    let (status, answer) = server.get(&path).await;
    assert_eq!(
        (status, &answer["complete"]),
        (200, &json!(true)),
        "{answer}"
    );
    assert_eq!(answer["next"], Value::Null);
    let readings = answer["readings"].as_array().unwrap().iter();
    let reading = |reading: &Value| {
        let at = reading["ts"].as_str().unwrap().to_owned();
        (at, reading["measures"]["temp"].as_f64().unwrap())
    };
    readings.map(reading).collect()
}

/// I3: the hours say of a sensor what its readings say. The sums are exact: all
/// values are multiples of 1/8 and small.
async fn assert_hours(server: &Hourglass, sensor: &str, readings: &[(String, f64)]) {
    let mut hours: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (at, value) in readings {
        hours.entry(&at[..13]).or_default().push(*value);
    }
    let (status, answer) = server.get(&format!("{}/hourly", path(sensor))).await;
    assert_eq!(
        (status, &answer["complete"]),
        (200, &json!(true)),
        "{answer}"
    );
    let told = answer["hours"].as_array().unwrap();
    assert_eq!(told.len(), hours.len(), "{sensor}");
    for (told, (hour, values)) in told.iter().zip(hours) {
        let temp = &told["measures"]["temp"];
        let said = (
            told["hour"].as_str().unwrap(),
            told["count"].as_u64().unwrap() as usize,
            ["sum", "min", "max"].map(|field| temp[field].as_f64().unwrap()),
        );
        let min = values.iter().copied().fold(f64::INFINITY, f64::min);
        let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let computed = [values.iter().sum(), min, max];
        let hour = format!("{hour}:00:00Z");
        assert_eq!(said, (hour.as_str(), values.len(), computed), "{sensor}");
    }
}
