//! The real embedded store behind a door that fails for chosen sensors, and
//! that a test can hold shut.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use hourglass::bucket::Computed;
use hourglass::model::{BucketKey, HourRange, HourStart, Micros, Order, SensorId, SiteId};
use hourglass::store::embedded::{EmbeddedSettings, EmbeddedStore};
use hourglass::store::{
    BucketEdit, BucketVersion, BucketWrite, CopiesProgress, HourSummary, SensorCursor,
    SensorFilter, SensorHoursRange, SensorPut, SensorTold, SitePut, Store, StoreError,
    StoredBucket, StoredSensor, StoredSite, WriteOutcome,
};
use tempfile::TempDir;
use tokio::sync::watch;

/// What fails for a chosen sensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Refuses {
    /// Its write, by itself.
    Write,
    /// Its write, by itself, as something that passes.
    WriteForNow,
    /// Every write that it is part of.
    WholeWrite,
    /// Every load that it is part of: its bucket is damaged.
    Load,
    /// Every touch that it is part of.
    Touch,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct RefusingStore {
    inner: EmbeddedStore,
    bad: Mutex<HashSet<(SensorId, Refuses)>>,
    shut: watch::Sender<bool>,
    writing: AtomicUsize,
    writing_max: AtomicUsize,
    _dir: TempDir,
}

/// Of which sensor.
trait OfSensor {
    fn sensor(&self) -> &SensorId;
}

impl OfSensor for BucketWrite {
    fn sensor(&self) -> &SensorId {
        &self.key.sensor
    }
}

impl OfSensor for BucketKey {
    fn sensor(&self) -> &SensorId {
        &self.sensor
    }
}

impl OfSensor for SensorTold {
    fn sensor(&self) -> &SensorId {
        &self.sensor
    }
}

impl RefusingStore {
    /// An empty store that refuses nothing.
    pub(crate) fn new() -> Arc<Self> {
        let dir = tempfile::tempdir().unwrap();
        Arc::new(Self {
            inner: EmbeddedStore::open(dir.path(), EmbeddedSettings::default()).unwrap(),
            bad: Mutex::default(),
            shut: watch::channel(false).0,
            writing: AtomicUsize::new(0),
            writing_max: AtomicUsize::new(0),
            _dir: dir,
        })
    }

    /// From now on it fails for `sensor`.
    pub(crate) fn refuse(&self, sensor: &str, what: Refuses) {
        let id = SensorId::new(sensor).unwrap();
        self.bad.lock().unwrap().insert((id, what));
    }

    /// It fails for nobody any more.
    pub(crate) fn heal(&self) {
        self.bad.lock().unwrap().clear();
    }

    /// From now on writes wait.
    pub(crate) fn shut(&self) {
        self.shut.send_replace(true);
    }

    /// Writes go on.
    pub(crate) fn open(&self) {
        self.shut.send_replace(false);
    }

    /// Writes under way now, and the most there were at once.
    pub(crate) fn writing(&self) -> (usize, usize) {
        let now = self.writing.load(Ordering::SeqCst);
        (now, self.writing_max.load(Ordering::SeqCst))
    }

    fn is_bad(&self, of: &impl OfSensor, what: Refuses) -> bool {
        let bad = self.bad.lock().unwrap();
        bad.contains(&(of.sensor().clone(), what))
    }

    fn check(&self, all: &[impl OfSensor], what: Refuses) -> Result<(), StoreError> {
        match all.iter().any(|of| self.is_bad(of, what)) {
            true => Err(refused(what)),
            false => Ok(()),
        }
    }
}

fn refused(what: Refuses) -> StoreError {
    let (store, reason) = ("embedded", format!("{what:?}"));
    match what {
        Refuses::Load => StoreError::Corrupt {
            store,
            what: "a bucket".into(),
            reason,
        },
        Refuses::WriteForNow => StoreError::Unavailable { store, reason },
        Refuses::Write | Refuses::WholeWrite | Refuses::Touch => {
            StoreError::Refused { store, reason }
        }
    }
}

#[async_trait]
impl Store for RefusingStore {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn part_bytes_max(&self) -> Option<usize> {
        self.inner.part_bytes_max()
    }

    async fn write(&self, writes: &[BucketWrite]) -> Result<Vec<WriteOutcome>, StoreError> {
        let now = self.writing.fetch_add(1, Ordering::SeqCst) + 1;
        self.writing_max.fetch_max(now, Ordering::SeqCst);
        self.shut.subscribe().wait_for(|shut| !shut).await.unwrap();
        self.writing.fetch_sub(1, Ordering::SeqCst);
        self.check(writes, Refuses::WholeWrite)?;
        let alone = |write: &BucketWrite| {
            let kinds = [Refuses::Write, Refuses::WriteForNow];
            kinds.into_iter().find(|what| self.is_bad(write, *what))
        };
        let good = writes.iter().filter(|write| alone(write).is_none());
        let good: Vec<BucketWrite> = good.cloned().collect();
        let mut written = self.inner.write(&good).await?.into_iter();
        let outcome = |write| match alone(write) {
            Some(what) => WriteOutcome::Failed(refused(what)),
            None => written.next().unwrap(),
        };
        Ok(writes.iter().map(outcome).collect())
    }

    async fn load(&self, keys: &[BucketKey]) -> Result<Vec<Option<StoredBucket>>, StoreError> {
        self.check(keys, Refuses::Load)?;
        self.inner.load(keys).await
    }

    async fn hours(
        &self,
        sensors: &[SensorId],
        hours: HourRange,
    ) -> Result<Vec<HourSummary>, StoreError> {
        self.inner.hours(sensors, hours).await
    }

    fn scan(
        &self,
        sensor: &SensorId,
        hours: HourRange,
        order: Order,
    ) -> BoxStream<'static, Result<StoredBucket, StoreError>> {
        self.inner.scan(sensor, hours, order)
    }

    async fn newest(&self, sensors: &[SensorId]) -> Result<Vec<StoredBucket>, StoreError> {
        self.inner.newest(sensors).await
    }

    async fn touch(&self, told: &[SensorTold]) -> Result<Vec<WriteOutcome>, StoreError> {
        self.check(told, Refuses::Touch)?;
        self.inner.touch(told).await
    }

    async fn sensors(&self, sensors: &[SensorId]) -> Result<Vec<StoredSensor>, StoreError> {
        self.inner.sensors(sensors).await
    }

    async fn find_sensors(
        &self,
        filter: &SensorFilter,
        after: Option<&SensorCursor>,
        limit: usize,
    ) -> Result<Vec<StoredSensor>, StoreError> {
        self.inner.find_sensors(filter, after, limit).await
    }

    async fn count_silent(
        &self,
        since: Micros,
        among: Option<&[SensorId]>,
    ) -> Result<u64, StoreError> {
        self.inner.count_silent(since, among).await
    }

    async fn put_sensors(&self, puts: &[SensorPut]) -> Result<Vec<WriteOutcome>, StoreError> {
        self.inner.put_sensors(puts).await
    }

    async fn site(&self, site: &SiteId) -> Result<Option<StoredSite>, StoreError> {
        self.inner.site(site).await
    }

    async fn sites(
        &self,
        after: Option<&SiteId>,
        limit: usize,
    ) -> Result<Vec<StoredSite>, StoreError> {
        self.inner.sites(after, limit).await
    }

    async fn put_site(&self, put: &SitePut) -> Result<WriteOutcome, StoreError> {
        self.inner.put_site(put).await
    }

    async fn rewrite_copies(
        &self,
        site: &SiteId,
        limit: usize,
    ) -> Result<Option<CopiesProgress>, StoreError> {
        self.inner.rewrite_copies(site, limit).await
    }

    async fn edit(&self, edit: &BucketEdit) -> Result<WriteOutcome, StoreError> {
        self.inner.edit(edit).await
    }

    async fn oldest_hours(
        &self,
        sensors: &[SensorId],
    ) -> Result<Vec<(SensorId, HourStart)>, StoreError> {
        self.inner.oldest_hours(sensors).await
    }

    async fn drop_hours(&self, ranges: &[SensorHoursRange]) -> Result<u64, StoreError> {
        self.inner.drop_hours(ranges).await
    }

    async fn drop_readings(&self, ranges: &[SensorHoursRange], by: i64) -> Result<u64, StoreError> {
        self.inner.drop_readings(ranges, by).await
    }

    fn all(&self) -> BoxStream<'static, Result<StoredBucket, StoreError>> {
        self.inner.all()
    }

    async fn repair(
        &self,
        key: &BucketKey,
        expected: BucketVersion,
        target: BucketVersion,
        computed: &Computed,
    ) -> Result<bool, StoreError> {
        self.inner.repair(key, expected, target, computed).await
    }

    async fn ping(&self) -> Result<(), StoreError> {
        self.inner.ping().await
    }
}
