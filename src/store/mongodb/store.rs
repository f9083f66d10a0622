//! The store trait over MongoDB.

use std::fmt;
use std::sync::Arc;

use ::mongodb::bson::doc;
use async_trait::async_trait;
use futures_util::stream::{self, BoxStream, StreamExt};

use super::connection::Connection;
use super::document::hour_date;
use super::{
    MongoSettings, NAME, copies, drops, edit, inspect, newest, read, repair, scan, sensors_find,
    sensors_put, sensors_told, sites, write,
};
use crate::bucket::Computed;
use crate::model::{BucketKey, HourRange, HourStart, Micros, Order, SensorId, SiteId};
use crate::store::{
    BucketEdit, BucketVersion, BucketWrite, CopiesProgress, HourSummary, Inspected,
    InspectedBucket, SensorCursor, SensorFilter, SensorHoursRange, SensorPut, SensorTold, SitePut,
    Store, StoreError, StoredBucket, StoredSensor, StoredSite, UnreadSensor, WriteOutcome, behind,
};

/// Buckets in MongoDB. See the module for its contract.
pub struct MongoStore {
    connection: Arc<Connection>,
}

impl MongoStore {
    /// Reads the connection string and contacts nobody: the first call does,
    /// so the server may be away now. The database is the one that the string
    /// names, or `hourglass`.
    ///
    /// # Errors
    /// [`StoreError::Refused`] for a string that cannot be read; the message
    /// never shows credentials.
    pub fn connect(uri: &str, settings: MongoSettings) -> Result<Self, StoreError> {
        let connection = Arc::new(Connection::new(uri, settings)?);
        Ok(Self { connection })
    }
}

impl fmt::Debug for MongoStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MongoStore")
            .field("database", &self.connection.database_name())
            .field("settings", self.connection.settings())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Store for MongoStore {
    fn name(&self) -> &'static str {
        NAME
    }

    fn part_bytes_max(&self) -> Option<usize> {
        Some(self.connection.settings().part_bytes_max)
    }

    async fn write(&self, writes: &[BucketWrite]) -> Result<Vec<WriteOutcome>, StoreError> {
        write::write(&self.connection, writes).await
    }

    async fn load(&self, keys: &[BucketKey]) -> Result<Vec<Option<StoredBucket>>, StoreError> {
        read::load(&self.connection, keys).await
    }

    async fn hours(
        &self,
        sensors: &[SensorId],
        hours: HourRange,
    ) -> Result<Vec<HourSummary>, StoreError> {
        read::hours(&self.connection, sensors, hours).await
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
        let filter = doc! {
            "sensorId": sensor.as_str(),
            "hour": { "$gte": hour_date(hours.from), "$lt": hour_date(hours.to) },
        };
        let direction = match order {
            Order::Ascending => 1,
            Order::Descending => -1,
        };
        let sort = doc! { "hour": direction, "part": direction };
        scan::scan(Arc::clone(&self.connection), filter, sort)
    }

    async fn newest(&self, sensors: &[SensorId]) -> Result<Vec<StoredBucket>, StoreError> {
        newest::newest(&self.connection, sensors).await
    }

    async fn touch(&self, told: &[SensorTold]) -> Result<Vec<WriteOutcome>, StoreError> {
        sensors_told::touch(&self.connection, told).await
    }

    async fn find_sensors(
        &self,
        filter: &SensorFilter,
        after: Option<&SensorCursor>,
        limit: usize,
    ) -> Result<Vec<StoredSensor>, StoreError> {
        sensors_find::find(&self.connection, filter, after, limit).await
    }

    async fn each_sensor(
        &self,
        after: Option<&SensorId>,
        limit: usize,
    ) -> Result<Vec<Result<StoredSensor, UnreadSensor>>, StoreError> {
        sensors_find::each(&self.connection, after, limit).await
    }

    async fn sensors(&self, sensors: &[SensorId]) -> Result<Vec<StoredSensor>, StoreError> {
        sensors_find::sensors(&self.connection, sensors).await
    }

    async fn count_silent(
        &self,
        since: Micros,
        among: Option<&[SensorId]>,
    ) -> Result<u64, StoreError> {
        sensors_find::count_silent(&self.connection, since, among).await
    }

    async fn put_sensors(&self, puts: &[SensorPut]) -> Result<Vec<WriteOutcome>, StoreError> {
        sensors_put::put(&self.connection, puts).await
    }

    async fn site(&self, site: &SiteId) -> Result<Option<StoredSite>, StoreError> {
        sites::site(&self.connection, site).await
    }

    async fn sites(
        &self,
        after: Option<&SiteId>,
        limit: usize,
    ) -> Result<Vec<StoredSite>, StoreError> {
        sites::sites(&self.connection, after, limit).await
    }

    async fn put_site(&self, put: &SitePut) -> Result<WriteOutcome, StoreError> {
        sites::put(&self.connection, put).await
    }

    async fn rewrite_copies(
        &self,
        site: &SiteId,
        limit: usize,
    ) -> Result<Option<CopiesProgress>, StoreError> {
        copies::rewrite_copies(&self.connection, site, limit).await
    }

    async fn edit(&self, edit: &BucketEdit) -> Result<WriteOutcome, StoreError> {
        edit::edit(&self.connection, edit).await
    }

    async fn oldest_hours(
        &self,
        sensors: &[SensorId],
    ) -> Result<Vec<(SensorId, HourStart)>, StoreError> {
        drops::oldest_hours(&self.connection, sensors).await
    }

    async fn drop_hours(&self, ranges: &[SensorHoursRange]) -> Result<u64, StoreError> {
        drops::drop_hours(&self.connection, ranges).await
    }

    async fn drop_readings(&self, ranges: &[SensorHoursRange], by: i64) -> Result<u64, StoreError> {
        drops::drop_readings(&self.connection, ranges, by).await
    }

    fn all(&self) -> BoxStream<'static, Result<StoredBucket, StoreError>> {
        let sort = doc! { "sensorId": 1, "hour": 1, "part": 1 };
        scan::scan(Arc::clone(&self.connection), doc! {}, sort)
    }

    fn all_after(&self, after: &BucketKey) -> BoxStream<'static, Result<StoredBucket, StoreError>> {
        // One range of the index; what it begins with of the sensor is skipped.
        let filter = doc! { "sensorId": { "$gte": after.sensor.as_str() } };
        let sort = doc! { "sensorId": 1, "hour": 1, "part": 1 };
        behind(
            scan::scan(Arc::clone(&self.connection), filter, sort),
            after,
        )
    }

    async fn part_count(&self) -> Result<Option<u64>, StoreError> {
        let ready = self.connection.ready().await?;
        let count = ready.buckets.estimated_document_count();
        self.connection.bounded(count).await.map(Some)
    }

    async fn repair(
        &self,
        key: &BucketKey,
        expected: BucketVersion,
        target: BucketVersion,
        computed: &Computed,
    ) -> Result<bool, StoreError> {
        repair::repair(&self.connection, key, expected, target, computed).await
    }

    async fn close_part(
        &self,
        key: &BucketKey,
        expected: BucketVersion,
        target: BucketVersion,
    ) -> Result<bool, StoreError> {
        repair::close_part(&self.connection, key, expected, target).await
    }

    fn inspect(&self) -> BoxStream<'static, Result<InspectedBucket, StoreError>> {
        inspect::buckets(Arc::clone(&self.connection))
    }

    async fn inspect_bucket(&self, key: &BucketKey) -> Result<Option<InspectedBucket>, StoreError> {
        inspect::bucket(&self.connection, key).await
    }

    fn inspect_sensors(&self) -> BoxStream<'static, Result<Inspected<StoredSensor>, StoreError>> {
        inspect::sensors(Arc::clone(&self.connection))
    }

    fn inspect_sites(&self) -> BoxStream<'static, Result<Inspected<StoredSite>, StoreError>> {
        inspect::sites(Arc::clone(&self.connection))
    }

    async fn ping(&self) -> Result<(), StoreError> {
        let ready = self.connection.ready().await?;
        self.connection
            .bounded(ready.database.run_command(doc! { "ping": 1 }))
            .await?;
        Ok(())
    }
}
