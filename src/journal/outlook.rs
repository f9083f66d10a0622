//! How long the journal lasts: its net growth over the last minute, and when it
//! meets its bound if that goes on.

use std::collections::VecDeque;
use std::time::Duration;

/// Growth is measured over this long: past a burst, and a store that went away
/// shows within it.
const WINDOW: Duration = Duration::from_secs(60);

/// Between two samples at least.
const SAMPLE_EVERY: Duration = Duration::from_secs(1);

/// Bytes in use, sampled.
#[derive(Debug, Clone, Default)]
pub struct Outlook {
    samples: VecDeque<(Duration, u64)>,
}

impl Outlook {
    /// Notes that `used` bytes are in use at `elapsed`, which never goes back.
    pub fn note(&mut self, elapsed: Duration, used: u64) {
        let is_due = |(last, _): &(Duration, u64)| elapsed >= *last + SAMPLE_EVERY;
        if !self.samples.back().is_none_or(is_due) {
            return;
        }
        self.samples.push_back((elapsed, used));
        while self
            .samples
            .get(1)
            .is_some_and(|(at, _)| *at + WINDOW <= elapsed)
        {
            self.samples.pop_front();
        }
    }

    /// Net growth in bytes per second; below 0 while it empties, 0 where nothing
    /// is known yet.
    #[must_use]
    pub fn growth(&self) -> f64 {
        let (Some((began, before)), Some((ended, after))) =
            (self.samples.front(), self.samples.back())
        else {
            return 0.0;
        };
        let seconds = ended.saturating_sub(*began).as_secs_f64();
        if seconds == 0.0 {
            return 0.0;
        }
        (*after as f64 - *before as f64) / seconds
    }

    /// Seconds until `used` bytes have become `bytes_max`; `None` while they do
    /// not grow.
    #[must_use]
    pub fn full_in(&self, used: u64, bytes_max: u64) -> Option<f64> {
        let growth = self.growth();
        (growth > 0.0).then(|| bytes_max.saturating_sub(used) as f64 / growth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(samples: &[(u64, u64)]) -> Outlook {
        let mut outlook = Outlook::default();
        for (seconds, used) in samples {
            outlook.note(Duration::from_secs(*seconds), *used);
        }
        outlook
    }

    #[test]
    fn steady_growth_says_when_the_bound_is_met() {
        let outlook = at(&[(0, 1000), (10, 2000), (20, 3000)]);
        assert_eq!(outlook.growth(), 100.0);
        assert_eq!(outlook.full_in(3000, 13_000), Some(100.0));
        assert_eq!(outlook.full_in(14_000, 13_000), Some(0.0));
    }

    #[test]
    fn what_does_not_grow_lasts() {
        assert_eq!(at(&[]).full_in(0, 100), None);
        assert_eq!(at(&[(0, 50)]).full_in(50, 100), None);
        assert_eq!(at(&[(0, 50), (5, 50)]).full_in(50, 100), None);
        let emptying = at(&[(0, 50), (5, 10)]);
        assert_eq!((emptying.growth(), emptying.full_in(10, 100)), (-8.0, None));
    }

    #[test]
    fn only_the_last_minute_counts_and_samples_are_few() {
        let mut outlook = Outlook::default();
        for millis in (0..600_000).step_by(100) {
            // Grows for five minutes, then stands still.
            let used = u64::min(millis, 300_000);
            outlook.note(Duration::from_millis(millis), used);
        }
        assert_eq!(outlook.growth(), 0.0);
        assert!(outlook.samples.len() <= 62, "{}", outlook.samples.len());
    }
}
