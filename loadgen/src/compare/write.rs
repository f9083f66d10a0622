//! Writes batches over several connections and counts what was acknowledged.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::http::Connection;
use crate::post::Encoded;
use crate::tally::{Accepted, excerpt, show};

/// Wait after a server that is full says nothing of how long.
const RETRY_AFTER: Duration = Duration::from_millis(100);
/// Refusals that are kept as text.
const PROBLEMS_SHOWN: usize = 5;

/// What writing came to.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// Readings acknowledged.
    pub(super) readings: u64,
    /// From before a batch is sent until it is acknowledged, waits included.
    pub(super) took: Vec<Duration>,
    /// Times a server said to come again later.
    pub(super) retries: u64,
    /// Batches that were refused.
    pub(super) problems: u64,
    /// The first of them in words.
    pub(super) problems_shown: Vec<String>,
}

impl Written {
    pub(super) fn merge(&mut self, other: Self) {
        self.readings += other.readings;
        self.took.extend(other.took);
        self.retries += other.retries;
        self.problems += other.problems;
        show(
            &mut self.problems_shown,
            other.problems_shown,
            PROBLEMS_SHOWN,
        );
    }
}

/// An acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Acknowledged {
    pub(super) readings: u64,
    pub(super) retries: u64,
}

/// One connection that writes.
pub(super) trait Writer: Send + 'static {
    /// What it writes at once.
    type Batch: Send + Sync + 'static;

    /// Writes a batch; where that fails, says why.
    fn write(
        &mut self,
        batch: &Self::Batch,
    ) -> impl Future<Output = Result<Acknowledged, String>> + Send;
}

/// Writes the batches in order, each writer the next one when it is free.
pub(super) async fn write_all<W: Writer>(writers: Vec<W>, batches: Vec<W::Batch>) -> Written {
    let (batches, next) = (Arc::new(batches), Arc::new(AtomicUsize::new(0)));
    let mut working = JoinSet::new();
    for mut writer in writers {
        let (batches, next) = (Arc::clone(&batches), Arc::clone(&next));
        working.spawn(async move {
            let mut written = Written::default();
            while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
                let begun = Instant::now();
                match writer.write(batch).await {
                    Ok(acknowledged) => {
                        written.took.push(begun.elapsed());
                        written.readings += acknowledged.readings;
                        written.retries += acknowledged.retries;
                    }
                    Err(why) => written.merge(Written {
                        problems: 1,
                        problems_shown: vec![why],
                        ..Written::default()
                    }),
                }
            }
            written
        });
    }
    let mut all = Written::default();
    for written in working.join_all().await {
        all.merge(written);
    }
    all
}

/// Posts line protocol.
#[derive(Debug)]
pub(super) struct LineWriter {
    pub(super) connection: Connection,
    pub(super) path: &'static str,
}

impl Writer for LineWriter {
    type Batch = Encoded;

    async fn write(&mut self, batch: &Encoded) -> Result<Acknowledged, String> {
        let mut retries = 0;
        loop {
            let body = batch.body.clone();
            let posted = self.connection.post(self.path, "text/plain", body).await;
            let answer = posted.map_err(|error| error.to_string())?;
            match answer.status.as_u16() {
                202 => {
                    let readings = accepted(&answer.body, batch.readings)?;
                    return Ok(Acknowledged { readings, retries });
                }
                200 | 204 => {
                    let readings = batch.readings;
                    return Ok(Acknowledged { readings, retries });
                }
                429 | 503 => {
                    retries += 1;
                    let pause = answer.retry_after.unwrap_or(RETRY_AFTER);
                    tokio::time::sleep(pause).await;
                }
                status => return Err(format!("{status}: {}", excerpt(&answer.body))),
            }
        }
    }
}

/// The readings an answer of hourglass accepts; it must be all of them.
fn accepted(body: &[u8], sent: u64) -> Result<u64, String> {
    match serde_json::from_slice(body) {
        Ok(Accepted { accepted, rejected }) if accepted == sent && rejected == 0 => Ok(accepted),
        _ => Err(format!("of {sent} readings: {}", excerpt(body))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Odd;

    impl Writer for Odd {
        type Batch = u64;

        async fn write(&mut self, batch: &u64) -> Result<Acknowledged, String> {
            match batch % 2 {
                0 => Err("even".to_owned()),
                _ => Ok(Acknowledged {
                    readings: *batch,
                    retries: 1,
                }),
            }
        }
    }

    #[tokio::test]
    async fn every_batch_is_written_once_or_told() {
        let written = write_all(vec![Odd, Odd, Odd], (0..101).collect()).await;
        assert_eq!(written.readings, 2500);
        assert_eq!((written.took.len(), written.retries), (50, 50));
        assert_eq!(written.problems, 51);
        assert_eq!(written.problems_shown, vec!["even"; PROBLEMS_SHOWN]);
    }

    #[test]
    fn an_answer_that_takes_only_some_is_a_problem() {
        assert_eq!(accepted(br#"{"accepted":5,"rejected":0}"#, 5), Ok(5));
        assert!(accepted(br#"{"accepted":4,"rejected":1}"#, 5).is_err());
        assert!(accepted(b"ok", 5).is_err());
    }
}
