//! Compares the hours of a sensor.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use jiff::Timestamp;
use serde::Deserialize;

use super::expected::{Exact, ExpectedHour};
use super::{CheckError, Expected, LOOK_AGAIN, Outcome, Pages};
use crate::fleet::rfc3339;

/// The bound on sums that the service promises, relative to the sum of
/// magnitudes.
const SUM_ERROR_MAX: f64 = 1e-12;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HourlyPage {
    sensor_id: String,
    hours: Vec<Hour>,
    complete: Option<bool>,
}

#[derive(Deserialize)]
struct Hour {
    hour: Timestamp,
    count: u64,
    measures: BTreeMap<String, Stats>,
}

#[derive(Deserialize)]
struct Stats {
    count: u64,
    sum: f64,
    avg: f64,
    min: f64,
    max: f64,
}

pub(super) async fn compare(
    pages: &mut Pages,
    expected: &Expected<'_>,
    sensor: u32,
    outcome: &mut Outcome,
) -> Result<(), CheckError> {
    let id = expected.fleet.sensor_id(sensor);
    let page = complete(pages, &path(expected, sensor)).await?;
    outcome.sensors_hourly += 1;
    if page.complete == Some(false) {
        let waited = pages.patience.as_secs();
        outcome.differ(
            Some(&id),
            None,
            format!("still not complete after {waited} s"),
        );
    }
    if page.sensor_id != id {
        let what = format!(
            "expected the hours of {id}, got those of {}",
            page.sensor_id
        );
        outcome.differ(Some(&id), None, what);
    }
    let mut missing = expected.hours(sensor);
    let mut seen = BTreeSet::new();
    for hour in page.hours {
        let start = hour.hour.as_microsecond();
        let mut differ = |what| outcome.differ(Some(&id), Some(rfc3339(start)), what);
        match missing.remove(&start) {
            Some(wanted) => compare_hour(&expected.fleet.measures, &wanted, &hour, &mut differ),
            None if seen.contains(&start) => differ("the hour appears twice".to_owned()),
            None => differ(format!(
                "expected no such hour, got {} readings",
                hour.count
            )),
        }
        if seen.last().is_some_and(|last| *last > start) {
            differ("the hours are not in order".to_owned());
        }
        seen.insert(start);
        outcome.hours += 1;
    }
    for (start, wanted) in missing {
        let what = format!("expected {} readings, got no such hour", wanted.count);
        outcome.differ(Some(&id), Some(rfc3339(start)), what);
    }
    Ok(())
}

/// Waits as long as `patience` until the hours of a sensor are complete: then its
/// readings are, too.
pub(super) async fn until_complete(
    pages: &mut Pages,
    expected: &Expected<'_>,
    sensor: u32,
) -> Result<(), CheckError> {
    complete(pages, &path(expected, sensor)).await.map(drop)
}

fn path(expected: &Expected<'_>, sensor: u32) -> String {
    let id = expected.fleet.sensor_id(sensor);
    let (from, to) = expected.range(sensor);
    let (from, to) = (rfc3339(from), rfc3339(to));
    format!("/v1/sensors/{id}/hourly?from={from}&to={to}")
}

async fn complete(pages: &mut Pages, path: &str) -> Result<HourlyPage, CheckError> {
    let begun = Instant::now();
    loop {
        let answer = pages.get(path, "application/json").await?;
        let page: HourlyPage =
            serde_json::from_slice(&answer.body).map_err(|error| CheckError {
                path: path.to_owned(),
                why: format!("the answer is not the API's: {error}"),
            })?;
        if page.complete != Some(false) || begun.elapsed() >= pages.patience {
            return Ok(page);
        }
        // Another process: there is no event to wait for.
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

fn compare_hour(
    names: &[String],
    wanted: &ExpectedHour,
    hour: &Hour,
    differ: &mut impl FnMut(String),
) {
    if hour.count != wanted.count {
        differ(format!(
            "count: expected {}, got {}",
            wanted.count, hour.count
        ));
    }
    for (name, exact) in names.iter().zip(&wanted.measures) {
        match hour.measures.get(name) {
            Some(stats) => compare_measure(name, wanted.count, exact, stats, differ),
            None => differ(format!(
                "{name}: expected {} values, got none",
                wanted.count
            )),
        }
    }
    for name in hour.measures.keys().filter(|name| !names.contains(name)) {
        differ(format!("{name}: expected no such measure"));
    }
}

fn compare_measure(
    name: &str,
    count: u64,
    exact: &Exact,
    stats: &Stats,
    differ: &mut impl FnMut(String),
) {
    if stats.count != count {
        differ(format!(
            "{name}.count: expected {count}, got {}",
            stats.count
        ));
    }
    let bound = SUM_ERROR_MAX * (exact.magnitude as f64 / 10.0);
    let sum = exact.sum as f64 / 10.0;
    let average = sum / count as f64;
    for (field, wanted, got, bound) in [
        ("sum", sum, stats.sum, bound),
        ("avg", average, stats.avg, bound / count as f64),
        ("min", exact.min as f64 / 10.0, stats.min, 0.0),
        ("max", exact.max as f64 / 10.0, stats.max, 0.0),
    ] {
        if (got - wanted).abs() > bound {
            differ(format!("{name}.{field}: expected {wanted}, got {got}"));
        }
    }
}
