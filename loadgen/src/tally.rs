//! What came back, counted while it comes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Deserialize;

use crate::http::Answer;
use crate::latency::{histogram, record};
use crate::post::Encoded;

/// Problems that are kept as text.
const PROBLEMS_SHOWN: usize = 20;

/// What came back.
#[derive(Debug)]
pub struct Tally {
    /// Service time: microseconds from the first byte sent to the whole answer
    /// read, of the tries that were acknowledged.
    pub latency: Histogram<u64>,
    /// Microseconds from when a batch was due to its acknowledgement: what it
    /// waited for a connection and for further tries is in it. Without a schedule
    /// a batch is due when a connection takes it.
    pub latency_from_due: Histogram<u64>,
    /// Answers by status code, retried ones included.
    pub statuses: BTreeMap<u16, u64>,
    /// Batches acknowledged with a 202.
    pub requests_acknowledged: u64,
    /// Readings in them.
    pub readings_acknowledged: u64,
    /// Datagrams sent.
    pub datagrams_sent: u64,
    /// Readings in them.
    pub readings_sent: u64,
    /// Tries after an answer that said to try again.
    pub retries: u64,
    /// Connections that broke or did not open, each followed by a try.
    pub connection_errors: u64,
    /// Batches that were refused, given up, or acknowledged with other counts
    /// than they have; datagrams that could not be sent.
    pub problems: u64,
    /// The first of them in words.
    pub problems_shown: Vec<String>,
    /// The `Server` header of the last answer.
    pub server: Option<String>,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            latency: histogram(),
            latency_from_due: histogram(),
            statuses: BTreeMap::new(),
            requests_acknowledged: 0,
            readings_acknowledged: 0,
            datagrams_sent: 0,
            readings_sent: 0,
            retries: 0,
            connection_errors: 0,
            problems: 0,
            problems_shown: Vec::new(),
            server: None,
        }
    }
}

impl Tally {
    /// Adds what another run counted.
    pub fn merge(&mut self, other: Self) {
        for (sum, part) in [
            (&mut self.latency, &other.latency),
            (&mut self.latency_from_due, &other.latency_from_due),
        ] {
            sum.add(part).expect("all latencies have the same bounds");
        }
        for (status, count) in other.statuses {
            *self.statuses.entry(status).or_default() += count;
        }
        self.requests_acknowledged += other.requests_acknowledged;
        self.readings_acknowledged += other.readings_acknowledged;
        self.datagrams_sent += other.datagrams_sent;
        self.readings_sent += other.readings_sent;
        self.retries += other.retries;
        self.connection_errors += other.connection_errors;
        self.problems += other.problems;
        show(
            &mut self.problems_shown,
            other.problems_shown,
            PROBLEMS_SHOWN,
        );
        self.server = other.server.or(self.server.take());
    }

    pub(crate) fn problem(&mut self, text: String) {
        self.problems += 1;
        show(&mut self.problems_shown, [text], PROBLEMS_SHOWN);
    }

    /// Counts a 202: whether all of the batch was accepted. `took` is the try,
    /// `from_due` all the time since the batch was due.
    pub(crate) fn acknowledge(
        &mut self,
        batch: &Encoded,
        answer: &Answer,
        took: Duration,
        from_due: Duration,
    ) -> bool {
        record(&mut self.latency, took);
        record(&mut self.latency_from_due, from_due);
        self.requests_acknowledged += 1;
        match serde_json::from_slice::<Accepted>(&answer.body) {
            Ok(Accepted { accepted, rejected }) => {
                self.readings_acknowledged += accepted;
                let whole = accepted == batch.readings && rejected == 0;
                if !whole {
                    self.problem(format!(
                        "a batch of {} readings was answered with {accepted} accepted and \
                         {rejected} rejected: {}",
                        batch.readings,
                        excerpt(&answer.body),
                    ));
                }
                whole
            }
            Err(error) => {
                self.problem(format!(
                    "a 202 has no counts ({error}): {}",
                    excerpt(&answer.body)
                ));
                false
            }
        }
    }
}

/// The counts in the answer to a body.
#[derive(Deserialize)]
pub(crate) struct Accepted {
    pub(crate) accepted: u64,
    pub(crate) rejected: u64,
}

/// A tally that all who post add to, and that can be read meanwhile.
#[derive(Debug, Clone, Default)]
pub struct SharedTally(Arc<Mutex<Tally>>);

impl SharedTally {
    /// Reads or adds; not to be held longer than that takes.
    pub fn with<T>(&self, act: impl FnOnce(&mut Tally) -> T) -> T {
        // Counts are whole after every step of whoever panicked.
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// All of it, leaving an empty one.
    #[must_use]
    pub fn take(&self) -> Tally {
        self.with(std::mem::take)
    }
}

/// Adds to what is shown of something that is counted, up to `max` in all.
pub(crate) fn show<T>(shown: &mut Vec<T>, more: impl IntoIterator<Item = T>, max: usize) {
    let room = max.saturating_sub(shown.len());
    shown.extend(more.into_iter().take(room));
}

/// The beginning of an answer, for a message.
pub(crate) fn excerpt(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let short: String = text.chars().take(300).collect();
    short.trim().to_owned()
}
