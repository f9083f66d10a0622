//! The task that decides when to flush what.

use std::sync::Arc;
use std::time::Duration;

use metrics::counter;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{Backoff, FlushRound, RoundTurn, StoreHealth};
use crate::apply::Progress;
use crate::buffer::{Buffer, DuePolicy, RetryPauses, RoundBounds};
use crate::clock::Clock;
use crate::config::FlushSettings;
use crate::idempotency::Keys;
use crate::journal::Journal;
use crate::metrics::names;
use crate::store::Store;

/// How often the flusher looks for buckets that came of age.
const TICK: Duration = Duration::from_millis(500);

/// Age at which readings of a closed hour are flushed. With 0 a backfill of
/// 656,000 readings/s was flushed 39 readings at a time; with 2 s it is
/// hundreds.
const CLOSED_AGE_MAX: Duration = Duration::from_secs(2);

/// The shortest pause of a stop that waits for buckets that were set aside.
const RETRY_PAUSE_MIN: Duration = Duration::from_millis(1);

/// A bucket that is wholly stored and that nobody touched for this long is
/// forgotten.
const FORGET_AFTER: Duration = Duration::from_secs(600);

/// Sensors that were only heard of are told to the store this many at once.
const TOUCHES_AT_ONCE: usize = 1000;

/// What the flusher works with.
#[derive(Clone)]
#[expect(missing_docs, reason = "each field is the part its type names")]
pub struct FlusherParts {
    pub buffer: Arc<Buffer>,
    pub store: Arc<dyn Store>,
    pub clock: Arc<dyn Clock>,
    pub progress: Arc<Progress>,
    pub journal: Journal,
    pub keys: Arc<Keys>,
    pub health: Arc<StoreHealth>,
}

impl std::fmt::Debug for FlusherParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FlusherParts").finish_non_exhaustive()
    }
}

/// The flusher.
#[derive(Debug)]
pub struct Flusher {
    parts: FlusherParts,
    settings: FlushSettings,
    workers: JoinSet<()>,
    /// Whether a round ended since the buffer was last looked over: before that
    /// there is nothing more to evict.
    has_flushed: bool,
}

impl Flusher {
    /// A flusher over `parts`.
    #[must_use]
    pub fn new(parts: FlusherParts, settings: FlushSettings) -> Self {
        Self {
            parts,
            settings,
            workers: JoinSet::new(),
            has_flushed: false,
        }
    }

    /// Runs until `stop`; then flushes everything, until nothing is left or
    /// `deadline` is cancelled.
    pub async fn run(mut self, stop: CancellationToken, deadline: CancellationToken) {
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while !stop.is_cancelled() {
            let buffer = Arc::clone(&self.parts.buffer);
            tokio::select! {
                () = stop.cancelled() => break,
                _ = tick.tick() => {
                    self.look_after_memory();
                    self.parts.journal.note_fill(self.parts.clock.elapsed());
                    // What is applied may all be stored already (duplicates):
                    // no round tells the journal so.
                    self.release().await;
                }
                () = buffer.wanted() => self.make_room(),
                Some(ended) = self.workers.join_next(), if !self.workers.is_empty() => {
                    self.after_round(ended).await;
                }
            }
            self.start_rounds(&deadline, false);
            if self.workers.is_empty() {
                self.tell_silent_sensors(&deadline);
            }
        }
        self.drain(&deadline).await;
    }

    /// Flushes everything until nothing is left or the deadline is over: what
    /// the applier has not moved in yet too, and what was set aside and may go
    /// in later.
    async fn drain(&mut self, deadline: &CancellationToken) {
        let parts = self.parts.clone();
        while !deadline.is_cancelled() {
            self.start_rounds(deadline, true);
            let retry = parts.buffer.next_retry();
            let is_behind = parts.progress.lag() > 0;
            // What waits for a deletion is flushed once it is done; one that the
            // store does not make is the next start's.
            let is_deleting = parts.buffer.open_deletions() > 0 && parts.health.is_up();
            if self.workers.is_empty()
                && !is_behind
                && !is_deleting
                && retry.is_none()
                && !self.tell_silent_sensors(deadline)
            {
                break;
            }
            let pause = retry.map_or(TICK, |at| {
                at.saturating_sub(parts.clock.elapsed())
                    .clamp(RETRY_PAUSE_MIN, TICK)
            });
            tokio::select! {
                () = deadline.cancelled() => {}
                Some(ended) = self.workers.join_next(), if !self.workers.is_empty() => {
                    self.after_round(ended).await;
                }
                () = parts.buffer.wanted() => self.make_room(),
                () = parts.progress.caught_up(), if is_behind => {}
                () = tokio::time::sleep(pause), if retry.is_some() => {}
            }
        }
        while let Some(ended) = self.workers.join_next().await {
            self.after_round(ended).await;
        }
        self.release().await;
    }

    fn look_after_memory(&mut self) {
        self.has_flushed = false;
        self.parts
            .buffer
            .evict(self.parts.clock.elapsed(), FORGET_AFTER);
    }

    /// The applier waits for memory, or soon will.
    fn make_room(&mut self) {
        if self.has_flushed {
            self.look_after_memory();
        }
    }

    /// Starts rounds while buckets are due and workers are free.
    fn start_rounds(&mut self, deadline: &CancellationToken, everything: bool) {
        let parts = &self.parts;
        while self.workers.len() < self.settings.in_flight_max {
            let policy = DuePolicy {
                hour: parts.clock.now().hour(),
                elapsed: parts.clock.elapsed(),
                closed_age_max: CLOSED_AGE_MAX.min(self.settings.age_max),
                age_max: self.settings.age_max,
                readings_max: self.settings.readings_max,
                release_below: self.release_below(),
                everything: everything || parts.buffer.is_pressed(),
            };
            let bounds = RoundBounds {
                buckets: self.settings.batch_buckets_max,
                bytes: self.settings.batch_bytes_max,
            };
            let leases = parts.buffer.lease(&policy, bounds);
            if leases.is_empty() {
                break;
            }
            let worker = run_round(
                FlushRound::new(leases).with_pauses(RetryPauses::from(&self.settings)),
                self.parts.clone(),
                Backoff::new(self.settings.retry_min, self.settings.retry_max),
                deadline.clone(),
            );
            self.workers.spawn(worker);
        }
        self.publish_in_flight();
    }

    /// Near the journal's bound, what pins its oldest segment goes first,
    /// however small.
    fn release_below(&self) -> Option<u64> {
        let space = self.parts.journal.space();
        (space.used() > space.bytes_max() / 2).then(|| self.parts.journal.oldest_segment_end())
    }

    async fn after_round(&mut self, ended: Result<(), tokio::task::JoinError>) {
        self.publish_in_flight();
        if let Err(error) = ended
            && error.is_panic()
        {
            std::panic::resume_unwind(error.into_panic());
        }
        self.has_flushed = true;
        if self.parts.buffer.is_pressed() {
            self.look_after_memory();
        }
        self.release().await;
    }

    fn publish_in_flight(&self) {
        self.parts.health.set_in_flight(self.workers.len() as u64);
    }

    /// Tells the journal what is confirmed.
    async fn release(&self) {
        let low_water = low_water(&self.parts.progress, &self.parts.buffer);
        self.parts
            .journal
            .release(self.parts.keys.hold(low_water))
            .await;
    }

    /// Starts a round for sensors that have something to be told and nothing to
    /// be written, where a worker is free; whether it did.
    fn tell_silent_sensors(&mut self, deadline: &CancellationToken) -> bool {
        let untold = self.parts.buffer.untold(TOUCHES_AT_ONCE);
        if untold.is_empty() || self.workers.len() >= self.settings.in_flight_max {
            return false;
        }
        let worker = run_round(
            FlushRound::telling(untold),
            self.parts.clone(),
            Backoff::new(self.settings.retry_min, self.settings.retry_max),
            deadline.clone(),
        );
        self.workers.spawn(worker);
        self.publish_in_flight();
        true
    }
}

/// Sequences below this are confirmed by the store.
#[must_use]
pub fn low_water(progress: &Progress, buffer: &Buffer) -> u64 {
    // In this order: what is applied in between is pinned before it counts as
    // applied.
    let applied = progress.applied_end();
    buffer
        .lowest_pinned()
        .map_or(applied, |pin| pin.min(applied))
}

async fn run_round(
    mut round: FlushRound,
    parts: FlusherParts,
    mut backoff: Backoff,
    deadline: CancellationToken,
) {
    loop {
        // A call that is given up is undecided, like one whose reply was lost:
        // the fence of the next start's write tells.
        let turn = tokio::select! {
            () = deadline.cancelled() => return,
            turn = round.turn(&parts.store, &parts.buffer, &*parts.clock) => turn,
        };
        if matches!(turn, RoundTurn::Refused(_) | RoundTurn::Failed(_)) {
            counter!(names::FLUSH_FAILURES_TOTAL).increment(1);
        }
        match turn {
            RoundTurn::More => {
                parts.health.succeeded(&*parts.store);
                backoff.reset();
            }
            RoundTurn::Refused(error) => tracing::debug!(%error, "a flush was refused"),
            RoundTurn::Done => return,
            RoundTurn::Failed(error) => {
                parts.health.failed(&error);
                tracing::debug!(%error, "a flush failed");
                tokio::select! {
                    () = deadline.cancelled() => return,
                    () = parts.health.answers_again() => {}
                    () = tokio::time::sleep(backoff.wait()) => {}
                }
            }
        }
    }
}
