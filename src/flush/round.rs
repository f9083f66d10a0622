//! One round: many leased buckets until each is confirmed, re-based or set
//! aside.
//!
//! One bad bucket never blocks others. Where the store fails for some buckets
//! of a call, these are set aside (pending again, due after a pause of their
//! own) and the round goes on. Where it refuses a call as a whole, the call is
//! halved until the buckets that it is about are found.

use std::sync::Arc;
use std::time::Instant;

use metrics::{counter, histogram};

use super::narrow::{Narrowed, Refusals, has_next, next};
use super::tell::Telling;
use crate::buffer::{Buffer, Lease, RetryPauses};
use crate::clock::Clock;
use crate::config::FlushSettings;
use crate::metrics::names;
use crate::model::{BucketKey, SensorId};
use crate::store::{
    BucketVersion, BucketWrite, Expect, LOADS_AT_ONCE, Store, StoreError, StoredBucket,
    WriteOutcome,
};

/// Buckets set aside by one round that the log names.
const NAMED_MAX: u32 = 5;

/// The state of a round. Every turn makes one call to the store; a turn that
/// failed is made again, and does no harm.
#[derive(Debug)]
pub struct FlushRound {
    /// Calls to make, the next one last.
    writes: Vec<Vec<BucketWrite>>,
    /// Loads to make, the next one last.
    fenced: Vec<Vec<Fenced>>,
    telling: Telling,
    refusals: Refusals,
    named: u32,
    pauses: RetryPauses,
}

/// What a turn of a round came to.
#[derive(Debug)]
pub enum RoundTurn {
    /// The store did as it was asked, and there is more to do.
    More,
    /// The store refused what the call was about. Smaller calls follow, or the
    /// bucket is set aside.
    Refused(StoreError),
    /// Try again later.
    Failed(StoreError),
    /// Everything is confirmed or pending again.
    Done,
}

impl FlushRound {
    /// A round over `leases`.
    #[must_use]
    pub fn new(leases: Vec<Lease>) -> Self {
        histogram!(names::FLUSH_BUCKETS).record(leases.len() as f64);
        let writes: Vec<BucketWrite> = leases.into_iter().map(|lease| lease.write).collect();
        for write in &writes {
            histogram!(names::FLUSH_READINGS).record(write.elements.len() as f64);
        }
        Self {
            telling: Telling::new(writes.iter().map(|write| write.key.sensor.clone())),
            writes: vec![writes],
            fenced: Vec::new(),
            refusals: Refusals::default(),
            named: 0,
            pauses: RetryPauses::from(&FlushSettings::default()),
        }
    }

    /// A round that writes no bucket: it tells the store of `sensors`.
    #[must_use]
    pub fn telling(sensors: Vec<SensorId>) -> Self {
        Self {
            writes: Vec::new(),
            fenced: Vec::new(),
            telling: Telling::new(sensors),
            refusals: Refusals::default(),
            named: 0,
            pauses: RetryPauses::from(&FlushSettings::default()),
        }
    }

    /// The same with pauses of its own for buckets that are set aside.
    #[must_use]
    pub fn with_pauses(mut self, pauses: RetryPauses) -> Self {
        self.pauses = pauses;
        self
    }

    /// One call to the store: learn what it has of the sensors, write, load what
    /// was fenced, then tell what follows from it.
    pub async fn turn(
        &mut self,
        store: &Arc<dyn Store>,
        buffer: &Buffer,
        clock: &dyn Clock,
    ) -> RoundTurn {
        if let Some(turn) = self.telling.learn(store, buffer).await {
            return turn;
        }
        if has_next(&mut self.fenced) {
            return self.load(store, buffer, clock).await;
        }
        if self.has_write(buffer) {
            return self.write(store, buffer, clock).await;
        }
        match self.telling.tell(store, buffer).await {
            Some(turn) => turn,
            None => RoundTurn::Done,
        }
    }

    /// Whether there is a bucket to write that is kept: it may have waited long
    /// for the store.
    fn has_write(&mut self, buffer: &Buffer) -> bool {
        while has_next(&mut self.writes) {
            if let Some(writes) = self.writes.last_mut() {
                writes.retain(|write| !buffer.expire_lease(&write.key, write.target));
            }
            if !next(&self.writes).is_empty() {
                return true;
            }
        }
        false
    }

    async fn write(
        &mut self,
        store: &Arc<dyn Store>,
        buffer: &Buffer,
        clock: &dyn Clock,
    ) -> RoundTurn {
        let started = Instant::now();
        let written = store.write(next(&self.writes)).await;
        // Not before: a turn that is dropped half-way is made again.
        let writes = self.writes.pop().unwrap_or_default();
        let outcomes = match written {
            Ok(outcomes) => outcomes,
            Err(error) => {
                histogram!(names::FLUSH_SECONDS, "outcome" => "failed").record(started.elapsed());
                return match self.refusals.narrow(&mut self.writes, writes, error) {
                    Narrowed::Turn(turn) => turn,
                    Narrowed::GiveUp(writes, error) => {
                        for write in &writes {
                            self.set_aside(&write.key, write.target, &error, buffer, clock);
                        }
                        RoundTurn::Refused(error)
                    }
                    Narrowed::Everything(writes, error) => {
                        let rest = self.writes.drain(..).flatten().chain(writes);
                        for write in rest.collect::<Vec<_>>() {
                            self.set_aside(&write.key, write.target, &error, buffer, clock);
                        }
                        RoundTurn::Failed(error)
                    }
                };
            }
        };
        histogram!(names::FLUSH_SECONDS, "outcome" => "answered").record(started.elapsed());
        self.refusals.end();
        let mut fenced = Vec::new();
        let mut outcomes = outcomes.into_iter();
        for write in writes {
            match outcomes.next().unwrap_or_else(|| unanswered(&**store)) {
                WriteOutcome::Stored => {
                    buffer.confirm(&write.key, write.target);
                }
                WriteOutcome::Fenced => fenced.push(Fenced {
                    key: write.key,
                    target: write.target,
                    expect: write.expect,
                }),
                WriteOutcome::Failed(error) => {
                    self.set_aside(&write.key, write.target, &error, buffer, clock);
                }
            }
        }
        counter!(names::FLUSH_FENCED_TOTAL).increment(fenced.len() as u64);
        let loads = fenced.chunks(LOADS_AT_ONCE).rev().map(<[_]>::to_vec);
        self.fenced.extend(loads);
        RoundTurn::More
    }

    async fn load(
        &mut self,
        store: &Arc<dyn Store>,
        buffer: &Buffer,
        clock: &dyn Clock,
    ) -> RoundTurn {
        let keys = next(&self.fenced).iter().map(|fenced| fenced.key.clone());
        let loaded = store.load(&keys.collect::<Vec<_>>()).await;
        let fenced = self.fenced.pop().unwrap_or_default();
        let loaded = match loaded {
            Ok(loaded) => loaded,
            Err(error) => {
                return match self.refusals.narrow(&mut self.fenced, fenced, error) {
                    Narrowed::Turn(turn) => turn,
                    Narrowed::GiveUp(fenced, error) => {
                        for Fenced { key, target, .. } in &fenced {
                            self.set_aside(key, *target, &error, buffer, clock);
                        }
                        RoundTurn::Refused(error)
                    }
                    Narrowed::Everything(fenced, error) => {
                        let rest = self.fenced.drain(..).flatten().chain(fenced);
                        for Fenced { key, target, .. } in rest.collect::<Vec<_>>() {
                            self.set_aside(&key, target, &error, buffer, clock);
                        }
                        RoundTurn::Failed(error)
                    }
                };
            }
        };
        self.refusals.end();
        for (fenced, bucket) in fenced.into_iter().zip(loaded) {
            let bucket: Option<&StoredBucket> = bucket.as_ref();
            let Fenced { key, target, .. } = &fenced;
            if fenced.is_unexplained(bucket) {
                let error = hidden(&**store, key);
                self.set_aside(key, *target, &error, buffer, clock);
                continue;
            }
            buffer.rebase(key, *target, bucket, clock.now());
        }
        RoundTurn::More
    }

    fn set_aside(
        &mut self,
        key: &BucketKey,
        target: BucketVersion,
        error: &StoreError,
        buffer: &Buffer,
        clock: &dyn Clock,
    ) {
        counter!(names::FLUSH_SET_ASIDE_TOTAL).increment(1);
        let is_passing = matches!(error, StoreError::Unavailable { .. });
        let is_first = buffer.set_aside(key, target, clock.elapsed(), self.pauses, is_passing);
        if is_first && self.named < NAMED_MAX {
            self.named += 1;
            tracing::warn!(bucket = %key, %error, "the store fails for one bucket; its readings stay in the journal and it is tried again");
        }
    }
}

/// A write that lost its fence.
#[derive(Debug, Clone)]
struct Fenced {
    key: BucketKey,
    target: BucketVersion,
    expect: Expect,
}

impl Fenced {
    /// Whether the bucket, loaded, is what the write expected: then something
    /// stands in its way that a load does not see, and to try again at once
    /// would go on without end.
    fn is_unexplained(&self, loaded: Option<&StoredBucket>) -> bool {
        let version = loaded.map(StoredBucket::version);
        match self.expect {
            Expect::Absent => version.is_none(),
            Expect::Open(expected) => version == Some(expected),
            Expect::Next { last, closing } => version == Some(closing.unwrap_or(last)),
        }
    }
}

/// The store has something in the place of a part that it says is not there: a
/// document damaged so that it is not found, or one of another process that is
/// not visible yet, or gone in between. The next try tells.
fn hidden(store: &dyn Store, key: &BucketKey) -> StoreError {
    StoreError::Corrupt {
        store: store.name(),
        what: format!("bucket \"{key}\""),
        reason: "cannot be made, as it is there, and cannot be found".to_owned(),
    }
}

/// A store that answers too few leaves the outcome unknown.
fn unanswered(store: &dyn Store) -> WriteOutcome {
    WriteOutcome::Failed(StoreError::Unavailable {
        store: store.name(),
        reason: "it did not say what became of a write".to_owned(),
    })
}

impl From<&FlushSettings> for RetryPauses {
    fn from(settings: &FlushSettings) -> Self {
        Self {
            min: settings.retry_min,
            max: settings.retry_max,
        }
    }
}
