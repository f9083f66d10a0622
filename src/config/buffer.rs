//! `[buffer]`: what the store does not hold yet, in memory.

use serde::{Deserialize, Serialize};

use super::bounds::{Bounds, MIB, TIB};
use super::value::{ByteCount, write_bytes};

/// What the store does not hold yet, in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BufferSettings {
    /// Bytes at which the applier waits, 1 MiB to 1 TiB.
    #[serde(serialize_with = "write_bytes")]
    pub bytes_max: usize,
    /// Newest refused conflicts kept for inspection, 0 to 1,000,000.
    pub conflicts_kept: usize,
    /// Newest readings of a sensor that its record in the store keeps, 1 to 1,000.
    pub recent_readings: usize,
}

impl Default for BufferSettings {
    fn default() -> Self {
        Self {
            bytes_max: 512 << 20,
            conflicts_kept: 256,
            recent_readings: 20,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawBuffer {
    bytes_max: ByteCount,
    conflicts_kept: i64,
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
            recent_readings: bounds.count(
                "buffer.recent_readings",
                self.recent_readings,
                1..=1_000,
            ),
        }
    }
}
