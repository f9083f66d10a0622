//! `[quarantine]`: refused items, kept for inspection.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::bounds::{Bounds, GIB, MIB, secs};
use super::value::{ByteCount, Span, write_bytes, write_span};

/// How many refused items are kept, and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct QuarantineSettings {
    /// Items, 0 to 100,000,000; with 0 none are kept.
    pub items_max: u64,
    /// Bytes on disk, 1 MiB to 64 GiB.
    #[serde(serialize_with = "write_bytes")]
    pub bytes_max: u64,
    /// Age, a second to ten years.
    #[serde(serialize_with = "write_span")]
    pub age_max: Duration,
}

const DAY: u64 = 86_400;

impl Default for QuarantineSettings {
    fn default() -> Self {
        Self {
            items_max: 100_000,
            bytes_max: 64 << 20,
            age_max: secs(30 * DAY),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawQuarantine {
    items_max: i64,
    bytes_max: ByteCount,
    age_max: Span,
}

impl RawQuarantine {
    pub(super) fn check(self, bounds: &mut Bounds<'_>) -> QuarantineSettings {
        QuarantineSettings {
            items_max: bounds.count("quarantine.items_max", self.items_max, 0..=100_000_000),
            bytes_max: bounds.bytes("quarantine.bytes_max", self.bytes_max, MIB..=64 * GIB),
            age_max: bounds.span(
                "quarantine.age_max",
                self.age_max,
                secs(1)..=secs(3650 * DAY),
            ),
        }
    }
}
