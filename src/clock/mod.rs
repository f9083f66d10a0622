//! Time as a seam: the system's clock, or one that a test moves by hand.

use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::model::Micros;

/// Where "now" comes from.
pub trait Clock: Send + Sync + 'static {
    /// Wall time. May step, also back.
    fn now(&self) -> Micros;
    /// Time since some fixed moment; never steps back.
    fn elapsed(&self) -> Duration;
}

/// The system's clocks.
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        Self {
            start: Instant::now(),
        }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Micros {
        let micros = match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_micros()).unwrap_or(i64::MAX),
            Err(before) => i64::try_from(before.duration().as_micros()).map_or(i64::MIN, |m| -m),
        };
        Micros::MIN.saturating_add(micros.saturating_sub(Micros::MIN.get()))
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}

/// A clock that stands still until it is moved.
#[derive(Debug)]
pub struct ManualClock {
    state: Mutex<(Micros, Duration)>,
}

impl ManualClock {
    /// A clock that stands at `now`.
    #[must_use]
    pub fn new(now: Micros) -> Self {
        Self {
            state: Mutex::new((now, Duration::ZERO)),
        }
    }

    /// Moves both wall time and elapsed time forward.
    pub fn advance(&self, by: Duration) {
        let mut state = self.lock();
        state.0 = state.0.later_by(by);
        state.1 = state.1.saturating_add(by);
    }

    /// Steps wall time alone, by `micros` to either side.
    pub fn step(&self, micros: i64) {
        let mut state = self.lock();
        state.0 = state.0.saturating_add(micros);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, (Micros, Duration)> {
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Micros {
        self.lock().0
    }

    fn elapsed(&self) -> Duration {
        self.lock().1
    }
}

/// Receipt stamps of one process: each at least 1 us after the last, so that
/// two readings without a time of their own never collide, whatever the wall
/// clock does.
#[derive(Debug, Default)]
pub struct ReceiptStamps {
    last: AtomicI64,
}

impl ReceiptStamps {
    /// The next stamp: `now`, or 1 us after the last stamp if that is later.
    pub fn next(&self, now: Micros) -> Micros {
        let mut stamp = now.get();
        let update = |last: i64| {
            stamp = now.get().max(last.saturating_add(1));
            Some(stamp)
        };
        // The closure always answers Some, so there is no failure to handle.
        if let Err(last) = self
            .last
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, update)
        {
            stamp = last;
        }
        Micros::new(stamp).unwrap_or(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C24: stamps never collide, even when the wall clock steps back.
    #[test]
    fn c24_stamps_rise_though_the_clock_steps_back() {
        let stamps = ReceiptStamps::default();
        let at = |micros| Micros::new(micros).unwrap();
        assert_eq!(stamps.next(at(100)), at(100));
        assert_eq!(stamps.next(at(100)), at(101));
        assert_eq!(stamps.next(at(50)), at(102));
        assert_eq!(stamps.next(at(500)), at(500));
    }

    #[test]
    fn a_manual_clock_moves_only_by_hand() {
        let clock = ManualClock::new(Micros::new(5).unwrap());
        assert_eq!(clock.now().get(), 5);
        clock.advance(Duration::from_micros(7));
        assert_eq!(clock.now().get(), 12);
        clock.step(-10);
        assert_eq!(clock.now().get(), 2);
        assert_eq!(clock.elapsed(), Duration::from_micros(7));
    }
}
