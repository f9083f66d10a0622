//! The embedded store: buckets in one directory, by the library `fjall` (a
//! log-structured key-value store). Nothing to install or to run.
//!
//! Three key spaces:
//!
//! | key space | key | value |
//! |---|---|---|
//! | `chunks` | sensor, hour, sequence | elements as appended, in columns |
//! | `hours` | sensor, hour | version, counts, computed fields |
//! | `sensors` | sensor | when it was last heard of, its attributes |
//!
//! **A round of writes** is one batch over the key spaces: fences are checked,
//! the batch is written and synced under one lock, and only then can a reader
//! see it. So what is answered [`Stored`](super::WriteOutcome::Stored), and what
//! is read, is durable. After a write that failed on its way to disk the store
//! takes no more writes until it is opened again.
//!
//! **A read** takes one snapshot, so the computed fields are those of the
//! chunks it sees. Small chunks of an hour are merged by the write that makes
//! the sixteenth, in the same batch.
//!
//! Parts are a matter of MongoDB's documents: here every hour has part 0 only,
//! which is never full. `docs/formats.md` has the bytes.

mod bytes;
mod chunk;
mod damage;
mod database;
mod errors;
mod keys;
mod pages;
mod read;
mod record;
mod settings;
mod write;

pub use settings::EmbeddedSettings;

use std::fmt;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, stream};

use super::{
    BucketVersion, BucketWrite, HourSummary, SensorCursor, SensorFilter, SensorTold, Store,
    StoreError, StoredBucket, StoredSensor, WriteOutcome,
};
use crate::bucket::Computed;
use crate::model::{BucketKey, HourRange, Order, SensorId};
use database::Database;

/// Name of the store in errors.
const NAME: &str = "embedded";

/// The embedded store. Cheap to clone; the last clone closes it.
#[derive(Clone)]
pub struct EmbeddedStore {
    database: Arc<Database>,
    dir: PathBuf,
}

impl EmbeddedStore {
    /// Opens the store in `dir`, or makes it there. Blocks until what the
    /// library's journals hold is replayed.
    ///
    /// # Errors
    /// [`StoreError::Refused`] where another process has it open,
    /// [`StoreError::Corrupt`] where the files cannot be read,
    /// [`StoreError::Unavailable`] where the file system says no.
    pub fn open(dir: &Path, settings: EmbeddedSettings) -> Result<Self, StoreError> {
        Ok(Self {
            database: Arc::new(Database::open(dir, settings)?),
            dir: dir.to_owned(),
        })
    }

    async fn run<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Database) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        run_blocking(&self.database, call).await
    }
}

/// Runs a call that blocks where it may.
async fn run_blocking<T: Send + 'static>(
    database: &Arc<Database>,
    call: impl FnOnce(&Database) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let database = Arc::clone(database);
    match tokio::task::spawn_blocking(move || call(&database)).await {
        Ok(result) => result,
        Err(error) => Err(errors::unavailable(error)),
    }
}

impl fmt::Debug for EmbeddedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedStore")
            .field("dir", &self.dir)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Store for EmbeddedStore {
    fn name(&self) -> &'static str {
        NAME
    }

    fn part_bytes_max(&self) -> Option<usize> {
        None
    }

    async fn write(&self, writes: &[BucketWrite]) -> Result<Vec<WriteOutcome>, StoreError> {
        let writes = writes.to_vec();
        self.run(move |database| database.write(&writes)).await
    }

    async fn load(&self, keys: &[BucketKey]) -> Result<Vec<Option<StoredBucket>>, StoreError> {
        let keys = keys.to_vec();
        self.run(move |database| database.load(&keys)).await
    }

    async fn hours(
        &self,
        sensors: &[SensorId],
        hours: HourRange,
    ) -> Result<Vec<HourSummary>, StoreError> {
        let sensors = sensors.to_vec();
        self.run(move |database| database.hours(sensors, hours))
            .await
    }

    fn scan(
        &self,
        sensor: &SensorId,
        hours: HourRange,
        order: Order,
    ) -> BoxStream<'static, Result<StoredBucket, StoreError>> {
        if hours.is_empty() {
            return stream::empty().boxed();
        }
        let (from, to) = keys::hour_range(sensor, hours);
        let range = (Bound::Included(from), Bound::Excluded(to));
        pages::buckets(Arc::clone(&self.database), range, order)
    }

    async fn newest(&self, sensors: &[SensorId]) -> Result<Vec<StoredBucket>, StoreError> {
        let sensors = sensors.to_vec();
        self.run(move |database| database.newest(sensors)).await
    }

    async fn touch(&self, told: &[SensorTold]) -> Result<Vec<WriteOutcome>, StoreError> {
        let told = told.to_vec();
        self.run(move |database| database.touch(&told)).await
    }

    async fn find_sensors(
        &self,
        filter: &SensorFilter,
        after: Option<&SensorCursor>,
        limit: usize,
    ) -> Result<Vec<StoredSensor>, StoreError> {
        let _ = filter;
        let after = after.map(|cursor| cursor.id.clone());
        self.run(move |database| database.sensors(after.as_ref(), limit))
            .await
    }

    fn all(&self) -> BoxStream<'static, Result<StoredBucket, StoreError>> {
        let range = (Bound::Unbounded, Bound::Unbounded);
        pages::buckets(Arc::clone(&self.database), range, Order::Ascending)
    }

    async fn repair(
        &self,
        key: &BucketKey,
        expected: BucketVersion,
        target: BucketVersion,
        computed: &Computed,
    ) -> Result<bool, StoreError> {
        let (key, computed) = (key.clone(), computed.clone());
        self.run(move |database| database.repair(&key, expected, target, computed))
            .await
    }

    async fn ping(&self) -> Result<(), StoreError> {
        self.run(|database| {
            database.check()?;
            database.sensors(None, 1).map(|_| ())
        })
        .await
    }
}

#[cfg(test)]
mod tests;
