//! `[quarantine]`: refused items, kept on disk.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::bounds::{Bounds, GIB, MIB, secs};
use super::value::{ByteCount, Span, write_bytes, write_span};

/// Refused items, kept on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct QuarantineSettings {
    /// Most items, 0 to 10,000,000; with 0 none is kept.
    pub items_max: u64,
    /// Bytes on disk, 1 MiB to 1 GiB.
    #[serde(serialize_with = "write_bytes")]
    pub bytes_max: u64,
    /// How long an item is kept, from its receipt, 1 s to 10 years.
    #[serde(serialize_with = "write_span")]
    pub age_max: Duration,
}

impl Default for QuarantineSettings {
    fn default() -> Self {
        Self {
            items_max: 100_000,
            bytes_max: 64 << 20,
            age_max: secs(7 * 86_400),
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
            items_max: bounds.count("quarantine.items_max", self.items_max, 0..=10_000_000),
            bytes_max: bounds.bytes("quarantine.bytes_max", self.bytes_max, MIB..=GIB),
            age_max: bounds.span(
                "quarantine.age_max",
                self.age_max,
                secs(1)..=secs(3650 * 86_400),
            ),
        }
    }
}
