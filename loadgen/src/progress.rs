//! A line a second while a run goes on, on standard error.

use std::fmt;
use std::io::Write as _;
use std::time::{Duration, Instant};

use tokio::time::MissedTickBehavior;

use crate::latency::Latency;
use crate::tally::{SharedTally, Tally};

const EVERY: Duration = Duration::from_secs(1);

/// Does `work`, telling of `tally` beside it.
pub async fn beside<T>(tally: &SharedTally, work: impl Future<Output = T>) -> T {
    tokio::select! {
        done = work => done,
        never = tell(tally) => match never {},
    }
}

async fn tell(tally: &SharedTally) -> std::convert::Infallible {
    let begun = Instant::now();
    let mut seconds = tokio::time::interval_at((begun + EVERY).into(), EVERY);
    // While a round is encoded nothing is told.
    seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut last, mut before) = (begun, 0);
    loop {
        seconds.tick().await;
        let now = Instant::now();
        let line = tally.with(|tally| Line::of(tally, before, now - begun, now - last));
        (last, before) = (now, line.readings);
        // A run goes on where nobody can read of it.
        drop(writeln!(std::io::stderr(), "{line}"));
    }
}

/// What is told.
#[derive(Debug)]
struct Line {
    elapsed: Duration,
    readings: u64,
    verb: &'static str,
    per_second: f64,
    p99: Option<f64>,
    retries: u64,
    connection_errors: u64,
    problems: u64,
}

impl Line {
    fn of(tally: &Tally, before: u64, elapsed: Duration, since: Duration) -> Self {
        let (readings, verb) = match tally.readings_sent {
            0 => (tally.readings_acknowledged, "acknowledged"),
            sent => (sent, "sent"),
        };
        let came = readings.saturating_sub(before) as f64;
        Self {
            elapsed,
            readings,
            verb,
            per_second: came / since.as_secs_f64().max(1e-9),
            p99: Latency::of(&tally.latency_from_due).map(|latency| latency.p99),
            retries: tally.retries,
            connection_errors: tally.connection_errors,
            problems: tally.problems,
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, readings, verb) = (self.elapsed.as_secs(), self.readings, self.verb);
        write!(f, "{seconds:>4} s  {readings} readings {verb}")?;
        write!(f, ", {:.0}/s", self.per_second)?;
        if let Some(p99) = self.p99 {
            write!(f, ", p99 {p99:.2} ms")?;
        }
        let (retries, broken) = (self.retries, self.connection_errors);
        write!(f, ", {retries} retries, {broken} connection errors")?;
        match self.problems {
            0 => Ok(()),
            problems => write!(f, ", {problems} problems"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_came_since_the_last() {
        let mut tally = Tally {
            readings_acknowledged: 5000,
            retries: 2,
            ..Tally::default()
        };
        crate::latency::record(&mut tally.latency_from_due, Duration::from_millis(4));
        let (elapsed, since) = (Duration::from_secs(12), Duration::from_secs(2));
        let line = Line::of(&tally, 1000, elapsed, since).to_string();
        assert_eq!(
            line,
            "  12 s  5000 readings acknowledged, 2000/s, p99 4.00 ms, 2 retries, \
             0 connection errors"
        );
    }

    #[test]
    fn of_datagrams_it_says_what_was_sent() {
        let tally = Tally {
            readings_sent: 300,
            problems: 1,
            ..Tally::default()
        };
        let second = Duration::from_secs(1);
        let line = Line::of(&tally, 0, second, second).to_string();
        assert!(line.starts_with("   1 s  300 readings sent, 300/s, 0 retries"));
        assert!(line.ends_with(", 1 problems"));
    }

    #[tokio::test]
    async fn what_is_worked_on_is_returned() {
        assert_eq!(beside(&SharedTally::default(), async { 7 }).await, 7);
    }
}
