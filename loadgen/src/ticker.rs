//! Tells when each of many things is due, by times that were fixed in advance.
//!
//! A thread of its own: the runtime's timers are a millisecond coarse, and that
//! would be measured as latency.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

/// When things are due, counted from a beginning.
#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    dues: Vec<Duration>,
}

impl Schedule {
    /// Of batches with so many readings each, at `rate` readings a second (above
    /// 0): each is due when all before it have taken their time.
    pub(crate) fn new(readings: impl IntoIterator<Item = u64>, rate: f64) -> Self {
        let mut before = 0;
        let dues = readings.into_iter().map(|readings| {
            let seconds = before as f64 / rate;
            before += readings;
            Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
        });
        Self {
            dues: dues.collect(),
        }
    }

    /// When one is due; the last of all beyond them.
    pub(crate) fn due(&self, place: usize) -> Duration {
        let last = self.dues.last().copied().unwrap_or_default();
        self.dues.get(place).copied().unwrap_or(last)
    }
}

/// One signal for each thing that is due, in order.
#[derive(Debug)]
pub(crate) struct Ticker {
    signals: UnboundedReceiver<()>,
    thread: JoinHandle<()>,
    /// Dropping it ends the thread.
    _stop: Sender<()>,
}

impl Ticker {
    /// Signals what is due before `deadline`, then ends.
    pub(crate) fn start(schedule: Schedule, begun: Instant, deadline: Instant) -> Self {
        let (stop, stopped) = channel();
        let (sender, signals) = unbounded_channel();
        let limit = deadline.saturating_duration_since(begun);
        let tick = move || tick(&schedule, begun, limit, &stopped, &sender);
        Self {
            signals,
            thread: tokio::task::spawn_blocking(tick),
            _stop: stop,
        }
    }

    /// Waits for the next signal; none where nothing more comes.
    pub(crate) async fn next(&mut self) -> Option<()> {
        self.signals.recv().await
    }

    /// Waits for the end of the thread.
    pub(crate) async fn join(self) {
        let Self { thread, _stop, .. } = self;
        drop(_stop);
        if let Err(error) = thread.await
            && error.is_panic()
        {
            std::panic::resume_unwind(error.into_panic());
        }
    }
}

fn tick(
    schedule: &Schedule,
    begun: Instant,
    limit: Duration,
    stopped: &Receiver<()>,
    signals: &UnboundedSender<()>,
) {
    for due in schedule.dues.iter().take_while(|due| **due < limit) {
        while let Some(wait) = due.checked_sub(begun.elapsed()) {
            if wait.is_zero() {
                break;
            }
            match stopped.recv_timeout(wait) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
            }
        }
        if signals.send(()).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_due_when_all_before_it_have_taken_their_time() {
        let schedule = Schedule::new([100, 100, 50, 100], 1000.0);
        let dues: Vec<u128> = (0..5).map(|n| schedule.due(n).as_millis()).collect();
        assert_eq!(dues, [0, 100, 200, 250, 250]);
    }

    #[tokio::test]
    async fn there_is_a_signal_for_all_that_is_due_before_the_deadline() {
        let schedule = Schedule::new(vec![1; 100], 1e9);
        let begun = Instant::now();
        let deadline = begun + Duration::from_nanos(40);
        let mut ticker = Ticker::start(schedule, begun, deadline);
        let mut signals = 0;
        while ticker.next().await.is_some() {
            signals += 1;
        }
        assert_eq!(signals, 40);
        ticker.join().await;
    }

    #[tokio::test]
    async fn a_ticker_that_nobody_needs_ends_at_once() {
        let schedule = Schedule::new([1, 1], 1e-6);
        let begun = Instant::now();
        let hour = Duration::from_secs(3600);
        let mut ticker = Ticker::start(schedule, begun, begun + hour * 1000);
        assert_eq!(ticker.next().await, Some(()));
        ticker.join().await;
    }
}
