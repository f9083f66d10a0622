//! Compares every reading of a sensor, and finds which are there of those that may be.

use std::collections::BTreeMap;
use std::iter::Peekable;

use jiff::Timestamp;
use serde::Deserialize;

use super::expected::MICROS_PER_HOUR;
use super::{CheckError, Expected, Outcome, Pages};
use crate::fleet::{Fleet, Reading, rfc3339};

/// Hours asked for at once: some 20,000 readings at 1 Hz, so that neither side
/// needs much memory.
const HOURS_PER_PAGE: i64 = 6;

/// A line of readings as NDJSON, as the service answers it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReadingLine {
    pub(crate) sensor_id: String,
    pub(crate) ts: Timestamp,
    pub(crate) measures: BTreeMap<String, f64>,
}

pub(super) async fn compare(
    pages: &mut Pages,
    expected: &mut Expected<'_>,
    sensor: u32,
    outcome: &mut Outcome,
) -> Result<(), CheckError> {
    let fleet = expected.fleet;
    let id = fleet.sensor_id(sensor);
    let mut found = Vec::new();
    let mut wanted = expected.candidates(sensor).peekable();
    let (mut from, to) = expected.range(sensor);
    outcome.sensors_raw += 1;
    outcome.unacknowledged += expected.unsure(sensor);
    while from < to {
        let end = to.min(from + HOURS_PER_PAGE * MICROS_PER_HOUR);
        let path = format!(
            "/v1/sensors/{id}/readings?from={}&to={}",
            rfc3339(from),
            rfc3339(end)
        );
        let answer = pages.get(&path, "application/x-ndjson").await?;
        let lines = serde_json::Deserializer::from_slice(&answer.body).into_iter::<ReadingLine>();
        let mut compared = Compared {
            fleet,
            id: &id,
            last: i64::MIN,
            found: &mut found,
            outcome: &mut *outcome,
        };
        for line in lines {
            let line = line.map_err(|error| CheckError {
                path: path.clone(),
                why: format!("the answer is not the API's: {error}"),
            })?;
            compared.line(&line, from..end, &mut wanted);
        }
        compared.missing_before(end, &mut wanted);
        from = end;
    }
    drop(wanted);
    outcome.unacknowledged_found += found.len() as u64;
    expected.settle(sensor, &found);
    Ok(())
}

struct Compared<'a> {
    fleet: &'a Fleet,
    id: &'a str,
    last: i64,
    /// What is there of what may be.
    found: &'a mut Vec<Reading>,
    outcome: &'a mut Outcome,
}

impl Compared<'_> {
    fn differ(&mut self, at: i64, what: String) {
        self.outcome.differ(Some(self.id), Some(rfc3339(at)), what);
    }

    fn missing_before(
        &mut self,
        at: i64,
        wanted: &mut Peekable<impl Iterator<Item = (Reading, bool)>>,
    ) {
        let fleet = self.fleet;
        while let Some((reading, must)) = wanted.next_if(|next| fleet.instant(next.0) < at) {
            if must {
                self.differ(fleet.instant(reading), "the reading is missing".to_owned());
            }
        }
    }

    fn line(
        &mut self,
        line: &ReadingLine,
        asked: std::ops::Range<i64>,
        wanted: &mut Peekable<impl Iterator<Item = (Reading, bool)>>,
    ) {
        let at = line.ts.as_microsecond();
        self.outcome.readings += 1;
        if line.sensor_id != self.id {
            self.differ(at, format!("a reading of {} among them", line.sensor_id));
        }
        if !asked.contains(&at) {
            self.differ(at, "the reading is outside of what was asked".to_owned());
            return;
        }
        if at <= self.last {
            let twice = at == self.last;
            let what = if twice {
                "appears twice"
            } else {
                "is out of order"
            };
            self.differ(at, format!("the reading {what}"));
            return;
        }
        self.last = at;
        self.missing_before(at, wanted);
        let fleet = self.fleet;
        match wanted.next_if(|next| fleet.instant(next.0) == at) {
            Some((reading, must)) => {
                if !must {
                    self.found.push(reading);
                }
                self.values(reading, at, &line.measures);
            }
            None => self.differ(at, "expected no such reading".to_owned()),
        }
    }

    fn values(&mut self, reading: Reading, at: i64, measures: &BTreeMap<String, f64>) {
        let fleet = self.fleet;
        for (measure, name) in fleet.measures.iter().enumerate() {
            let wanted = fleet.value(reading, measure);
            match measures.get(name) {
                Some(got) if got.to_bits() == wanted.to_bits() => {}
                Some(got) => self.differ(at, format!("{name}: expected {wanted}, got {got}")),
                None => self.differ(at, format!("{name}: expected {wanted}, got none")),
            }
        }
        for name in measures
            .keys()
            .filter(|name| !fleet.measures.contains(name))
        {
            self.differ(at, format!("{name}: expected no such measure"));
        }
    }
}
