//! Delivers batches over one connection, each until it is answered for good.

use std::time::{Duration, Instant};

use hyper::StatusCode;

use crate::http::Connection;
use crate::post::{Encoded, Posting};
use crate::tally::excerpt;

/// Wait after a 503 that does not say how long, and after the first
/// connection error; doubled with every further one.
const RETRY_FIRST: Duration = Duration::from_millis(100);
/// The longest wait between two tries.
const RETRY_MAX: Duration = Duration::from_secs(10);

/// A connection and what it is to do.
#[derive(Debug)]
pub(crate) struct Deliverer {
    pub(crate) connection: Connection,
    pub(crate) posting: Posting,
}

/// Why a try did not end it.
struct Again {
    pause: Duration,
    why: String,
}

impl Deliverer {
    /// Tries until an answer or the deadline ends it: whether the whole batch was
    /// acknowledged.
    pub(crate) async fn deliver(&mut self, batch: &Encoded, due: Instant) -> bool {
        let mut wait = RETRY_FIRST;
        loop {
            let Again { pause, why } = match self.attempt(batch, due, wait).await {
                Ok(acknowledged) => return acknowledged,
                Err(again) => again,
            };
            let pause = pause.min(RETRY_MAX);
            if Instant::now() + pause >= self.posting.deadline {
                let text = format!("a batch was given up, time is over: {why}");
                self.posting.tally.with(|tally| tally.problem(text));
                return false;
            }
            tokio::time::sleep(pause).await;
            wait = (wait * 2).min(RETRY_MAX);
        }
    }

    async fn attempt(
        &mut self,
        batch: &Encoded,
        due: Instant,
        wait: Duration,
    ) -> Result<bool, Again> {
        let route = self.posting.route;
        let begun = Instant::now();
        let answer = self
            .connection
            .post_coded(
                route.path,
                route.content_type,
                route.content_encoding,
                batch.body.clone(),
            )
            .await;
        let now = Instant::now();
        self.posting.tally.with(|tally| {
            let answer = match answer {
                Ok(answer) => answer,
                Err(error) => {
                    tally.connection_errors += 1;
                    let why = error.to_string();
                    return Err(Again { pause: wait, why });
                }
            };
            *tally.statuses.entry(answer.status.as_u16()).or_default() += 1;
            tally.server.clone_from(&answer.server);
            match answer.status {
                StatusCode::ACCEPTED => {
                    Ok(tally.acknowledge(batch, &answer, now - begun, now - due))
                }
                StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => {
                    tally.retries += 1;
                    Err(Again {
                        pause: answer.retry_after.unwrap_or(wait),
                        why: answer.status.to_string(),
                    })
                }
                status => {
                    let body = excerpt(&answer.body);
                    tally.problem(format!("a batch was refused: {status}: {body}"));
                    Ok(false)
                }
            }
        })
    }
}
