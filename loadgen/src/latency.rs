//! Latencies: histograms of microseconds, and what a report says of them.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

/// The longest latency told apart, microseconds: a batch that was due at once and
/// got its answer after the longest run, and one answer more.
const MICROS_MAX: u64 = 200_000_000;
/// Significant decimals: percentiles are within 0.1 %.
const DIGITS: u8 = 3;

/// A histogram of microseconds, empty.
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, MICROS_MAX, DIGITS)
        .expect("1 to 200,000,000 with 3 digits is a histogram")
}

/// Records how long something took.
pub(crate) fn record(histogram: &mut Histogram<u64>, took: Duration) {
    let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
    histogram.saturating_record(micros.max(1));
}

/// Milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Latency {
    /// Half are faster.
    pub p50: f64,
    /// 90 of 100 are faster.
    pub p90: f64,
    /// 99 of 100 are faster.
    pub p99: f64,
    /// 999 of 1,000 are faster.
    pub p99_9: f64,
    /// The slowest.
    pub max: f64,
}

impl Latency {
    /// Of a histogram of microseconds; none where nothing was recorded.
    #[must_use]
    pub fn of(histogram: &Histogram<u64>) -> Option<Self> {
        let quantile = |q| histogram.value_at_quantile(q) as f64 / 1000.0;
        (!histogram.is_empty()).then(|| Self {
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p99_9: quantile(0.999),
            max: histogram.max() as f64 / 1000.0,
        })
    }
}

impl std::fmt::Display for Latency {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            p50,
            p90,
            p99,
            p99_9,
            max,
        } = self;
        write!(
            f,
            "p50 {p50:.2} ms, p90 {p90:.2} ms, p99 {p99:.2} ms, p99.9 {p99_9:.2} ms, max {max:.2} ms"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_what_was_recorded() {
        let mut all = histogram();
        assert_eq!(Latency::of(&all), None);
        for millis in 1..=1000 {
            record(&mut all, Duration::from_millis(millis));
        }
        let latency = Latency::of(&all).unwrap();
        for (got, wanted) in [
            (latency.p50, 500.0),
            (latency.p90, 900.0),
            (latency.p99, 990.0),
            (latency.p99_9, 999.0),
            (latency.max, 1000.0),
        ] {
            assert!((got - wanted).abs() <= wanted / 1000.0, "{got} {wanted}");
        }
    }
}
