//! How the store is, by two that see it from different sides.
//!
//! The flusher knows whether it takes what is to be written, the watch whether
//! it answers at all. It is up where both say so: one that answers may take no
//! writes (its disk is full, it has no majority), and one that is silent is
//! found so long before a write to it has failed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use crate::clock::Clock;
use crate::model::Micros;
use crate::store::{Store, StoreError};

/// How the store is.
pub struct StoreHealth {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    answers: AtomicU64,
    answers_again: Notify,
    in_flight: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    /// What the last call of the flusher found.
    writes_fail: bool,
    /// What the watch found.
    is_silent: bool,
    down_since: Option<Since>,
}

/// A moment, by wall time and by time that never steps.
#[derive(Debug, Clone, Copy)]
struct Since {
    at: Micros,
    elapsed: Duration,
}

impl StoreHealth {
    /// Of a store that is thought to be up until somebody says otherwise.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            state: Mutex::default(),
            answers: AtomicU64::new(0),
            answers_again: Notify::new(),
            in_flight: AtomicU64::new(0),
        }
    }

    /// Whether it answers and takes what is written.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.down_since().is_none()
    }

    /// Whether it answers; it may take no writes.
    #[must_use]
    pub fn is_answering(&self) -> bool {
        !self.lock().is_silent
    }

    /// When it was found to be down; `None` while it is up.
    #[must_use]
    pub fn down_since(&self) -> Option<Micros> {
        self.lock().down_since.map(|since| since.at)
    }

    /// For how long it has been down, whatever the wall clock did; 0 while it is
    /// up.
    #[must_use]
    pub fn down_for(&self) -> Duration {
        let since = self.lock().down_since;
        since.map_or(Duration::ZERO, |since| {
            self.clock.elapsed().saturating_sub(since.elapsed)
        })
    }

    /// Answers there were so far, of whatever call was told here.
    #[must_use]
    pub fn answers(&self) -> u64 {
        self.answers.load(Ordering::Relaxed)
    }

    /// Resolves when a store that was silent answers.
    pub fn answers_again(&self) -> Notified<'_> {
        self.answers_again.notified()
    }

    /// Flushes under way.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.in_flight.load(Ordering::Relaxed)
    }

    pub(super) fn set_in_flight(&self, rounds: u64) {
        self.in_flight.store(rounds, Ordering::Relaxed);
    }

    /// Notes that a call of the flusher succeeded.
    pub fn succeeded(&self, store: &dyn Store) {
        self.note_answer(store, |state| state.writes_fail = false);
    }

    /// Notes that a call of the flusher failed, and says so the first time.
    pub fn failed(&self, error: &StoreError) {
        let mut state = self.lock();
        if !std::mem::replace(&mut state.writes_fail, true) {
            tracing::warn!(%error, "the store does not take readings; they stay in the journal and it is tried again");
        }
        self.settle(&mut state);
    }

    /// Notes that the watch was answered.
    pub fn answered(&self, store: &dyn Store) {
        self.note_answer(store, |_| ());
    }

    /// Notes that the watch was not answered, or badly, and says so the first time.
    pub fn unanswered(&self, why: &dyn std::fmt::Display) {
        let mut state = self.lock();
        if !std::mem::replace(&mut state.is_silent, true) {
            tracing::warn!(error = %why, "the store counts as down: it does not answer as it should");
        }
        self.settle(&mut state);
    }

    /// Notes that some other call was answered. It ends no outage: a store may answer
    /// questions and not be well.
    pub fn heard(&self) {
        self.answers.fetch_add(1, Ordering::Relaxed);
    }

    fn note_answer(&self, store: &dyn Store, change: impl FnOnce(&mut State)) {
        self.heard();
        let mut state = self.lock();
        change(&mut state);
        let was_silent = std::mem::take(&mut state.is_silent);
        let was_down = state.down_since.is_some();
        self.settle(&mut state);
        if was_down && state.down_since.is_none() {
            tracing::info!(store = store.name(), "the store answers again");
        }
        drop(state);
        if was_silent {
            self.answers_again.notify_waiters();
        }
    }

    fn settle(&self, state: &mut State) {
        let is_down = state.writes_fail || state.is_silent;
        state.down_since = match (is_down, state.down_since) {
            (false, _) => None,
            (true, Some(since)) => Some(since),
            (true, None) => Some(Since {
                at: self.clock.now(),
                elapsed: self.clock.elapsed(),
            }),
        };
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for StoreHealth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoreHealth")
            .field("state", &*self.lock())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;
    use crate::store::embedded::{EmbeddedSettings, EmbeddedStore};

    fn now() -> Micros {
        Micros::new(1_777_629_600_000_000).unwrap()
    }

    fn away() -> StoreError {
        StoreError::Unavailable {
            store: "embedded",
            reason: "away".to_owned(),
        }
    }

    #[test]
    fn it_is_up_where_both_say_so() {
        let dir = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(dir.path(), EmbeddedSettings::default()).unwrap();
        let health = StoreHealth::new(Arc::new(ManualClock::new(now())));
        health.failed(&away());
        // It answers, and takes no writes.
        health.answered(&store);
        assert!(!health.is_up() && health.is_answering());
        health.unanswered(&"nothing");
        assert!(!health.is_up() && !health.is_answering());
        health.answered(&store);
        assert!(!health.is_up());
        health.succeeded(&store);
        assert!(health.is_up());
        // A write that went through is an answer too.
        health.unanswered(&"nothing");
        health.succeeded(&store);
        assert!(health.is_up() && health.is_answering());
    }

    #[test]
    fn it_is_down_since_it_was_first_found_so() {
        let dir = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(dir.path(), EmbeddedSettings::default()).unwrap();
        let clock = Arc::new(ManualClock::new(now()));
        let health = StoreHealth::new(Arc::clone(&clock) as _);
        assert_eq!(
            (health.down_since(), health.down_for()),
            (None, Duration::ZERO)
        );
        health.unanswered(&"nothing");
        clock.advance(Duration::from_secs(30));
        health.failed(&away());
        clock.step(-3_600_000_000);
        assert_eq!(health.down_since(), Some(now()));
        assert_eq!(health.down_for(), Duration::from_secs(30));
        health.succeeded(&store);
        assert_eq!(
            (health.down_since(), health.down_for()),
            (None, Duration::ZERO)
        );
    }
}
