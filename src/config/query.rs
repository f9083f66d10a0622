//! `[query]`: how much one question may ask for, and how long it waits.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::bounds::{Bounds, ms, secs};
use super::value::{Span, write_span};

/// How much one question may ask for, and how long it waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct QuerySettings {
    /// Sensors in one request for many, 1 to 100,000.
    pub sensors_max: usize,
    /// Hours (sensors x hours of the range) that an hourly answer for many
    /// sensors may span, 1 to 100,000,000.
    pub hours_max: u64,
    /// Readings in a JSON answer when the request says no `limit`, 1 to 1,000,000.
    pub limit_default: usize,
    /// How long a question waits for one answer of the store, of a stream for each
    /// bucket, from 100 ms to 10 min. Then the buffer answers alone.
    #[serde(serialize_with = "write_span")]
    pub store_timeout: Duration,
}

impl Default for QuerySettings {
    fn default() -> Self {
        Self {
            sensors_max: 1000,
            hours_max: 1_000_000,
            limit_default: 10_000,
            store_timeout: secs(5),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawQuery {
    sensors_max: i64,
    hours_max: i64,
    limit_default: i64,
    store_timeout: Span,
}

impl RawQuery {
    pub(super) fn check(self, bounds: &mut Bounds<'_>) -> QuerySettings {
        QuerySettings {
            sensors_max: bounds.count("query.sensors_max", self.sensors_max, 1..=100_000),
            hours_max: bounds.count("query.hours_max", self.hours_max, 1..=100_000_000),
            limit_default: bounds.count("query.limit_default", self.limit_default, 1..=1_000_000),
            store_timeout: bounds.span(
                "query.store_timeout",
                self.store_timeout,
                ms(100)..=secs(600),
            ),
        }
    }
}
