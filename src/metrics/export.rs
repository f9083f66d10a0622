//! Copies the ledger and the gauges to the `metrics` recorder.

use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge};

use super::names;
use super::{Ledger, Refusal, UdpDrop};
use crate::model::RejectCode;

/// Levels at the time of a scrape.
#[derive(Debug, Clone, Copy, Default)]
pub struct Gauges {
    /// Values in the buffer that the store does not hold yet.
    pub buffered_values: u64,
    /// Bytes the buffer holds, stored instants included.
    pub buffer_bytes: u64,
    /// The buffer's bound in bytes.
    pub buffer_bytes_max: u64,
    /// Buckets the buffer knows.
    pub buffer_buckets: u64,
    /// Bytes of journal segments on disk, reservations included.
    pub journal_bytes: u64,
    /// The journal's bound in bytes.
    pub journal_bytes_max: u64,
    /// Net growth of the journal over the last minute, bytes per second.
    pub journal_growth: f64,
    /// Seconds until it is at its bound at that rate; ten years while it
    /// does not grow.
    pub journal_full_in: f64,
    /// Journal segments on disk.
    pub journal_segments: u64,
    /// Journal records that are durable and not applied.
    pub applier_lag_records: u64,
    /// Bytes of these.
    pub applier_lag_bytes: u64,
    /// Age of the oldest unflushed reading, seconds since receipt.
    pub oldest_unflushed_seconds: f64,
    /// Deletions that the store has not done.
    pub open_deletions: u64,
    /// Distinct sensors known to the cap.
    pub sensors_known: u64,
    /// The cap on distinct sensors.
    pub sensors_max: u64,
    /// Idempotency keys remembered.
    pub idempotency_keys: u64,
    /// Those of them that only the journal has.
    pub idempotency_keys_unsaved: u64,
    /// Open HTTP connections.
    pub http_connections: u64,
    /// Bytes of the request bodies under way, decompressed.
    pub http_body_bytes: u64,
    /// Their bound in bytes.
    pub http_body_bytes_max: u64,
    /// Flush commands under way.
    pub flushes_in_flight: u64,
    /// Whether the store answers and takes writes.
    pub store_up: bool,
    /// Seconds since it was found not to; 0 while it does.
    pub store_down_seconds: f64,
    /// Whether the journal takes writes.
    pub journal_writable: bool,
    /// The UDP receiver; all 0 where there is none.
    pub udp: UdpGauges,
}

/// Levels of the UDP receiver, and what the kernel counts for it.
#[derive(Debug, Clone, Copy, Default)]
pub struct UdpGauges {
    /// Datagrams that the kernel dropped since the sockets were opened.
    pub kernel_dropped: u64,
    /// Bytes that wait to be decoded.
    pub queue_bytes: u64,
    /// Their bound in bytes.
    pub queue_bytes_max: u64,
    /// Bytes that the kernel keeps for each socket.
    pub receive_buffer_bytes: u64,
}

/// Registers descriptions, so that `/metrics` carries HELP and TYPE lines.
pub fn describe() {
    for (name, help) in [
        (
            "hourglass_items_received_total",
            "Items of admitted bodies: received = accepted + rejected + refused",
        ),
        ("hourglass_items_accepted_total", "Items made durable"),
        ("hourglass_items_rejected_total", "Items refused, by code"),
        (
            "hourglass_items_refused_total",
            "Items answered 503 because the journal failed under them",
        ),
        (
            "hourglass_requests_refused_total",
            "Requests refused as a whole, by reason",
        ),
        ("hourglass_values_accepted_total", "Values made durable"),
        (
            "hourglass_values_recovered_total",
            "Values found in the journal at the start of this process",
        ),
        (
            "hourglass_values_stored_total",
            "Values the store confirmed",
        ),
        (
            "hourglass_values_duplicate_total",
            "Values that were there already",
        ),
        (
            "hourglass_values_conflict_total",
            "Values refused because their instant has another one",
        ),
        (
            "hourglass_values_deleted_total",
            "Values deleted before the store had them",
        ),
        (
            "hourglass_values_conflict_other_origin_total",
            "Of the conflicts, values that came under another measurement or other tags",
        ),
        (
            "hourglass_values_expired_total",
            "Values that passed retention before they were stored",
        ),
        (
            "hourglass_attributes_refused_total",
            "Tags that did not become attributes of their sensor",
        ),
        (
            "hourglass_text_fields_skipped_total",
            "Text fields skipped: text is never a number",
        ),
        (
            "hourglass_udp_datagrams_received_total",
            "Datagrams read: received = decoded + dropped, the kernel's drops apart",
        ),
        (
            "hourglass_udp_bytes_received_total",
            "Bytes of the datagrams read",
        ),
        (
            "hourglass_udp_datagrams_decoded_total",
            "Datagrams whose items are counted",
        ),
        (
            "hourglass_udp_datagrams_empty_total",
            "Datagrams decoded that held nothing",
        ),
        (
            "hourglass_udp_datagrams_dropped_total",
            "Datagrams dropped, by reason; those of the kernel were never read",
        ),
        (
            names::FLUSH_FENCED_TOTAL,
            "Buckets whose fence did not match and that were loaded",
        ),
        (
            names::FLUSH_FAILURES_TOTAL,
            "Flush commands that failed and are tried again",
        ),
        (
            names::FLUSH_SET_ASIDE_TOTAL,
            "Buckets for which alone the store failed, and that are tried again later",
        ),
        (
            names::RECENT_MADE_ANEW_TOTAL,
            "Sensors whose newest readings were made anew from their buckets",
        ),
        (
            names::RETENTION_DROPPED_BUCKETS_TOTAL,
            "Buckets that passed retention and were dropped, by tier",
        ),
        (
            names::RETENTION_PASSES_TOTAL,
            "Passes of retention, by outcome",
        ),
        (
            names::QUERY_COLD_LOADS_TOTAL,
            "Buckets that queries loaded with their readings, for late data",
        ),
        (
            names::DELETIONS_TOTAL,
            "Deletions of readings that the store has done",
        ),
        (names::DELETED_READINGS_TOTAL, "Readings that were deleted"),
        (
            names::REGISTRY_COPY_BATCHES_TOTAL,
            "Batches of sensors whose copy of their site was looked at and rewritten",
        ),
        (
            names::IDEMPOTENT_REPLAYS_TOTAL,
            "Requests that were given the first answer to their idempotency key again",
        ),
        (
            names::IDEMPOTENCY_KEYS_FORGOTTEN_TOTAL,
            "Idempotency keys forgotten before their time, at a bound",
        ),
        (
            names::QUARANTINE_NOT_KEPT_TOTAL,
            "Refused items that are not kept on disk",
        ),
    ] {
        describe_counter!(name, help);
    }
    // From the first scrape on: a rate over a counter that appears late misses its
    // first step. The ledger's are set by each export.
    for name in [
        names::FLUSH_FENCED_TOTAL,
        names::FLUSH_FAILURES_TOTAL,
        names::FLUSH_SET_ASIDE_TOTAL,
        names::RECENT_MADE_ANEW_TOTAL,
        names::QUERY_COLD_LOADS_TOTAL,
        names::DELETIONS_TOTAL,
        names::DELETED_READINGS_TOTAL,
        names::REGISTRY_COPY_BATCHES_TOTAL,
        names::IDEMPOTENT_REPLAYS_TOTAL,
        names::IDEMPOTENCY_KEYS_FORGOTTEN_TOTAL,
        names::QUARANTINE_NOT_KEPT_TOTAL,
    ] {
        counter!(name).increment(0);
    }
    for tier in ["hours", "readings"] {
        counter!(names::RETENTION_DROPPED_BUCKETS_TOTAL, "tier" => tier).increment(0);
    }
    for outcome in ["complete", "incomplete", "broken"] {
        counter!(names::RETENTION_PASSES_TOTAL, "outcome" => outcome).increment(0);
    }
    for (name, help) in [
        (
            "hourglass_values_pending",
            "Values durable in the journal and not in the store",
        ),
        ("hourglass_buffer_bytes", "Bytes the buffer holds"),
        ("hourglass_buffer_bytes_max", "Bound of the buffer"),
        ("hourglass_buffer_buckets", "Buckets the buffer knows"),
        ("hourglass_journal_bytes", "Bytes of the journal on disk"),
        ("hourglass_journal_bytes_max", "Bound of the journal"),
        (
            "hourglass_journal_growth_bytes_per_second",
            "Net growth of the journal over the last minute",
        ),
        (
            "hourglass_journal_full_in_seconds",
            "Until the journal is at its bound if it goes on to grow so; ten years while it does not",
        ),
        ("hourglass_journal_segments", "Journal segments on disk"),
        (
            "hourglass_udp_queue_bytes",
            "Bytes of datagrams that wait to be decoded",
        ),
        ("hourglass_udp_queue_bytes_max", "Bound of these"),
        (
            "hourglass_udp_receive_buffer_bytes",
            "Bytes that the kernel keeps for each UDP socket",
        ),
        (
            "hourglass_journal_writable",
            "1 while the journal takes writes",
        ),
        (
            "hourglass_applier_lag_records",
            "Journal records durable and not yet applied to the buffer",
        ),
        ("hourglass_applier_lag_bytes", "Bytes of these"),
        (
            "hourglass_oldest_unflushed_seconds",
            "Age of the oldest reading that the store does not hold",
        ),
        (
            names::REGISTRY_SITES_REWRITING,
            "Sites whose copies are being rewritten",
        ),
        (
            "hourglass_deletions_open",
            "Deletions that the store has not done",
        ),
        (
            names::SENSORS_SILENT,
            "Sensors not heard of for registry.silent_after",
        ),
        ("hourglass_sensors", "Distinct sensors known"),
        ("hourglass_sensors_max", "Cap on distinct sensors"),
        ("hourglass_idempotency_keys", "Idempotency keys remembered"),
        (
            "hourglass_idempotency_keys_unsaved",
            "Idempotency keys that only the journal has",
        ),
        ("hourglass_http_connections", "Open HTTP connections"),
        (
            "hourglass_http_body_bytes",
            "Bytes of the request bodies under way",
        ),
        (
            "hourglass_http_body_bytes_max",
            "Bound of the request bodies",
        ),
        (
            names::RETENTION_LAST_SUCCESS_TIMESTAMP_SECONDS,
            "When the last pass of retention ended that left nothing out",
        ),
        (names::QUARANTINE_ITEMS, "Refused items kept on disk"),
        (names::QUARANTINE_BYTES, "Bytes of these"),
        ("hourglass_flushes_in_flight", "Flush commands under way"),
        (
            "hourglass_store_up",
            "1 while the store answers and takes writes",
        ),
        (
            "hourglass_store_down_seconds",
            "Since when it does not; 0 while it does",
        ),
    ] {
        describe_gauge!(name, help);
    }
    for (name, help) in [
        (
            names::JOURNAL_SYNC_SECONDS,
            "Write and sync of one group commit",
        ),
        (names::JOURNAL_GROUP_RECORDS, "Records in one group commit"),
        (names::FLUSH_SECONDS, "One flush command"),
        (names::RETENTION_PASS_SECONDS, "One pass of retention"),
        (names::FLUSH_BUCKETS, "Buckets in one flush command"),
        (names::FLUSH_READINGS, "Elements of one bucket in one flush"),
        (names::HTTP_REQUEST_SECONDS, "Requests by route"),
        (
            names::LATENESS_SECONDS,
            "Receipt minus the time of the oldest reading of a batch",
        ),
    ] {
        describe_histogram!(name, help);
    }
}

/// Copies `ledger` and `gauges` to the recorder. Counters are set, not added.
pub fn export(ledger: &Ledger, gauges: &Gauges) {
    let s = ledger.snapshot(gauges.buffered_values);
    counter!("hourglass_items_received_total").absolute(s.received_items);
    counter!("hourglass_items_accepted_total").absolute(s.accepted_items);
    counter!("hourglass_items_refused_total").absolute(s.refused_items);
    for code in RejectCode::ALL {
        counter!("hourglass_items_rejected_total", "code" => code.as_str())
            .absolute(ledger.rejected(code));
    }
    for refusal in Refusal::ALL {
        counter!("hourglass_requests_refused_total", "reason" => refusal.as_str())
            .absolute(ledger.refused(refusal));
    }
    counter!("hourglass_values_accepted_total").absolute(s.accepted_values);
    counter!("hourglass_values_recovered_total").absolute(s.recovered_values);
    counter!("hourglass_values_stored_total").absolute(s.stored_values);
    counter!("hourglass_values_duplicate_total").absolute(s.duplicate_values);
    counter!("hourglass_values_conflict_total").absolute(s.conflict_values);
    counter!("hourglass_values_deleted_total").absolute(s.deleted_values);
    counter!("hourglass_values_expired_total").absolute(s.expired_values);
    counter!("hourglass_values_conflict_other_origin_total")
        .absolute(ledger.conflicts_of_two_origins());
    counter!("hourglass_attributes_refused_total").absolute(ledger.attributes_refused());
    counter!("hourglass_text_fields_skipped_total").absolute(ledger.text_fields());
    let udp = ledger.udp();
    counter!("hourglass_udp_datagrams_received_total").absolute(udp.received());
    counter!("hourglass_udp_bytes_received_total").absolute(udp.received_bytes());
    counter!("hourglass_udp_datagrams_decoded_total").absolute(udp.decoded());
    counter!("hourglass_udp_datagrams_empty_total").absolute(udp.empty());
    const DROPPED: &str = "hourglass_udp_datagrams_dropped_total";
    counter!(DROPPED, "reason" => "kernel").absolute(gauges.udp.kernel_dropped);
    for reason in UdpDrop::ALL {
        counter!(DROPPED, "reason" => reason.as_str()).absolute(udp.dropped(reason));
    }

    let whole = |value: u64| value as f64;
    gauge!("hourglass_udp_queue_bytes").set(whole(gauges.udp.queue_bytes));
    gauge!("hourglass_udp_queue_bytes_max").set(whole(gauges.udp.queue_bytes_max));
    gauge!("hourglass_udp_receive_buffer_bytes").set(whole(gauges.udp.receive_buffer_bytes));
    gauge!("hourglass_values_pending").set(whole(s.pending_values));
    gauge!("hourglass_buffer_bytes").set(whole(gauges.buffer_bytes));
    gauge!("hourglass_buffer_bytes_max").set(whole(gauges.buffer_bytes_max));
    gauge!("hourglass_buffer_buckets").set(whole(gauges.buffer_buckets));
    gauge!("hourglass_journal_bytes").set(whole(gauges.journal_bytes));
    gauge!("hourglass_journal_bytes_max").set(whole(gauges.journal_bytes_max));
    gauge!("hourglass_journal_growth_bytes_per_second").set(gauges.journal_growth);
    gauge!("hourglass_journal_full_in_seconds").set(gauges.journal_full_in);
    gauge!("hourglass_journal_segments").set(whole(gauges.journal_segments));
    gauge!("hourglass_journal_writable").set(f64::from(u8::from(gauges.journal_writable)));
    gauge!("hourglass_applier_lag_records").set(whole(gauges.applier_lag_records));
    gauge!("hourglass_applier_lag_bytes").set(whole(gauges.applier_lag_bytes));
    gauge!("hourglass_oldest_unflushed_seconds").set(gauges.oldest_unflushed_seconds);
    gauge!("hourglass_deletions_open").set(gauges.open_deletions as f64);
    gauge!("hourglass_sensors").set(whole(gauges.sensors_known));
    gauge!("hourglass_sensors_max").set(whole(gauges.sensors_max));
    gauge!("hourglass_idempotency_keys").set(whole(gauges.idempotency_keys));
    gauge!("hourglass_idempotency_keys_unsaved").set(whole(gauges.idempotency_keys_unsaved));
    gauge!("hourglass_http_connections").set(whole(gauges.http_connections));
    gauge!("hourglass_http_body_bytes").set(whole(gauges.http_body_bytes));
    gauge!("hourglass_http_body_bytes_max").set(whole(gauges.http_body_bytes_max));
    gauge!("hourglass_flushes_in_flight").set(whole(gauges.flushes_in_flight));
    gauge!("hourglass_store_up").set(f64::from(u8::from(gauges.store_up)));
    gauge!("hourglass_store_down_seconds").set(gauges.store_down_seconds);
}
