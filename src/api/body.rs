//! The bodies of requests: received whole, within the limits of the settings.

use axum::body::Body;
use axum::http::{HeaderMap, header};
use bytes::Bytes;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::{ApiState, Problem};
use crate::metrics::Refusal;
use crate::receive::{BodyLimits, ReceiveError, read_body};

/// A body of readings.
pub(super) struct ReadingsBody {
    pub(super) bytes: Bytes,
    /// Held until the readings are answered: a stop waits for it.
    pub(super) token: TaskTrackerToken,
}

/// Receives a body of readings, decompressed.
///
/// # Errors
/// 503 `stopping` once the process stops, else what [`ReceiveError`] becomes;
/// both are counted as refused requests.
pub(super) async fn receive_readings(
    state: &ApiState,
    headers: &HeaderMap,
    body: Body,
) -> Result<ReadingsBody, Problem> {
    let Some(token) = state.phase.enter() else {
        state.ledger.refuse(Refusal::Stopping);
        return Err(Problem::unavailable("stopping", "hourglass is stopping"));
    };
    let bytes_max = state.settings.server.body_bytes_max;
    let bytes = receive(state, headers, body, bytes_max)
        .await
        .inspect_err(|error| state.ledger.refuse(refusal(error)))?;
    Ok(ReadingsBody { bytes, token })
}

/// Receives a body of at most `bytes_max`, decompressed.
///
/// # Errors
/// See [`ReceiveError`].
pub(super) async fn receive(
    state: &ApiState,
    headers: &HeaderMap,
    body: Body,
    bytes_max: usize,
) -> Result<Bytes, ReceiveError> {
    let server = &state.settings.server;
    let limits = BodyLimits {
        decompressed_bytes_max: bytes_max,
        ratio_max: u64::from(server.body_ratio_max),
        idle_timeout: server.body_idle_timeout,
        total_timeout: server.request_timeout,
    };
    let encoding = content_encoding(headers);
    read_body(body, Some(&encoding), limits, state.bodies.share()).await
}

/// All lines of `Content-Encoding` as the one list that they are.
fn content_encoding(headers: &HeaderMap) -> String {
    let lines = headers.get_all(header::CONTENT_ENCODING).iter();
    // What is no text is no coding either; the refusal shows it.
    let lines: Vec<&str> = lines
        .map(|line| line.to_str().unwrap_or("(not ASCII)"))
        .collect();
    lines.join(", ")
}

fn refusal(error: &ReceiveError) -> Refusal {
    match error {
        ReceiveError::Busy => Refusal::Busy,
        _ => Refusal::BadBody,
    }
}
