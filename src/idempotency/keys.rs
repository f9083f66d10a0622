//! The keys, shared by whoever accepts, the journal and the saver.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use metrics::counter;
use tokio::sync::watch;

use super::IdempotencyKey;
use super::table::{Bounds, Moment, Place, Remembered, Table};
use crate::clock::Clock;
use crate::config::IngestSettings;
use crate::journal::record::DIGEST_BYTES;
use crate::journal::{KeyedAnswer, KeyedWatch};
use crate::metrics::names;
use crate::model::Micros;

/// The keys that are remembered, and those whose request is running.
pub struct Keys {
    state: Mutex<State>,
    clock: Arc<dyn Clock>,
    stopped: Condvar,
}

struct State {
    table: Table,
    /// Each resolves once the request has ended.
    running: HashMap<IdempotencyKey, watch::Receiver<()>>,
    is_stopping: bool,
}

/// What becomes of a request.
#[derive(Debug)]
pub enum Begin {
    /// It is the first of its key: it runs, others wait until the turn is
    /// dropped.
    First(Turn),
    /// Another one runs: wait for its end, then begin again.
    Running(Running),
    /// This was answered to it before.
    Known(Box<[u8]>),
    /// The key was used for something else.
    Reused,
}

/// The right to run the request of a key.
#[must_use = "others wait until it is dropped"]
pub struct Turn {
    keys: Arc<Keys>,
    key: IdempotencyKey,
    _ended: watch::Sender<()>,
}

/// A request that runs.
#[derive(Debug)]
pub struct Running(watch::Receiver<()>);

impl Running {
    /// Resolves once it has ended, well or not.
    pub async fn ended(mut self) {
        // Nothing is sent; the sender goes with the turn.
        while self.0.changed().await.is_ok() {}
    }
}

impl Keys {
    /// No keys yet; bounds by `settings`.
    #[must_use]
    pub fn new(settings: &IngestSettings, clock: Arc<dyn Clock>) -> Arc<Self> {
        let table = Table::new(Bounds {
            keys_max: settings.idempotency_keys_max,
            bytes_max: settings.idempotency_bytes_max,
            age_max: settings.idempotency_age_max,
        });
        Arc::new(Self {
            state: Mutex::new(State {
                table,
                running: HashMap::new(),
                is_stopping: false,
            }),
            clock,
            stopped: Condvar::new(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn moment(&self) -> Moment {
        Moment {
            now: self.clock.now(),
            elapsed: self.clock.elapsed(),
        }
    }

    /// Asks what becomes of a request with `key` and `digest`.
    pub fn begin(self: &Arc<Self>, key: &IdempotencyKey, digest: &[u8; DIGEST_BYTES]) -> Begin {
        let elapsed = self.clock.elapsed();
        let mut state = self.lock();
        if let Some(running) = state.running.get(key) {
            return Begin::Running(Running(running.clone()));
        }
        if let Some(known) = state.table.get(key.as_str(), elapsed) {
            return if known.keyed.digest == *digest {
                Begin::Known(known.keyed.answer.clone())
            } else {
                Begin::Reused
            };
        }
        let (ended, running) = watch::channel(());
        state.running.insert(key.clone(), running);
        Begin::First(Turn {
            keys: Arc::clone(self),
            key: key.clone(),
            _ended: ended,
        })
    }

    /// Remembers an answer that is durable in record `seq` of the journal. To be
    /// called in order of sequence, and before the record counts as applied.
    pub fn note(&self, seq: u64, received_at: Micros, keyed: Box<KeyedAnswer>) {
        self.insert(Place::Journal(seq), received_at, keyed);
    }

    /// [`Keys::note`] for the journal to call.
    #[must_use]
    pub fn watch(self: &Arc<Self>) -> KeyedWatch {
        let keys = Arc::clone(self);
        Arc::new(move |seq, received_at, keyed| keys.note(seq, received_at, keyed))
    }

    pub(super) fn insert(&self, place: Place, received_at: Micros, keyed: Box<KeyedAnswer>) {
        let moment = self.moment();
        let forgotten = self.lock().table.insert(place, received_at, keyed, moment);
        if forgotten > 0 {
            counter!(names::IDEMPOTENCY_KEYS_FORGOTTEN_TOTAL).increment(forgotten);
        }
    }

    /// `low_water`, or less where the journal has keys that nothing else has.
    /// Ask after everything else that the mark depends on.
    #[must_use]
    pub fn hold(&self, low_water: u64) -> u64 {
        let unsaved = self.lock().table.lowest_unsaved();
        unsaved.map_or(low_water, |seq| seq.min(low_water))
    }

    /// Keys remembered.
    #[must_use]
    pub fn remembered(&self) -> usize {
        self.lock().table.len()
    }

    /// Keys remembered that only the journal has.
    #[must_use]
    pub fn unsaved(&self) -> usize {
        self.lock().table.unsaved().count()
    }

    /// The oldest of what only the journal has, `bytes_max` of them or one.
    pub(super) fn next_unsaved(&self, bytes_max: usize) -> Vec<Arc<Remembered>> {
        let elapsed = self.clock.elapsed();
        let mut state = self.lock();
        state.table.sweep(elapsed);
        let mut bytes = 0;
        let within = state.table.unsaved().take_while(|entry| {
            let fits = bytes == 0 || bytes + entry.keyed.bytes() <= bytes_max;
            bytes += entry.keyed.bytes();
            fits
        });
        within.cloned().collect()
    }

    /// The log of keys has everything up to `place`.
    pub(super) fn saved(&self, place: Place) {
        self.lock().table.saved(place);
    }

    /// The position of the first of `places` that is remembered.
    pub(super) fn first_remembered(
        &self,
        mut places: impl Iterator<Item = Place>,
    ) -> Option<usize> {
        let state = self.lock();
        places.position(|place| state.table.holds(place))
    }

    pub(super) fn stop(&self) {
        self.lock().is_stopping = true;
        self.stopped.notify_all();
    }

    /// Waits for `pause`, or until [`Keys::stop`]; whether that was called.
    pub(super) fn wait(&self, pause: Duration) -> bool {
        let state = self.lock();
        let waited = self
            .stopped
            .wait_timeout_while(state, pause, |state| !state.is_stopping);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.is_stopping
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // Before the sender goes: who wakes up then may begin.
        self.keys.lock().running.remove(&self.key);
    }
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keys").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Turn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Turn").field(&self.key).finish()
    }
}
