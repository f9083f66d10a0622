//! `/livez` and `/readyz`.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::ApiState;
use crate::journal::JournalState;

/// Bytes that must fit into the journal for it to count as taking writes.
const WRITABLE_BYTES: u64 = 64 << 10;

pub(super) async fn livez() -> &'static str {
    "ok\n"
}

/// 200 while the journal takes writes.
pub(super) async fn readyz(State(state): State<ApiState>) -> Response {
    let journal = journal_status(&state);
    let ready = journal == "writing";
    let status = if ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let space = state.journal.space();
    let down_since = state.health.down_since();
    let body = json!({
        "ready": ready,
        "journal": journal,
        "journalBytes": space.used(),
        "journalBytesMax": space.bytes_max(),
        "journalGrowth": state.journal.growth().round(),
        "journalFullIn": state.journal.full_in().map(f64::round),
        "lagRecords": state.progress.lag(),
        "lagBytes": state.progress.lag_bytes(),
        "oldestUnflushedSeconds": oldest_unflushed_seconds(&state).round(),
        "store": if down_since.is_none() { "up" } else { "down" },
        "storeDownSince": down_since.map(|since| since.to_string()),
        "complete": state.progress.is_complete() && down_since.is_none(),
    });
    let headers = [(header::CONTENT_TYPE, "application/json")];
    (status, headers, body.to_string()).into_response()
}

/// How long the oldest reading in the buffer has waited for the store; 0 where none
/// waits.
pub(super) fn oldest_unflushed_seconds(state: &ApiState) -> f64 {
    let elapsed = state.clock.elapsed();
    let oldest = state.buffer.oldest_pending();
    oldest.map_or(0.0, |since| elapsed.saturating_sub(since).as_secs_f64())
}

/// `writing`, or why it does not.
pub(super) fn journal_status(state: &ApiState) -> &'static str {
    if state.phase.is_stopping() {
        "stopping"
    } else if matches!(state.journal.state(), JournalState::Poisoned(_)) {
        "failed"
    } else if matches!(state.journal.state(), JournalState::NoRoom(_)) {
        "disk_full"
    } else if state.progress.is_recovering() {
        "recovering"
    } else if state.journal.space().used() + WRITABLE_BYTES > state.journal.space().bytes_max() {
        "full"
    } else {
        "writing"
    }
}
