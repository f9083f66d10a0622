//! `/metrics`: the Prometheus text format.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::{ApiState, ops};
use crate::metrics::{Gauges, UdpGauges, export};
use crate::receive::UdpWatch;

/// Seconds: the longest that a journal is said to last. The text format has a word
/// for infinity that not every reader of it knows.
const TEN_YEARS: f64 = 315_360_000.0;

pub(super) async fn get(State(state): State<ApiState>) -> Response {
    let space = state.journal.space();
    let gauges = Gauges {
        buffered_values: state.buffer.pending_values(),
        buffer_bytes: state.buffer.bytes() as u64,
        buffer_bytes_max: state.buffer.bytes_max() as u64,
        buffer_buckets: state.buffer.buckets() as u64,
        journal_bytes: space.used(),
        journal_bytes_max: space.bytes_max(),
        journal_growth: state.journal.growth(),
        journal_full_in: state.journal.full_in().unwrap_or(TEN_YEARS).min(TEN_YEARS),
        journal_segments: state.journal.segments(),
        applier_lag_records: state.progress.lag(),
        applier_lag_bytes: state.progress.lag_bytes(),
        oldest_unflushed_seconds: ops::oldest_unflushed_seconds(&state),
        open_deletions: state.buffer.open_deletions() as u64,
        sensors_known: state.ingest.sensor_cap().known() as u64,
        sensors_max: state.ingest.sensor_cap().sensors_max() as u64,
        idempotency_keys: state.keys.remembered() as u64,
        idempotency_keys_unsaved: state.keys.unsaved() as u64,
        http_connections: state.connections.count(),
        http_body_bytes: state.bodies.used() as u64,
        http_body_bytes_max: state.bodies.bytes_max() as u64,
        flushes_in_flight: state.health.in_flight(),
        store_up: state.health.is_up(),
        store_down_seconds: state.health.down_for().as_secs_f64(),
        journal_writable: ops::journal_status(&state) == "writing",
        udp: state.udp.as_ref().map(of_udp).unwrap_or_default(),
    };
    export(&state.ledger, &gauges);
    state.prometheus.run_upkeep();
    let headers = [(
        header::CONTENT_TYPE,
        "text/plain; version=0.0.4; charset=utf-8",
    )];
    (headers, state.prometheus.render()).into_response()
}

fn of_udp(udp: &UdpWatch) -> UdpGauges {
    UdpGauges {
        kernel_dropped: udp.kernel_dropped(),
        queue_bytes: udp.queue().bytes() as u64,
        queue_bytes_max: udp.queue().bytes_max() as u64,
        receive_buffer_bytes: udp.receive_buffer() as u64,
    }
}
