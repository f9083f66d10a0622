//! Posts encoded batches over several connections and counts the answers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hdrhistogram::Histogram;
use hyper::StatusCode;
use serde::Deserialize;
use tokio::task::JoinSet;

use crate::http::{Answer, Connection};

/// The longest latency told apart, microseconds: a little over the time an
/// answer may take.
const LATENCY_MICROS_MAX: u64 = 60_000_000;
/// Significant decimals of latencies: percentiles are within 0.1 %.
const LATENCY_DIGITS: u8 = 3;
/// Wait after a 503 that does not say how long, and after the first
/// connection error; doubled with every further one.
const RETRY_FIRST: Duration = Duration::from_millis(100);
/// The longest wait between two tries.
const RETRY_MAX: Duration = Duration::from_secs(10);
/// Problems that are kept as text.
const PROBLEMS_SHOWN: usize = 20;

/// An encoded batch.
#[derive(Debug, Clone)]
pub struct Encoded {
    /// The request's body.
    pub body: Bytes,
    /// Readings in it.
    pub readings: u64,
}

/// What came back.
#[derive(Debug)]
pub struct Tally {
    /// Microseconds from the first byte sent to the whole answer read, of the
    /// tries that were acknowledged.
    pub latency: Histogram<u64>,
    /// Answers by status code, retried ones included.
    pub statuses: BTreeMap<u16, u64>,
    /// Batches acknowledged with a 202.
    pub requests_acknowledged: u64,
    /// Readings in them.
    pub readings_acknowledged: u64,
    /// Tries after an answer that said to try again.
    pub retries: u64,
    /// Connections that broke or did not open, each followed by a try.
    pub connection_errors: u64,
    /// Batches that were refused, given up, or acknowledged with other counts
    /// than they have.
    pub problems: u64,
    /// The first of them in words.
    pub problems_shown: Vec<String>,
    /// The `Server` header of the last answer.
    pub server: Option<String>,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            latency: Histogram::new_with_bounds(1, LATENCY_MICROS_MAX, LATENCY_DIGITS)
                .expect("1 to 60,000,000 with 3 digits is a histogram"),
            statuses: BTreeMap::new(),
            requests_acknowledged: 0,
            readings_acknowledged: 0,
            retries: 0,
            connection_errors: 0,
            problems: 0,
            problems_shown: Vec::new(),
            server: None,
        }
    }
}

impl Tally {
    /// Adds what another connection or round counted.
    pub fn merge(&mut self, other: Self) {
        self.latency
            .add(&other.latency)
            .expect("all latencies have the same bounds");
        for (status, count) in other.statuses {
            *self.statuses.entry(status).or_default() += count;
        }
        self.requests_acknowledged += other.requests_acknowledged;
        self.readings_acknowledged += other.readings_acknowledged;
        self.retries += other.retries;
        self.connection_errors += other.connection_errors;
        self.problems += other.problems;
        let room = PROBLEMS_SHOWN.saturating_sub(self.problems_shown.len());
        self.problems_shown
            .extend(other.problems_shown.into_iter().take(room));
        self.server = other.server.or(self.server.take());
    }

    fn problem(&mut self, text: String) {
        self.problems += 1;
        if self.problems_shown.len() < PROBLEMS_SHOWN {
            self.problems_shown.push(text);
        }
    }

    fn acknowledge(&mut self, batch: &Encoded, answer: &Answer, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.latency.saturating_record(micros.max(1));
        self.requests_acknowledged += 1;
        match serde_json::from_slice::<Accepted>(&answer.body) {
            Ok(Accepted { accepted, rejected }) => {
                self.readings_acknowledged += accepted;
                if accepted != batch.readings || rejected != 0 {
                    self.problem(format!(
                        "a batch of {} readings was answered with {accepted} accepted and \
                         {rejected} rejected: {}",
                        batch.readings,
                        excerpt(&answer.body),
                    ));
                }
            }
            Err(error) => self.problem(format!(
                "a 202 has no counts ({error}): {}",
                excerpt(&answer.body)
            )),
        }
    }
}

#[derive(Deserialize)]
struct Accepted {
    accepted: u64,
    rejected: u64,
}

/// What was posted of a round.
#[derive(Debug)]
pub struct Posted {
    /// The batches that were begun: the first so many of the round, every one
    /// answered or counted as a problem.
    pub batches: usize,
    /// The answers.
    pub tally: Tally,
    /// The connections, to post the next round with.
    pub connections: Vec<Connection>,
}

/// Posts the batches in order, each connection the next one as soon as it is
/// free, until all are answered or `deadline` has passed. Each batch is tried
/// again after a 429, a 503 or a connection error until the deadline.
pub async fn post(
    connections: Vec<Connection>,
    path: &'static str,
    content_type: &'static str,
    batches: Vec<Encoded>,
    deadline: Instant,
) -> Posted {
    let batches = Arc::new(batches);
    let next = Arc::new(AtomicUsize::new(0));
    let mut workers = JoinSet::new();
    for connection in connections {
        let mut worker = Worker {
            connection,
            path,
            content_type,
            deadline,
            tally: Tally::default(),
        };
        let (batches, next) = (Arc::clone(&batches), Arc::clone(&next));
        workers.spawn(async move {
            while Instant::now() < deadline {
                let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) else {
                    break;
                };
                worker.deliver(batch).await;
            }
            worker
        });
    }
    let mut tally = Tally::default();
    let mut connections = Vec::new();
    for worker in workers.join_all().await {
        tally.merge(worker.tally);
        connections.push(worker.connection);
    }
    Posted {
        batches: next.load(Ordering::Relaxed).min(batches.len()),
        tally,
        connections,
    }
}

struct Worker {
    connection: Connection,
    path: &'static str,
    content_type: &'static str,
    deadline: Instant,
    tally: Tally,
}

impl Worker {
    async fn deliver(&mut self, batch: &Encoded) {
        let mut wait = RETRY_FIRST;
        loop {
            let begun = Instant::now();
            let answer = self
                .connection
                .post(self.path, self.content_type, batch.body.clone())
                .await;
            let took = begun.elapsed();
            let (pause, why) = match answer {
                Ok(answer) => {
                    *self
                        .tally
                        .statuses
                        .entry(answer.status.as_u16())
                        .or_default() += 1;
                    self.tally.server.clone_from(&answer.server);
                    match answer.status {
                        StatusCode::ACCEPTED => {
                            self.tally.acknowledge(batch, &answer, took);
                            return;
                        }
                        StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => {
                            self.tally.retries += 1;
                            let pause = answer.retry_after.unwrap_or(wait);
                            (pause, answer.status.to_string())
                        }
                        status => {
                            let body = excerpt(&answer.body);
                            self.tally
                                .problem(format!("a batch was refused: {status}: {body}"));
                            return;
                        }
                    }
                }
                Err(error) => {
                    self.tally.connection_errors += 1;
                    (wait, error.to_string())
                }
            };
            let pause = pause.min(RETRY_MAX);
            if Instant::now() + pause >= self.deadline {
                self.tally
                    .problem(format!("a batch was given up, time is over: {why}"));
                return;
            }
            tokio::time::sleep(pause).await;
            wait = (wait * 2).min(RETRY_MAX);
        }
    }
}

/// The beginning of an answer, for a message.
pub(crate) fn excerpt(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let short: String = text.chars().take(300).collect();
    short.trim().to_owned()
}
