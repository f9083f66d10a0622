//! The embedded store: buckets in one directory, by the library `fjall` (a
//! log-structured key-value store). Nothing to install or to run.
//!
//! Six key spaces:
//!
//! | key space | key | value |
//! |---|---|---|
//! | `chunks` | sensor, hour, sequence | elements as appended, in columns |
//! | `hours` | sensor, hour | version, counts, computed fields |
//! | `sensors` | sensor | when it was last heard of, what it sends and people say of it |
//! | `recents` | sensor | its recent readings |
//! | `sites` | site | what people say of it, how far its copies are rewritten |
//! | `index` | what a sensor has, sensor | nothing |
//!
//! **A round of writes** is one batch over the key spaces: fences are checked,
//! the batch is written and synced under one lock, and only then can a reader
//! see it. So what is answered [`Stored`](super::WriteOutcome::Stored), and what
//! is read, is durable. After a write that failed on its way to disk the store
//! takes no more writes until it is opened again: by itself once there is room
//! where there was none (`slot`), else by a restart.
//!
//! **A read** takes one snapshot, so the computed fields are those of the
//! chunks it sees. Small chunks of an hour are merged by the write that makes
//! the sixteenth, in the same batch.
//!
//! Parts are a matter of MongoDB's documents: here every hour has part 0 only,
//! which is never full. `docs/formats.md` has the bytes.

#[doc(hidden)]
pub mod bench_api;
mod bytes;
mod chunk;
mod creation;
mod damage;
mod database;
mod drops;
mod edit;
mod errors;
mod fields;
mod find;
mod hour_record;
mod index;
mod index_build;
mod inspect;
mod inspect_records;
mod keys;
mod pages;
mod read;
mod recent_record;
mod room;
mod round;
mod sensor_record;
mod sensors;
mod settings;
mod site_record;
mod sites;
mod slot;
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
    BucketEdit, BucketVersion, BucketWrite, CopiesProgress, HourSummary, Inspected,
    InspectedBucket, SensorCursor, SensorFilter, SensorHoursRange, SensorPut, SensorTold, SitePut,
    Store, StoreError, StoredBucket, StoredSensor, StoredSite, UnreadSensor, WriteOutcome,
};
use crate::bucket::Computed;
use crate::model::{BucketKey, HourRange, HourStart, Micros, Order, SensorId, SiteId};
use database::Database;
use slot::Slot;

/// Name of the store in errors.
const NAME: &str = "embedded";

/// The embedded store. Cheap to clone; the last clone closes it.
#[derive(Clone)]
pub struct EmbeddedStore {
    slot: Arc<Slot>,
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
            slot: Arc::new(Slot::open(dir, settings)?),
            dir: dir.to_owned(),
        })
    }

    /// Whether there is one in `dir`, which opening it would not have to make.
    #[must_use]
    pub fn is_in(dir: &Path) -> bool {
        creation::is_made(dir)
    }

    async fn read<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Database) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let slot = Arc::clone(&self.slot);
        run_blocking(move || slot.read(call)).await
    }

    async fn change<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Database) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let slot = Arc::clone(&self.slot);
        run_blocking(move || slot.write(call)).await
    }
}

/// Runs a call that blocks where it may.
async fn run_blocking<T: Send + 'static>(
    call: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    match tokio::task::spawn_blocking(call).await {
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

    fn is_shared(&self) -> bool {
        false
    }

    fn part_bytes_max(&self) -> Option<usize> {
        None
    }

    async fn write(&self, writes: &[BucketWrite]) -> Result<Vec<WriteOutcome>, StoreError> {
        let writes = writes.to_vec();
        self.change(move |database| database.write(&writes)).await
    }

    async fn load(&self, keys: &[BucketKey]) -> Result<Vec<Option<StoredBucket>>, StoreError> {
        let keys = keys.to_vec();
        self.read(move |database| database.load(&keys)).await
    }

    async fn hours(
        &self,
        sensors: &[SensorId],
        hours: HourRange,
    ) -> Result<Vec<HourSummary>, StoreError> {
        let sensors = sensors.to_vec();
        self.read(move |database| database.hours(sensors, hours))
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
        pages::buckets(self.clone(), range, order)
    }

    async fn newest(&self, sensors: &[SensorId]) -> Result<Vec<StoredBucket>, StoreError> {
        let sensors = sensors.to_vec();
        self.read(move |database| database.newest(sensors)).await
    }

    async fn touch(&self, told: &[SensorTold]) -> Result<Vec<WriteOutcome>, StoreError> {
        let told = told.to_vec();
        self.change(move |database| database.touch(&told)).await
    }

    async fn sensors(&self, sensors: &[SensorId]) -> Result<Vec<StoredSensor>, StoreError> {
        let ids = sensors.to_vec();
        self.read(move |database| database.sensors(ids)).await
    }

    async fn find_sensors(
        &self,
        filter: &SensorFilter,
        after: Option<&SensorCursor>,
        limit: usize,
    ) -> Result<Vec<StoredSensor>, StoreError> {
        let (filter, after) = (filter.clone(), after.cloned());
        self.read(move |database| database.find_sensors(&filter, after.as_ref(), limit))
            .await
    }

    async fn each_sensor(
        &self,
        after: Option<&SensorId>,
        limit: usize,
    ) -> Result<Vec<Result<StoredSensor, UnreadSensor>>, StoreError> {
        let after = after.cloned();
        self.read(move |database| database.each_sensor(after.as_ref(), limit))
            .await
    }

    async fn count_silent(
        &self,
        since: Micros,
        among: Option<&[SensorId]>,
    ) -> Result<u64, StoreError> {
        let among = among.map(<[SensorId]>::to_vec);
        self.read(move |database| database.count_silent(since, among))
            .await
    }

    async fn put_sensors(&self, puts: &[SensorPut]) -> Result<Vec<WriteOutcome>, StoreError> {
        let puts = puts.to_vec();
        self.change(move |database| database.put_sensors(&puts))
            .await
    }

    async fn site(&self, site: &SiteId) -> Result<Option<StoredSite>, StoreError> {
        let site = site.clone();
        self.read(move |database| database.site(&database.snapshot(), &site))
            .await
    }

    async fn sites(
        &self,
        after: Option<&SiteId>,
        limit: usize,
    ) -> Result<Vec<StoredSite>, StoreError> {
        let after = after.cloned();
        self.read(move |database| database.list_sites(after.as_ref(), limit))
            .await
    }

    async fn put_site(&self, put: &SitePut) -> Result<WriteOutcome, StoreError> {
        let put = put.clone();
        self.change(move |database| database.put_site(&put)).await
    }

    async fn rewrite_copies(
        &self,
        site: &SiteId,
        limit: usize,
    ) -> Result<Option<CopiesProgress>, StoreError> {
        let site = site.clone();
        self.change(move |database| database.rewrite_copies(&site, limit))
            .await
    }

    async fn edit(&self, edit: &BucketEdit) -> Result<WriteOutcome, StoreError> {
        let edit = edit.clone();
        self.change(move |database| database.edit(&edit)).await
    }

    async fn oldest_hours(
        &self,
        sensors: &[SensorId],
    ) -> Result<Vec<(SensorId, HourStart)>, StoreError> {
        let sensors = sensors.to_vec();
        self.read(move |database| database.oldest_hours(sensors))
            .await
    }

    async fn drop_hours(&self, ranges: &[SensorHoursRange]) -> Result<u64, StoreError> {
        let ranges = ranges.to_vec();
        self.change(move |database| database.drop_hours(&ranges))
            .await
    }

    async fn drop_readings(&self, ranges: &[SensorHoursRange], by: i64) -> Result<u64, StoreError> {
        let ranges = ranges.to_vec();
        self.change(move |database| database.drop_readings(&ranges, by))
            .await
    }

    fn all(&self) -> BoxStream<'static, Result<StoredBucket, StoreError>> {
        let range = (Bound::Unbounded, Bound::Unbounded);
        pages::buckets(self.clone(), range, Order::Ascending)
    }

    fn all_after(&self, after: &BucketKey) -> BoxStream<'static, Result<StoredBucket, StoreError>> {
        let range = (Bound::Excluded(keys::bucket_key(after)), Bound::Unbounded);
        pages::buckets(self.clone(), range, Order::Ascending)
    }

    async fn part_count(&self) -> Result<Option<u64>, StoreError> {
        self.read(|database| database.part_count().map(Some)).await
    }

    async fn repair(
        &self,
        key: &BucketKey,
        expected: BucketVersion,
        target: BucketVersion,
        computed: &Computed,
    ) -> Result<bool, StoreError> {
        let (key, computed) = (key.clone(), computed.clone());
        self.change(move |database| database.repair(&key, expected, target, computed))
            .await
    }

    fn inspect(&self) -> BoxStream<'static, Result<InspectedBucket, StoreError>> {
        inspect::buckets(self.clone())
    }

    async fn inspect_bucket(&self, key: &BucketKey) -> Result<Option<InspectedBucket>, StoreError> {
        let key = key.clone();
        self.read(move |database| database.inspect_bucket(&key))
            .await
    }

    fn inspect_sensors(&self) -> BoxStream<'static, Result<Inspected<StoredSensor>, StoreError>> {
        inspect_records::sensors(self.clone())
    }

    fn inspect_sites(&self) -> BoxStream<'static, Result<Inspected<StoredSite>, StoreError>> {
        inspect_records::sites(self.clone())
    }

    async fn ping(&self) -> Result<(), StoreError> {
        self.read(|database| {
            database.check()?;
            database.answers()
        })
        .await
    }
}

#[cfg(test)]
mod tests;
