//! `[flush]`: which buckets go to the store, and when.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::bounds::{Bounds, KIB, MIB, ms, secs};
use super::value::{ByteCount, Span, show_span, write_bytes, write_span};

/// Which buckets go to the store, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FlushSettings {
    /// Age of the oldest pending reading of a bucket at which it is due, from
    /// 100 ms to 24 h.
    #[serde(serialize_with = "write_span")]
    pub age_max: Duration,
    /// Pending readings of one bucket at which it is due, 1 to 1,000,000.
    pub readings_max: usize,
    /// Buckets in one command, 1 to 100,000 (the most that MongoDB takes).
    pub batch_buckets_max: usize,
    /// Bytes of one command as documents, 64 KiB to 48 MiB; at least one bucket
    /// goes. Memory takes about six times as much while it is under way.
    #[serde(serialize_with = "write_bytes")]
    pub batch_bytes_max: usize,
    /// Commands under way at once, 1 to 64.
    pub in_flight_max: usize,
    /// First pause after a failure, from 1 ms to 1 h.
    #[serde(serialize_with = "write_span")]
    pub retry_min: Duration,
    /// Longest pause after failures, from `retry_min` to 1 h.
    #[serde(serialize_with = "write_span")]
    pub retry_max: Duration,
}

impl Default for FlushSettings {
    fn default() -> Self {
        Self {
            age_max: secs(60),
            readings_max: 3600,
            batch_buckets_max: 1000,
            batch_bytes_max: 4 << 20,
            in_flight_max: 2,
            retry_min: ms(100),
            retry_max: secs(10),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFlush {
    age_max: Span,
    readings_max: i64,
    batch_buckets_max: i64,
    batch_bytes_max: ByteCount,
    in_flight_max: i64,
    retry_min: Span,
    retry_max: Span,
}

impl RawFlush {
    pub(super) fn check(self, bounds: &mut Bounds<'_>) -> FlushSettings {
        let pause = ms(1)..=secs(3600);
        let settings = FlushSettings {
            age_max: bounds.span("flush.age_max", self.age_max, ms(100)..=secs(86_400)),
            readings_max: bounds.count("flush.readings_max", self.readings_max, 1..=1_000_000),
            batch_buckets_max: bounds.count(
                "flush.batch_buckets_max",
                self.batch_buckets_max,
                1..=100_000,
            ),
            batch_bytes_max: bounds.bytes(
                "flush.batch_bytes_max",
                self.batch_bytes_max,
                64 * KIB..=48 * MIB,
            ),
            in_flight_max: bounds.count("flush.in_flight_max", self.in_flight_max, 1..=64),
            retry_min: bounds.span("flush.retry_min", self.retry_min, pause.clone()),
            retry_max: bounds.span("flush.retry_max", self.retry_max, pause),
        };
        if settings.retry_max < settings.retry_min {
            bounds.refuse(
                "flush.retry_max",
                show_span(settings.retry_max),
                format_args!(
                    "at least flush.retry_min ({})",
                    show_span(settings.retry_min)
                ),
            );
        }
        settings
    }
}
