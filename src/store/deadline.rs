//! A store whose reads are given up after a while.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};

use super::{
    BucketEdit, BucketVersion, BucketWrite, CopiesProgress, HourSummary, Inspected,
    InspectedBucket, SensorCursor, SensorFilter, SensorHoursRange, SensorPut, SensorTold, SitePut,
    Store, StoreError, StoredBucket, StoredSensor, StoredSite, UnreadSensor, WriteOutcome,
};
use crate::bucket::Computed;
use crate::model::{BucketKey, HourRange, HourStart, Micros, Order, SensorId, SiteId};

/// How long somebody waits for a store.
pub trait Patience: Send + Sync + 'static {
    /// How long a read that begins now may take.
    fn limit(&self) -> Duration;

    /// Told of each read that the store answered.
    fn answered(&self);
}

/// A store whose reads end within the patience of whoever asks: past it they are
/// [`StoreError::Unavailable`], as if it were away. Of a stream that is so for each
/// bucket. Writes, what `verify` reads and [`Store::ping`] take the time they take.
#[derive(Clone)]
pub struct DeadlineStore {
    inner: Arc<dyn Store>,
    patience: Arc<dyn Patience>,
}

impl DeadlineStore {
    /// `inner`, for somebody of that patience.
    #[must_use]
    pub fn new(inner: Arc<dyn Store>, patience: Arc<dyn Patience>) -> Self {
        Self { inner, patience }
    }

    async fn in_time<T>(
        &self,
        read: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let limit = self.patience.limit();
        match tokio::time::timeout(limit, read).await {
            Ok(answer) => {
                if !matches!(answer, Err(StoreError::Unavailable { .. })) {
                    self.patience.answered();
                }
                answer
            }
            Err(_) => Err(StoreError::Unavailable {
                store: self.inner.name(),
                reason: format!("no answer to a query within {limit:?}"),
            }),
        }
    }

    /// Ends behind the first error that is not about one bucket alone.
    fn each_in_time(
        self,
        buckets: BoxStream<'static, Result<StoredBucket, StoreError>>,
    ) -> BoxStream<'static, Result<StoredBucket, StoreError>> {
        stream::unfold((self, Some(buckets)), |(store, buckets)| async move {
            let mut buckets = buckets?;
            let next = async { buckets.next().await.transpose() };
            match store.in_time(next).await {
                Ok(bucket) => bucket.map(|bucket| (Ok(bucket), (store, Some(buckets)))),
                Err(error @ StoreError::Corrupt { .. }) => {
                    Some((Err(error), (store, Some(buckets))))
                }
                Err(error) => Some((Err(error), (store, None))),
            }
        })
        .boxed()
    }
}

impl fmt::Debug for DeadlineStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DeadlineStore").field(&self.inner).finish()
    }
}

#[async_trait]
impl Store for DeadlineStore {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn is_shared(&self) -> bool {
        self.inner.is_shared()
    }

    fn part_bytes_max(&self) -> Option<usize> {
        self.inner.part_bytes_max()
    }

    async fn load(&self, keys: &[BucketKey]) -> Result<Vec<Option<StoredBucket>>, StoreError> {
        self.in_time(self.inner.load(keys)).await
    }

    async fn hours(
        &self,
        sensors: &[SensorId],
        hours: HourRange,
    ) -> Result<Vec<HourSummary>, StoreError> {
        self.in_time(self.inner.hours(sensors, hours)).await
    }

    fn scan(
        &self,
        sensor: &SensorId,
        hours: HourRange,
        order: Order,
    ) -> BoxStream<'static, Result<StoredBucket, StoreError>> {
        self.clone()
            .each_in_time(self.inner.scan(sensor, hours, order))
    }

    async fn newest(&self, sensors: &[SensorId]) -> Result<Vec<StoredBucket>, StoreError> {
        self.in_time(self.inner.newest(sensors)).await
    }

    async fn sensors(&self, sensors: &[SensorId]) -> Result<Vec<StoredSensor>, StoreError> {
        self.in_time(self.inner.sensors(sensors)).await
    }

    async fn find_sensors(
        &self,
        filter: &SensorFilter,
        after: Option<&SensorCursor>,
        limit: usize,
    ) -> Result<Vec<StoredSensor>, StoreError> {
        self.in_time(self.inner.find_sensors(filter, after, limit))
            .await
    }

    async fn each_sensor(
        &self,
        after: Option<&SensorId>,
        limit: usize,
    ) -> Result<Vec<Result<StoredSensor, UnreadSensor>>, StoreError> {
        self.in_time(self.inner.each_sensor(after, limit)).await
    }

    async fn count_silent(
        &self,
        since: Micros,
        among: Option<&[SensorId]>,
    ) -> Result<u64, StoreError> {
        self.in_time(self.inner.count_silent(since, among)).await
    }

    async fn site(&self, site: &SiteId) -> Result<Option<StoredSite>, StoreError> {
        self.in_time(self.inner.site(site)).await
    }

    async fn sites(
        &self,
        after: Option<&SiteId>,
        limit: usize,
    ) -> Result<Vec<StoredSite>, StoreError> {
        self.in_time(self.inner.sites(after, limit)).await
    }

    async fn oldest_hours(
        &self,
        sensors: &[SensorId],
    ) -> Result<Vec<(SensorId, HourStart)>, StoreError> {
        self.in_time(self.inner.oldest_hours(sensors)).await
    }

    async fn write(&self, writes: &[BucketWrite]) -> Result<Vec<WriteOutcome>, StoreError> {
        self.inner.write(writes).await
    }

    async fn touch(&self, told: &[SensorTold]) -> Result<Vec<WriteOutcome>, StoreError> {
        self.inner.touch(told).await
    }

    async fn put_sensors(&self, puts: &[SensorPut]) -> Result<Vec<WriteOutcome>, StoreError> {
        self.inner.put_sensors(puts).await
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

    async fn drop_hours(&self, ranges: &[SensorHoursRange]) -> Result<u64, StoreError> {
        self.inner.drop_hours(ranges).await
    }

    async fn drop_readings(&self, ranges: &[SensorHoursRange], by: i64) -> Result<u64, StoreError> {
        self.inner.drop_readings(ranges, by).await
    }

    fn all(&self) -> BoxStream<'static, Result<StoredBucket, StoreError>> {
        self.inner.all()
    }

    fn all_after(&self, after: &BucketKey) -> BoxStream<'static, Result<StoredBucket, StoreError>> {
        self.inner.all_after(after)
    }

    async fn part_count(&self) -> Result<Option<u64>, StoreError> {
        self.inner.part_count().await
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

    async fn close_part(
        &self,
        key: &BucketKey,
        expected: BucketVersion,
        target: BucketVersion,
    ) -> Result<bool, StoreError> {
        self.inner.close_part(key, expected, target).await
    }

    fn inspect(&self) -> BoxStream<'static, Result<InspectedBucket, StoreError>> {
        self.inner.inspect()
    }

    async fn inspect_bucket(&self, key: &BucketKey) -> Result<Option<InspectedBucket>, StoreError> {
        self.inner.inspect_bucket(key).await
    }

    fn inspect_sensors(&self) -> BoxStream<'static, Result<Inspected<StoredSensor>, StoreError>> {
        self.inner.inspect_sensors()
    }

    fn inspect_sites(&self) -> BoxStream<'static, Result<Inspected<StoredSite>, StoreError>> {
        self.inner.inspect_sites()
    }

    async fn ping(&self) -> Result<(), StoreError> {
        self.inner.ping().await
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::store::embedded::{EmbeddedSettings, EmbeddedStore};

    #[derive(Default)]
    struct Short(AtomicUsize);

    impl Patience for Short {
        fn limit(&self) -> Duration {
            Duration::from_millis(1)
        }

        fn answered(&self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn store() -> (tempfile::TempDir, DeadlineStore, Arc<Short>) {
        let dir = tempfile::tempdir().unwrap();
        let inner = EmbeddedStore::open(dir.path(), EmbeddedSettings::default()).unwrap();
        let patience = Arc::new(Short::default());
        let store = DeadlineStore::new(Arc::new(inner), Arc::clone(&patience) as _);
        (dir, store, patience)
    }

    fn away() -> StoreError {
        StoreError::Unavailable {
            store: "embedded",
            reason: "away".to_owned(),
        }
    }

    fn damaged() -> StoreError {
        StoreError::Corrupt {
            store: "embedded",
            what: "a bucket".to_owned(),
            reason: "damaged".to_owned(),
        }
    }

    #[tokio::test]
    async fn a_read_that_is_not_answered_ends_as_if_the_store_were_away() {
        let (_dir, store, patience) = store();
        let read = store.in_time(pending::<Result<(), _>>()).await;
        assert!(matches!(read, Err(StoreError::Unavailable { .. })));
        let read = store.in_time(ready(Err::<(), _>(away()))).await;
        assert!(matches!(read, Err(StoreError::Unavailable { .. })));
        assert_eq!(patience.0.load(Ordering::Relaxed), 0);
        store.in_time(ready(Ok(()))).await.unwrap();
        let read = store.in_time(ready(Err::<(), _>(damaged()))).await;
        assert!(matches!(read, Err(StoreError::Corrupt { .. })));
        assert_eq!(patience.0.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn a_stream_ends_where_the_next_bucket_does_not_come() {
        let (_dir, store, _) = store();
        let bucket = StoredBucket {
            key: BucketKey {
                sensor: SensorId::new("S1").unwrap(),
                hour: HourStart::from_hours(1),
            },
            parts: Vec::new(),
        };
        let first = [Err(damaged()), Ok(bucket.clone())];
        let buckets = stream::iter(first).chain(stream::pending()).boxed();
        let read: Vec<_> = store.each_in_time(buckets).collect().await;
        let [
            Err(StoreError::Corrupt { .. }),
            Ok(one),
            Err(StoreError::Unavailable { .. }),
        ] = &read[..]
        else {
            panic!("{read:?}");
        };
        assert_eq!(*one, bucket);
    }
}
