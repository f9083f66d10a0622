//! `[registry]`: what is known of sensors and sites.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::bounds::{Bounds, secs};
use super::value::{Span, write_span};

/// What is known of sensors and sites.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RegistrySettings {
    /// Sensors of one batch when the copies of a site are rewritten, 1 to 10,000.
    pub copies_batch: usize,
    /// How long a sensor is not heard of before the metric counts it as silent,
    /// from 1 s to 365 days.
    #[serde(serialize_with = "write_span")]
    pub silent_after: Duration,
}

impl Default for RegistrySettings {
    fn default() -> Self {
        Self {
            copies_batch: 1000,
            silent_after: secs(900),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRegistry {
    copies_batch: i64,
    silent_after: Span,
}

impl RawRegistry {
    pub(super) fn check(self, bounds: &mut Bounds<'_>) -> RegistrySettings {
        let year = secs(365 * 86_400);
        RegistrySettings {
            copies_batch: bounds.count("registry.copies_batch", self.copies_batch, 1..=10_000),
            silent_after: bounds.span("registry.silent_after", self.silent_after, secs(1)..=year),
        }
    }
}
