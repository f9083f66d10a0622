//! `[ingest]`: which readings are taken. `[data]`: where the process keeps its
//! files.

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::bounds::{Bounds, MIB, TIB, secs};
use super::value::{ByteCount, Span, write_bytes, write_span, write_text};
use crate::model::Micros;

/// Which readings are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct IngestSettings {
    /// Earliest instant of a reading: clocks not yet set and uptimes sent as
    /// times fall below it.
    #[serde(serialize_with = "write_text")]
    pub min_time: Micros,
    /// How far ahead of the time of receipt a reading may be, up to 365 days.
    #[serde(serialize_with = "write_span")]
    pub max_future: Duration,
    /// Most distinct sensors, 1 to 1,000,000,000; new ones beyond are refused.
    pub sensors_max: usize,
    /// Most idempotency keys remembered, 1 to 100,000,000; then the oldest is
    /// forgotten.
    pub idempotency_keys_max: usize,
    /// Bytes of them and their answers in memory, 1 MiB to 1 TiB; then too.
    #[serde(serialize_with = "write_bytes")]
    pub idempotency_bytes_max: usize,
    /// How long a key is remembered, 1 s to 30 days.
    #[serde(serialize_with = "write_span")]
    pub idempotency_age_max: Duration,
}

impl Default for IngestSettings {
    fn default() -> Self {
        Self {
            // 2000-01-01T00:00:00Z
            min_time: Micros::new(946_684_800_000_000)
                .expect("the year 2000 lies in the range of the type"),
            max_future: secs(300),
            sensors_max: 1_000_000,
            idempotency_keys_max: 100_000,
            idempotency_bytes_max: 64 << 20,
            idempotency_age_max: secs(86_400),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawIngest {
    min_time: String,
    max_future: Span,
    sensors_max: i64,
    idempotency_keys_max: i64,
    idempotency_bytes_max: ByteCount,
    idempotency_age_max: Span,
}

impl RawIngest {
    pub(super) fn check(self, bounds: &mut Bounds<'_>) -> IngestSettings {
        let parsed = self.min_time.parse::<Timestamp>().ok();
        let min_time = parsed.and_then(|time| Micros::new(time.as_microsecond()).ok());
        let min_time = min_time.unwrap_or_else(|| {
            bounds.refuse_text(
                "ingest.min_time",
                &self.min_time,
                "a time such as 2000-01-01T00:00:00Z, in the years 0001 to 9999",
            );
            Micros::MIN
        });
        IngestSettings {
            min_time,
            max_future: bounds.span(
                "ingest.max_future",
                self.max_future,
                secs(0)..=secs(365 * 86_400),
            ),
            sensors_max: bounds.count("ingest.sensors_max", self.sensors_max, 1..=1_000_000_000),
            idempotency_keys_max: bounds.count(
                "ingest.idempotency_keys_max",
                self.idempotency_keys_max,
                1..=100_000_000,
            ),
            idempotency_bytes_max: bounds.bytes(
                "ingest.idempotency_bytes_max",
                self.idempotency_bytes_max,
                MIB..=TIB,
            ),
            idempotency_age_max: bounds.span(
                "ingest.idempotency_age_max",
                self.idempotency_age_max,
                secs(1)..=secs(30 * 86_400),
            ),
        }
    }
}

/// Where the process keeps its files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DataSettings {
    /// The data directory, of one process at a time: the journal and the
    /// embedded store. A relative path is relative to the working
    /// directory.
    pub dir: PathBuf,
}

impl Default for DataSettings {
    fn default() -> Self {
        Self {
            dir: PathBuf::from("data"),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawData {
    dir: String,
}

impl RawData {
    pub(super) fn check(self, bounds: &mut Bounds<'_>) -> DataSettings {
        if self.dir.trim().is_empty() {
            bounds.refuse_text("data.dir", &self.dir, "the path of a directory");
        }
        DataSettings {
            dir: PathBuf::from(self.dir),
        }
    }
}
