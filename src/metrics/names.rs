//! Names of the metrics that are recorded where they happen. Histograms are in
//! seconds unless the name says otherwise.

/// Time of one group commit: write and `fdatasync`.
pub const JOURNAL_SYNC_SECONDS: &str = "hourglass_journal_sync_seconds";
/// Records in one group commit.
pub const JOURNAL_GROUP_RECORDS: &str = "hourglass_journal_group_records";
/// Time of one flush command, by outcome.
pub const FLUSH_SECONDS: &str = "hourglass_flush_seconds";
/// Buckets in one flush command.
pub const FLUSH_BUCKETS: &str = "hourglass_flush_buckets";
/// Readings of one bucket in one flush.
pub const FLUSH_READINGS: &str = "hourglass_flush_readings";
/// Buckets whose fence did not match, so that they were loaded.
pub const FLUSH_FENCED_TOTAL: &str = "hourglass_flush_fenced_total";
/// Flush commands that failed and are tried again.
pub const FLUSH_FAILURES_TOTAL: &str = "hourglass_flush_failures_total";
/// Buckets for which alone the store failed, each time it did.
pub const FLUSH_SET_ASIDE_TOTAL: &str = "hourglass_flush_set_aside_total";
/// Sensors whose newest readings were made anew from their buckets, because the
/// record was changed by somebody else or did not have them.
pub const RECENT_MADE_ANEW_TOTAL: &str = "hourglass_recent_made_anew_total";
/// Buckets that a query loaded with their readings because the buffer held
/// late data for them.
pub const QUERY_COLD_LOADS_TOTAL: &str = "hourglass_query_cold_loads_total";
/// Sensors not heard of for `registry.silent_after`.
pub const SENSORS_SILENT: &str = "hourglass_sensors_silent";
/// Deletions of readings that the store has done.
pub const DELETIONS_TOTAL: &str = "hourglass_deletions_total";
/// Readings that were deleted, in the store or before they came there.
pub const DELETED_READINGS_TOTAL: &str = "hourglass_deleted_readings_total";
/// Batches of sensors whose copy of their site was looked at and rewritten.
pub const REGISTRY_COPY_BATCHES_TOTAL: &str = "hourglass_registry_copy_batches_total";
/// Sites whose copies are being rewritten by the task.
pub const REGISTRY_SITES_REWRITING: &str = "hourglass_registry_sites_rewriting";
/// Requests with an idempotency key that were given the first answer again.
pub const IDEMPOTENT_REPLAYS_TOTAL: &str = "hourglass_idempotent_replays_total";
/// Idempotency keys forgotten before their time, because a bound was reached.
pub const IDEMPOTENCY_KEYS_FORGOTTEN_TOTAL: &str = "hourglass_idempotency_keys_forgotten_total";
/// Refused items that are not kept, for want of room in the queue or on disk.
pub const QUARANTINE_NOT_KEPT_TOTAL: &str = "hourglass_quarantine_not_kept_total";
/// Refused items kept on disk.
pub const QUARANTINE_ITEMS: &str = "hourglass_quarantine_items";
/// Bytes of the refused items kept on disk.
pub const QUARANTINE_BYTES: &str = "hourglass_quarantine_bytes";
/// Time to answer a request, by route, method and status.
pub const HTTP_REQUEST_SECONDS: &str = "hourglass_http_request_seconds";
/// Receipt minus the reading's own time, in seconds, of the oldest reading of
/// each batch.
pub const LATENESS_SECONDS: &str = "hourglass_reading_lateness_seconds";
/// Buckets that passed retention and were dropped, whole (`hours`) or their
/// readings (`readings`).
pub const RETENTION_DROPPED_BUCKETS_TOTAL: &str = "hourglass_retention_dropped_buckets_total";
/// Passes of retention, by outcome.
pub const RETENTION_PASSES_TOTAL: &str = "hourglass_retention_passes_total";
/// Time of one pass of retention.
pub const RETENTION_PASS_SECONDS: &str = "hourglass_retention_pass_seconds";
/// When the last pass of retention ended that left nothing out, in seconds since
/// 1970.
pub const RETENTION_LAST_SUCCESS_TIMESTAMP_SECONDS: &str =
    "hourglass_retention_last_success_timestamp_seconds";
