//! One deletion at the store.

use std::sync::Arc;

use crate::bucket::without;
use crate::buffer::{Buffer, OpenDeletion};
use crate::flush::newest_readings;
use crate::model::BucketKey;
use crate::store::{
    BucketEdit, BucketVersion, PartChange, PartEdit, RecentWrite, SensorTold, Store, StoreError,
    StoredBucket, WriteOutcome, WriterId,
};

/// Buckets that are loaded at once.
const LOADED_AT_ONCE: usize = 50;

/// What was deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeletionReport {
    /// Readings (instants), those that the store never had included.
    pub readings: u64,
    /// Buckets of the store that changed or went.
    pub buckets: u64,
    /// Hours that were left as they are: their readings were dropped before and
    /// their computed fields kept, and the range covers a part of the hour only;
    /// or they cannot be read.
    pub hours_left: u64,
}

/// The state of one deletion.
#[derive(Debug)]
pub struct DeletionRun {
    deletion: OpenDeletion,
    stage: Stage,
    report: DeletionReport,
}

#[derive(Debug)]
enum Stage {
    /// Which buckets there are.
    List,
    /// These are to be looked at, the next ones last.
    Buckets(Vec<BucketKey>),
    /// The newest readings in the sensor's record.
    Recent,
    Done,
}

/// What a turn came to.
#[derive(Debug)]
pub enum DeletionTurn {
    /// There is more to do.
    More,
    /// Try again later.
    Failed(StoreError),
    /// The store has done it.
    Done(DeletionReport),
}

impl DeletionRun {
    /// A run of `deletion`.
    #[must_use]
    pub fn new(deletion: OpenDeletion) -> Self {
        let report = DeletionReport {
            readings: deletion.purged,
            ..DeletionReport::default()
        };
        Self {
            deletion,
            stage: Stage::List,
            report,
        }
    }

    /// One step.
    pub async fn turn(
        &mut self,
        store: &Arc<dyn Store>,
        buffer: &Buffer,
        writer: &WriterId,
    ) -> DeletionTurn {
        let stepped = match &mut self.stage {
            Stage::List => self.list(&**store).await,
            Stage::Buckets(_) => self.buckets(&**store, writer).await,
            Stage::Recent => self.recent(&**store, buffer, writer).await,
            Stage::Done => return DeletionTurn::Done(self.report),
        };
        match stepped {
            Ok(()) => DeletionTurn::More,
            Err(error) => DeletionTurn::Failed(error),
        }
    }

    async fn list(&mut self, store: &dyn Store) -> Result<(), StoreError> {
        let sensor = std::slice::from_ref(&self.deletion.sensor);
        let hours = store.hours(sensor, self.deletion.range.hours()).await?;
        let keys = hours.into_iter().map(|hour| hour.key);
        self.stage = Stage::Buckets(keys.collect());
        Ok(())
    }

    async fn buckets(&mut self, store: &dyn Store, writer: &WriterId) -> Result<(), StoreError> {
        let Stage::Buckets(keys) = &mut self.stage else {
            return Ok(());
        };
        if keys.is_empty() {
            self.stage = Stage::Recent;
            return Ok(());
        }
        let from = keys.len().saturating_sub(LOADED_AT_ONCE);
        let loaded = match store.load(&keys[from..]).await {
            Ok(loaded) => loaded,
            Err(error @ StoreError::Unavailable { .. }) => return Err(error),
            // One of them is damaged: the others are found one by one.
            Err(_) => return self.last_bucket(store, writer).await,
        };
        let open: Vec<BucketKey> = keys.drain(from..).collect();
        for (at, (key, bucket)) in open.iter().zip(loaded).enumerate() {
            let done = match &bucket {
                None => Ok(true),
                Some(bucket) => self.edit(store, writer, bucket).await,
            };
            let again = match done {
                Ok(true) => continue,
                Ok(false) => Ok(()),
                Err(error @ StoreError::Unavailable { .. }) => Err(error),
                Err(error) => {
                    self.leave(key, &error);
                    continue;
                }
            };
            if let Stage::Buckets(keys) = &mut self.stage {
                // This one and those behind it once more.
                keys.extend_from_slice(&open[at..]);
            }
            return again;
        }
        Ok(())
    }

    /// Looks at the last bucket alone.
    async fn last_bucket(
        &mut self,
        store: &dyn Store,
        writer: &WriterId,
    ) -> Result<(), StoreError> {
        let Stage::Buckets(keys) = &self.stage else {
            return Ok(());
        };
        let Some(key) = keys.last().cloned() else {
            return Ok(());
        };
        let is_done = match store.load(std::slice::from_ref(&key)).await {
            Ok(mut loaded) => match loaded.pop().flatten() {
                None => true,
                Some(bucket) => self.edit(store, writer, &bucket).await?,
            },
            Err(error @ StoreError::Unavailable { .. }) => return Err(error),
            Err(error) => {
                self.leave(&key, &error);
                true
            }
        };
        if is_done && let Stage::Buckets(keys) = &mut self.stage {
            keys.pop();
        }
        Ok(())
    }

    fn leave(&mut self, key: &BucketKey, error: &StoreError) {
        tracing::error!(bucket = %key, %error, "a deletion leaves a bucket as it is");
        self.report.hours_left += 1;
    }

    /// Takes the range out of one bucket; whether it is out.
    async fn edit(
        &mut self,
        store: &dyn Store,
        writer: &WriterId,
        bucket: &StoredBucket,
    ) -> Result<bool, StoreError> {
        let range = self.deletion.range;
        let hour = bucket.key.hour;
        let covers = range.from <= hour.start() && hour.next().start() <= range.to;
        let is_dropped = bucket.parts.iter().any(|part| part.raw_dropped);
        if is_dropped && !covers {
            self.report.hours_left += 1;
            return Ok(true);
        }
        let elements: Vec<_> = bucket.parts.iter().map(|part| &part.elements).collect();
        let (rests, mut instants) = without(&elements, hour, range);
        if is_dropped {
            instants = bucket.parts.iter().map(|part| part.computed.count).sum();
        } else if rests.iter().all(|rest| rest.gone == 0) {
            return Ok(true);
        }
        let is_single = bucket.parts.len() == 1;
        let last = bucket.parts.len() - 1;
        let mut parts = Vec::with_capacity(bucket.parts.len());
        for (at, (part, rest)) in bucket.parts.iter().zip(rests).enumerate() {
            let change = if is_single && rest.elements.is_empty() {
                PartChange::Remove
            } else if rest.gone > 0 || is_dropped || at == last {
                PartChange::Replace {
                    target: BucketVersion {
                        rev: part.version.rev + 1,
                        by: writer.next(),
                        ..part.version
                    },
                    elements: rest.elements,
                    computed: rest.computed,
                }
            } else {
                PartChange::Keep
            };
            parts.push(PartEdit {
                expected: part.version,
                change,
            });
        }
        let edit = BucketEdit {
            key: bucket.key.clone(),
            parts,
        };
        match store.edit(&edit).await? {
            WriteOutcome::Stored => {
                self.report.readings += instants;
                self.report.buckets += 1;
                Ok(true)
            }
            WriteOutcome::Fenced => Ok(false),
            WriteOutcome::Failed(error) => Err(error),
        }
    }

    /// The newest readings of the record are made anew: after the buckets, and
    /// though they hold nothing of the range, so that whoever made a list before
    /// and is about to tell it loses the fence.
    async fn recent(
        &mut self,
        store: &dyn Store,
        buffer: &Buffer,
        writer: &WriterId,
    ) -> Result<(), StoreError> {
        let sensor = std::slice::from_ref(&self.deletion.sensor);
        let stored = store
            .sensors(sensor)
            .await?
            .pop()
            .map(|stored| stored.recent);
        let recent = stored.unwrap_or_default();
        if recent.version.is_some() || self.report.buckets > 0 {
            let newest = newest_readings(store, sensor, buffer.recent_readings()).await?;
            let newest = newest.into_iter().next().unwrap_or_default();
            let write = RecentWrite::after(recent.version, writer, newest);
            let told = SensorTold::recent(self.deletion.sensor.clone(), write);
            match store.touch(&[told]).await?.pop() {
                Some(WriteOutcome::Stored) => {}
                Some(WriteOutcome::Failed(error)) => return Err(error),
                // Somebody told meanwhile: once more.
                Some(WriteOutcome::Fenced) | None => return Ok(()),
            }
        }
        buffer.forget_recent(&self.deletion.sensor);
        self.stage = Stage::Done;
        Ok(())
    }
}
