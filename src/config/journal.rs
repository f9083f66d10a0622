//! `[journal]`: the write-ahead log.

use serde::{Deserialize, Serialize};

use super::bounds::{Bounds, GIB, KIB, TIB};
use super::value::{ByteCount, show_bytes, write_bytes};

/// The write-ahead log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct JournalSettings {
    /// Size in bytes at which the next segment begins, 64 KiB to 4 GiB.
    #[serde(serialize_with = "write_bytes")]
    pub segment_bytes: u64,
    /// Bytes on disk at which senders are answered 503, at least two segments
    /// and at most 16 TiB.
    #[serde(serialize_with = "write_bytes")]
    pub bytes_max: u64,
    /// Bytes of durable batches kept in memory for the applier, 64 KiB to
    /// 64 GiB; when it lags further it reads them from disk.
    #[serde(serialize_with = "write_bytes")]
    pub queue_bytes_max: usize,
}

impl Default for JournalSettings {
    fn default() -> Self {
        Self {
            segment_bytes: 64 << 20,
            bytes_max: 4 << 30,
            queue_bytes_max: 64 << 20,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawJournal {
    segment_bytes: ByteCount,
    bytes_max: ByteCount,
    queue_bytes_max: ByteCount,
}

impl RawJournal {
    pub(super) fn check(self, bounds: &mut Bounds<'_>) -> JournalSettings {
        let settings = JournalSettings {
            segment_bytes: bounds.bytes(
                "journal.segment_bytes",
                self.segment_bytes,
                64 * KIB..=4 * GIB,
            ),
            bytes_max: bounds.bytes("journal.bytes_max", self.bytes_max, 128 * KIB..=16 * TIB),
            queue_bytes_max: bounds.bytes(
                "journal.queue_bytes_max",
                self.queue_bytes_max,
                64 * KIB..=64 * GIB,
            ),
        };
        // With a single segment nothing could ever be released while it is written.
        if settings.bytes_max != 0 && settings.bytes_max / 2 < settings.segment_bytes {
            bounds.refuse(
                "journal.bytes_max",
                show_bytes(self.bytes_max.0),
                format_args!(
                    "at least twice journal.segment_bytes ({})",
                    show_bytes(self.segment_bytes.0)
                ),
            );
        }
        settings
    }
}
