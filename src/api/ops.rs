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
    let body = json!({
        "ready": ready,
        "journal": journal,
        "journalBytes": space.used(),
        "journalBytesMax": space.bytes_max(),
        "journalGrowth": state.journal.growth().round(),
        "journalFullIn": state.journal.full_in().map(f64::round),
        "lagRecords": state.progress.lag(),
        "store": if state.health.is_up() { "up" } else { "down" },
        "complete": state.progress.is_complete() && state.health.is_up(),
    });
    let headers = [(header::CONTENT_TYPE, "application/json")];
    (status, headers, body.to_string()).into_response()
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
