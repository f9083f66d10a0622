//! One round: many leased buckets until each is confirmed or re-based.

use std::sync::Arc;
use std::time::Instant;

use metrics::{counter, histogram};

use crate::buffer::{Buffer, Lease, Pin};
use crate::clock::Clock;
use crate::metrics::names;
use crate::model::BucketKey;
use crate::store::{
    BucketVersion, BucketWrite, SensorSeen, Store, StoreError, StoredBucket, WriteOutcome,
};

/// Buckets that are loaded by one call, so that a bad day of late data does not
/// hold more than these in memory.
const LOADS_AT_ONCE: usize = 100;

/// The state of a round. Every turn makes one call to the store; a turn that
/// failed is made again, and does no harm.
#[derive(Debug)]
pub struct FlushRound {
    writes: Vec<BucketWrite>,
    fenced: Vec<(BucketKey, BucketVersion)>,
    pins: Vec<Pin>,
    seen: Vec<SensorSeen>,
}

/// What a turn of a round came to.
#[derive(Debug)]
pub enum RoundTurn {
    /// There is more to do.
    More,
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
            writes,
            fenced: Vec::new(),
            pins: Vec::new(),
            seen: Vec::new(),
        }
    }

    /// One call to the store: write, then load what was fenced, then tell when
    /// sensors were last heard of.
    pub async fn turn(
        &mut self,
        store: &Arc<dyn Store>,
        buffer: &Buffer,
        clock: &dyn Clock,
    ) -> RoundTurn {
        if !self.fenced.is_empty() {
            return self.load(store, buffer, clock).await;
        }
        if !self.writes.is_empty() {
            return self.write(store, buffer).await;
        }
        if !self.seen.is_empty()
            && let Err(error) = store.touch(&self.seen).await
        {
            return RoundTurn::Failed(error);
        }
        buffer.settle(&self.pins, &self.seen);
        self.pins.clear();
        self.seen.clear();
        RoundTurn::Done
    }

    async fn write(&mut self, store: &Arc<dyn Store>, buffer: &Buffer) -> RoundTurn {
        let started = Instant::now();
        let outcomes = match store.write(&self.writes).await {
            Ok(outcomes) => outcomes,
            Err(error) => {
                histogram!(names::FLUSH_SECONDS, "outcome" => "failed").record(started.elapsed());
                counter!(names::FLUSH_FAILURES_TOTAL).increment(1);
                return RoundTurn::Failed(error);
            }
        };
        histogram!(names::FLUSH_SECONDS, "outcome" => "answered").record(started.elapsed());
        let mut failure = None;
        let mut again = Vec::new();
        let mut outcomes = outcomes.into_iter();
        for write in self.writes.drain(..) {
            match outcomes.next() {
                Some(WriteOutcome::Stored) => {
                    let confirmed = buffer.confirm(&write.key, write.target);
                    note(&mut self.pins, &mut self.seen, confirmed);
                }
                Some(WriteOutcome::Fenced) => self.fenced.push((write.key, write.target)),
                Some(WriteOutcome::Failed(error)) => {
                    counter!(names::FLUSH_FAILURES_TOTAL).increment(1);
                    failure = Some(error);
                    again.push(write);
                }
                // A store that answers too few leaves the outcome unknown.
                None => again.push(write),
            }
        }
        self.writes = again;
        counter!(names::FLUSH_FENCED_TOTAL).increment(self.fenced.len() as u64);
        match failure {
            Some(error) => RoundTurn::Failed(error),
            None => RoundTurn::More,
        }
    }

    async fn load(
        &mut self,
        store: &Arc<dyn Store>,
        buffer: &Buffer,
        clock: &dyn Clock,
    ) -> RoundTurn {
        let count = self.fenced.len().min(LOADS_AT_ONCE);
        let keys: Vec<BucketKey> = self.fenced[..count]
            .iter()
            .map(|(key, _)| key.clone())
            .collect();
        let loaded = match store.load(&keys).await {
            Ok(loaded) => loaded,
            Err(error) => return RoundTurn::Failed(error),
        };
        for ((key, target), bucket) in self.fenced.drain(..count).zip(loaded) {
            let bucket: Option<&StoredBucket> = bucket.as_ref();
            let confirmed = buffer.rebase(&key, target, bucket, clock.now());
            note(&mut self.pins, &mut self.seen, confirmed);
        }
        RoundTurn::More
    }
}

/// Keeps what a confirmation leaves to do at the end of the round.
fn note(
    pins: &mut Vec<Pin>,
    seen: &mut Vec<SensorSeen>,
    confirmed: Option<(Pin, Option<SensorSeen>)>,
) {
    if let Some((pin, heard)) = confirmed {
        pins.push(pin);
        seen.extend(heard);
    }
}
