//! `Idempotency-Key` and `Idempotency-Replayed`, for every route that takes
//! readings.

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use bytes::Bytes;

use super::{ApiParts, Problem};
use crate::idempotency::{IdempotencyKey, InvalidKey};
use crate::ingest::{IngestError, Intake, KeyedOutcome, KeyedRequest};

/// Names a request, so that it may be sent again.
pub(super) const KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Says that the answer is the one to an earlier request of the same key.
pub(super) const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The key of a request to `route`, if it has one; to be asked before the body
/// is read. `route` is stable, and part of what a key belongs to: elsewhere it
/// is taken for used.
pub(super) fn keyed_request(
    headers: &HeaderMap,
    route: &'static str,
) -> Result<Option<KeyedRequest>, Problem> {
    let mut lines = headers.get_all(KEY).iter();
    let Some(line) = lines.next() else {
        return Ok(None);
    };
    if lines.next().is_some() {
        return Err(invalid(
            "a request has one Idempotency-Key, this one has several",
        ));
    }
    let key = IdempotencyKey::new(line.as_bytes());
    let key = key.map_err(|error: InvalidKey| invalid(error.to_string()))?;
    Ok(Some(KeyedRequest { key, route }))
}

fn invalid(detail: impl Into<String>) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, "invalid_idempotency_key", detail)
}

/// Takes a body: once, where the request has a key. `token` is given back when
/// the work is done, however long the client stays.
pub(super) async fn accept<H: Send + 'static>(
    state: &ApiParts,
    request: Option<KeyedRequest>,
    how: Intake,
    body: Bytes,
    token: H,
) -> Result<KeyedOutcome, IngestError> {
    let ingest = &state.ingest;
    if let Some(request) = request {
        return ingest.accept_keyed(request, body, how, token).await;
    }
    let outcome = ingest.accept(body, how).await?;
    drop(token);
    Ok(KeyedOutcome {
        outcome,
        is_replayed: false,
    })
}

/// Says on `response` whether it was given before.
pub(super) fn mark(mut response: Response, is_replayed: bool) -> Response {
    if is_replayed {
        let yes = HeaderValue::from_static("true");
        response.headers_mut().insert(REPLAYED, yes);
    }
    response
}
