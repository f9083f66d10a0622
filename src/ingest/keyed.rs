//! Requests with an idempotency key.

use bytes::Bytes;
use metrics::counter;

use super::{DECODE_APART_BYTES, Ingest, IngestError, Intake, Outcome, joined};
use crate::idempotency::{Begin, IdempotencyKey, digest};
use crate::journal::record::DIGEST_BYTES;
use crate::metrics::{Refusal, names};

/// A request that has a key.
#[derive(Debug, Clone)]
pub struct KeyedRequest {
    /// The key.
    pub key: IdempotencyKey,
    /// Where it came in: the same key elsewhere is another request. Stable: it
    /// is part of what is on disk.
    pub route: &'static str,
}

/// What a request with a key is answered.
#[derive(Debug)]
pub struct KeyedOutcome {
    /// What became of the body, when it was first sent.
    pub outcome: Outcome,
    /// Whether that was before.
    pub is_replayed: bool,
}

impl Ingest {
    /// Takes a body once: the same request again, within the bounds of what is
    /// remembered, is given the first answer and stores nothing. While the first
    /// one runs the others wait; if it fails, the next one is the first.
    ///
    /// The work of the first runs in a task of its own, which keeps `hold` until
    /// it has ended: dropping the future takes nothing back.
    ///
    /// # Errors
    /// As [`Ingest::accept`]; what is refused as a whole is not remembered.
    /// [`IngestError::KeyReused`] where the key was used for something else.
    pub async fn accept_keyed<H: Send + 'static>(
        &self,
        request: KeyedRequest,
        body: Bytes,
        how: Intake,
        hold: H,
    ) -> Result<KeyedOutcome, IngestError> {
        let digest = digest_of(request.route, &how, &body).await?;
        loop {
            match self.keys.begin(&request.key, &digest) {
                Begin::First(turn) => {
                    let this = self.clone();
                    let work = tokio::spawn(async move {
                        let taken = this.accept_as(body, how, Some((request.key, digest))).await;
                        drop((turn, hold));
                        taken
                    });
                    return Ok(KeyedOutcome {
                        outcome: joined(work).await??,
                        is_replayed: false,
                    });
                }
                Begin::Running(running) => running.ended().await,
                Begin::Known(answer) => {
                    let outcome = Outcome::read(&answer).map_err(IngestError::Answer)?;
                    counter!(names::IDEMPOTENT_REPLAYS_TOTAL).increment(1);
                    return Ok(KeyedOutcome {
                        outcome,
                        is_replayed: true,
                    });
                }
                Begin::Reused => {
                    self.ledger.refuse(Refusal::KeyReused);
                    return Err(IngestError::KeyReused);
                }
            }
        }
    }
}

/// What a request is told apart by: where it came in, how its body is read, and
/// the body. Large ones are hashed apart, as they are decoded apart.
async fn digest_of(
    route: &'static str,
    how: &Intake,
    body: &Bytes,
) -> Result<[u8; DIGEST_BYTES], IngestError> {
    let reading = how.stable_form();
    let hash = move |body: &[u8]| digest(&[route.as_bytes(), reading.as_bytes(), body]);
    if body.len() < DECODE_APART_BYTES {
        return Ok(hash(body));
    }
    let body = body.clone();
    Ok(joined(tokio::task::spawn_blocking(move || hash(&body))).await?)
}
