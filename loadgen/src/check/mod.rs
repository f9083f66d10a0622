//! Compares what a server answers with what a run sent.
//!
//! What was sent is computed again from the workload, never remembered. Counts,
//! smallest and largest values, instants and values must be the same exactly;
//! sums within 1e-12 of the sum of magnitudes, the bound the service promises.
//!
//! What was acknowledged must be there. What was sent and not acknowledged may be,
//! so the readings of a sensor with such are compared before its hours, and these
//! are compared with what was found.

mod arrivals;
mod bits;
mod expected;
mod hourly;
mod ledger;
mod raw;

use std::collections::BTreeSet;
use std::str::FromStr;
use std::time::{Duration, Instant};

use serde::Serialize;

pub use arrivals::{Arrivals, DatagramCounts};
pub use expected::Expected;
pub use ledger::Ledger;
pub(crate) use raw::ReadingLine;

use crate::fleet::Fleet;
use crate::http::{Answer, Connection, HttpError, Target};
use crate::tally::show;

/// Differences that are kept as text; all are counted.
const DIFFERENCES_SHOWN: usize = 100;
/// Between two looks at what is not at rest yet.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// How many sensors of a fleet to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sample {
    /// Every one.
    All,
    /// So many, spread evenly.
    Some(u32),
}

impl FromStr for Sample {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "all" => Ok(Self::All),
            number => number
                .parse()
                .map(Self::Some)
                .map_err(|_| "write a number or \"all\""),
        }
    }
}

impl Sample {
    /// The sensors chosen.
    #[must_use]
    pub fn of(self, sensors: u32) -> BTreeSet<u32> {
        let chosen = match self {
            Self::All => sensors,
            Self::Some(number) => number.min(sensors),
        };
        let spread = |n: u32| u64::from(n) * u64::from(sensors) / u64::from(chosen.max(1));
        (0..chosen)
            .filter_map(|n| u32::try_from(spread(n)).ok())
            .collect()
    }
}

/// Something that is not as it was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The sensor; absent where the server's counts are at odds.
    pub sensor: Option<String>,
    /// The hour or instant, where it is one.
    pub at: Option<String>,
    /// What was expected and what came.
    pub what: String,
}

/// What a check looked at and found.
#[derive(Debug, Default, Serialize)]
pub struct Outcome {
    /// Sensors whose hours were compared.
    pub sensors_hourly: u64,
    /// Hours compared.
    pub hours: u64,
    /// Sensors whose readings were compared.
    pub sensors_raw: u64,
    /// Readings compared.
    pub readings: u64,
    /// Readings of these sensors that were sent and not acknowledged.
    pub unacknowledged: u64,
    /// Those of them that are there all the same.
    pub unacknowledged_found: u64,
    /// What became of datagrams, where a run sent some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Arrivals>,
    /// The ledger, where the page of metrics could be read.
    pub ledger: Option<Ledger>,
    /// Differences in all.
    pub differences: u64,
    /// The first of them.
    pub differences_shown: Vec<Difference>,
}

impl Outcome {
    /// Adds what was found about another sensor.
    fn absorb(&mut self, other: Self) {
        self.sensors_hourly += other.sensors_hourly;
        self.hours += other.hours;
        self.sensors_raw += other.sensors_raw;
        self.readings += other.readings;
        self.unacknowledged += other.unacknowledged;
        self.unacknowledged_found += other.unacknowledged_found;
        self.differences += other.differences;
        show(
            &mut self.differences_shown,
            other.differences_shown,
            DIFFERENCES_SHOWN,
        );
    }

    /// Adds what became of datagrams, of whose readings so many were copies. That
    /// some are lost is no difference; that none arrived is, and that fewer readings
    /// are there than were accepted, where all sensors were looked at.
    pub fn arrived(&mut self, arrivals: Arrivals, copies: u64, all_sensors: bool) {
        if arrivals.datagrams_received == 0 {
            let what = "no datagram arrived; is that where the server takes them?";
            self.differ(None, None, what.to_owned());
        }
        let (accepted, there) = (arrivals.readings_accepted, self.readings);
        if all_sensors && there + copies < accepted {
            let what = format!(
                "{accepted} readings accepted, {copies} copies sent, but only {there} are there; \
                 did others send meanwhile?"
            );
            self.differ(None, None, what);
        }
        self.arrivals = Some(arrivals);
    }

    fn differ(&mut self, sensor: Option<&str>, at: Option<String>, what: String) {
        self.differences += 1;
        if self.differences_shown.len() < DIFFERENCES_SHOWN {
            self.differences_shown.push(Difference {
                sensor: sensor.map(str::to_owned),
                at,
                what,
            });
        }
    }
}

/// What to check.
#[derive(Debug, Clone)]
pub struct Scope {
    /// Sensors whose hours are compared.
    pub hourly: Sample,
    /// Sensors whose every reading is compared.
    pub raw: Sample,
    /// Batches of the plan that were posted; absent: all.
    pub batches: Option<u64>,
    /// Numbers of those of them, from 0, that were not acknowledged whole.
    pub unacknowledged: BTreeSet<u64>,
    /// How long an answer may say that it is not complete and the ledger may be
    /// out of balance, as both may while the server works off a backlog.
    pub patience: Duration,
}

/// No answer that could be compared.
#[derive(Debug, thiserror::Error)]
#[error("GET {path}: {why}")]
pub struct CheckError {
    path: String,
    why: String,
}

/// Reads back what the scope names and compares.
///
/// # Errors
/// The server does not answer, or with something that is not the API's.
pub async fn check(target: &Target, fleet: &Fleet, scope: &Scope) -> Result<Outcome, CheckError> {
    let hourly = scope.hourly.of(fleet.sensors);
    let raw = scope.raw.of(fleet.sensors);
    let sampled: BTreeSet<u32> = hourly.union(&raw).copied().collect();
    let batches = scope.batches.unwrap_or(u64::MAX);
    let mut expected = Expected::new(fleet, &sampled, batches, &scope.unacknowledged);
    let mut pages = Pages {
        connection: Connection::new(target),
        patience: scope.patience,
    };
    let begun = Instant::now();
    let mut outcome = Outcome::default();
    for sensor in sampled {
        if expected.unsure(sensor) == 0 {
            if hourly.contains(&sensor) {
                hourly::compare(&mut pages, &expected, sensor, &mut outcome).await?;
            }
            if raw.contains(&sensor) {
                raw::compare(&mut pages, &mut expected, sensor, &mut outcome).await?;
            }
            continue;
        }
        loop {
            let found = unsure(&mut pages, &mut expected, sensor).await?;
            if found.differences == 0 || begun.elapsed() >= scope.patience {
                outcome.absorb(found);
                break;
            }
            // Another process: there is no event to wait for.
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
    ledger::compare(&mut pages, &mut outcome).await?;
    Ok(outcome)
}

/// Compares a sensor of which not everything must be there. A difference may be a
/// batch that comes in late, between two answers.
async fn unsure(
    pages: &mut Pages,
    expected: &mut Expected<'_>,
    sensor: u32,
) -> Result<Outcome, CheckError> {
    let mut outcome = Outcome::default();
    hourly::until_complete(pages, expected, sensor).await?;
    raw::compare(pages, expected, sensor, &mut outcome).await?;
    hourly::compare(pages, expected, sensor, &mut outcome).await?;
    Ok(outcome)
}

/// The server's pages, read one after the other.
struct Pages {
    connection: Connection,
    patience: Duration,
}

impl Pages {
    async fn get(&mut self, path: &str, accept: &'static str) -> Result<Answer, CheckError> {
        let failed = |why| CheckError {
            path: path.to_owned(),
            why,
        };
        let answer = self.connection.get(path, accept).await;
        // An idle connection may have been closed under the request: reading
        // again is harmless.
        let answer = match answer {
            Err(HttpError::Broken(_)) => self.connection.get(path, accept).await,
            answer => answer,
        };
        let answer = answer.map_err(|error| failed(error.to_string()))?;
        if answer.status.as_u16() == 200 {
            return Ok(answer);
        }
        let body = crate::tally::excerpt(&answer.body);
        Err(failed(format!("answered {}: {body}", answer.status)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_spread_over_the_fleet() {
        assert_eq!(Sample::Some(4).of(100), BTreeSet::from([0, 25, 50, 75]));
        assert_eq!(Sample::Some(9).of(2), BTreeSet::from([0, 1]));
        assert_eq!(Sample::Some(0).of(2), BTreeSet::new());
        assert_eq!(Sample::All.of(3).len(), 3);
    }

    #[test]
    fn what_was_accepted_must_be_there_and_something_must_arrive() {
        let arrivals = |datagrams_received, readings_accepted| Arrivals {
            datagrams_received,
            datagrams_decoded: datagrams_received,
            datagrams_dropped: std::collections::BTreeMap::new(),
            readings_accepted,
            at_rest: true,
        };
        let differences = |arrivals, copies, all_sensors| {
            let mut outcome = Outcome {
                readings: 90,
                ..Outcome::default()
            };
            outcome.arrived(arrivals, copies, all_sensors);
            outcome.differences
        };
        assert_eq!(differences(arrivals(10, 100), 10, true), 0);
        assert_eq!(differences(arrivals(10, 100), 9, true), 1);
        assert_eq!(differences(arrivals(10, 100), 9, false), 0);
        assert_eq!(differences(arrivals(0, 0), 0, true), 1);
    }
}
