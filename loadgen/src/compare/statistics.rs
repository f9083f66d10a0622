//! Order statistics of a few repeats and of many latencies.

use std::time::Duration;

use serde::Serialize;

/// A figure over the rounds of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// The smallest.
    pub min: f64,
    /// The middle one; of an even number the mean of the two in the middle.
    pub median: f64,
    /// The largest.
    pub max: f64,
}

impl Spread {
    /// Of values; none where there are none. Values that are no numbers count
    /// as the largest.
    #[must_use]
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let upper = *sorted.get(sorted.len() / 2)?;
        let lower = *sorted.get((sorted.len() - 1) / 2)?;
        Some(Self {
            min,
            median: f64::midpoint(lower, upper),
            max,
        })
    }
}

/// Latencies of requests of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Latencies {
    /// How many there were. With fewer than 100, `p99_ms` is the slowest.
    pub requests: usize,
    /// Half took no longer, milliseconds.
    pub p50_ms: f64,
    /// 99 of 100 took no longer, milliseconds.
    pub p99_ms: f64,
}

impl Latencies {
    /// Of measurements; none where there are none.
    #[must_use]
    pub fn of(mut took: Vec<Duration>) -> Option<Self> {
        took.sort_unstable();
        Some(Self {
            requests: took.len(),
            p50_ms: millis(nearest_rank(&took, 50)?),
            p99_ms: millis(nearest_rank(&took, 99)?),
        })
    }
}

/// The smallest value that at least so many percent do not exceed.
fn nearest_rank(sorted: &[Duration], percent: usize) -> Option<Duration> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_smallest_middle_and_largest() {
        let odd = Spread::of([3.0, 1.0, 2.0]).unwrap();
        assert_eq!((odd.min, odd.median, odd.max), (1.0, 2.0, 3.0));
        let even = Spread::of([4.0, 1.0, 2.0, 3.0]).unwrap();
        assert_eq!((even.min, even.median, even.max), (1.0, 2.5, 4.0));
        assert_eq!(Spread::of([]), None);
    }

    #[test]
    fn percentiles_are_measured_values() {
        let took = (1..=200).rev().map(Duration::from_millis).collect();
        let latencies = Latencies::of(took).unwrap();
        assert_eq!((latencies.p50_ms, latencies.p99_ms), (100.0, 198.0));
        let one = Latencies::of(vec![Duration::from_millis(7)]).unwrap();
        assert_eq!((one.p50_ms, one.p99_ms), (7.0, 7.0));
        assert_eq!(Latencies::of(Vec::new()), None);
    }
}
