//! `[buffer]`: what the store does not hold yet, in memory.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::bounds::{Bounds, MIB, TIB, secs};
use super::value::{ByteCount, Span, write_bytes, write_span};

/// What the store does not hold yet, in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BufferSettings {
    /// Bytes at which the applier waits, 1 MiB to 1 TiB.
    #[serde(serialize_with = "write_bytes")]
    pub bytes_max: usize,
    /// Newest refused conflicts kept for inspection, 0 to 1,000,000.
    pub conflicts_kept: usize,
    /// How long each of them is, from its receipt, 1 s to 10 years.
    #[serde(serialize_with = "write_span")]
    pub conflicts_age_max: Duration,
    /// Newest readings of a sensor that its record in the store keeps, 1 to 1,000.
    pub recent_readings: usize,
}

impl Default for BufferSettings {
    fn default() -> Self {
        Self {
            bytes_max: 512 << 20,
            conflicts_kept: 256,
            conflicts_age_max: secs(30 * 86_400),
            recent_readings: 20,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawBuffer {
    bytes_max: ByteCount,
    conflicts_kept: i64,
    conflicts_age_max: Span,
    recent_readings: i64,
}

impl RawBuffer {
    pub(super) fn check(self, bounds: &mut Bounds<'_>) -> BufferSettings {
        BufferSettings {
            bytes_max: bounds.bytes("buffer.bytes_max", self.bytes_max, MIB..=TIB),
            conflicts_kept: bounds.count(
                "buffer.conflicts_kept",
                self.conflicts_kept,
                0..=1_000_000,
            ),
            conflicts_age_max: bounds.span(
                "buffer.conflicts_age_max",
                self.conflicts_age_max,
                secs(1)..=secs(3650 * 86_400),
            ),
            recent_readings: bounds.count(
                "buffer.recent_readings",
                self.recent_readings,
                1..=1_000,
            ),
        }
    }
}
