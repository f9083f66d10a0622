//! The store: one trait of domain values, two implementations of the same rules.
//!
//! **Exactly once.** A write of a bucket carries a fence: it applies only to
//! the version it was made for and sets the version it names. What does not
//! match is answered [`WriteOutcome::Fenced`]; the caller then loads the bucket,
//! drops what is in already and writes the rest. A write whose reply was lost
//! is decided by loading: the bucket's version is the write's target, or the
//! write is not in.
//!
//! **Atomic.** Readings and computed fields of one part change in one step, so
//! every observer sees computed fields that are true (I3).

mod deadline;
mod edit;
pub mod embedded;
mod inspect;
pub mod mongodb;
mod registry;
pub mod size;
mod writer_id;

pub use deadline::{DeadlineStore, Patience};
pub use edit::{BucketEdit, PartChange, PartEdit, SensorHoursRange};
pub use inspect::{Flaw, FlawKind, Inspected, InspectedBucket};
pub use registry::{
    AttributeFilter, CopiesProgress, RecentWrite, RecordVersion, SensorCursor, SensorFilter,
    SensorPut, SensorTold, SitePut, StoredRecent, StoredSensor, StoredSite, UnreadSensor,
};
pub use writer_id::WriterId;

use std::fmt;

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;

use crate::bucket::{Computed, Elements};
use crate::model::{BucketKey, HourRange, HourStart, Micros, Order, SensorId, SiteId};

/// Buckets that callers load by one call, so that a year of late data is not in
/// memory at once.
pub const LOADS_AT_ONCE: usize = 100;

/// The version of a bucket: that of its last part. Written anew, with a `by`
/// never used before, by every update of that part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BucketVersion {
    /// Number of the last part, from 0.
    pub part: u32,
    /// Updates of that part so far, from 1.
    pub rev: i64,
    /// Who wrote it: unique per write.
    pub by: i64,
}

/// What a write expects to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// No part of the hour. The write makes part 0.
    Absent,
    /// The last part at this version, not full. The write appends to it.
    Open(BucketVersion),
    /// The last part at `last`. The write first closes it (`full: true`, version
    /// `closing`) unless it is closed already (`closing` is `None`), then makes
    /// the next part.
    Next {
        /// The last part as it is.
        last: BucketVersion,
        /// The version that closing gives it.
        closing: Option<BucketVersion>,
    },
}

/// One write: elements for one part of one bucket.
#[derive(Debug, Clone)]
pub struct BucketWrite {
    /// Which bucket.
    pub key: BucketKey,
    /// The fence.
    pub expect: Expect,
    /// The version the part has afterwards.
    pub target: BucketVersion,
    /// What is appended, in order of arrival.
    pub elements: Elements,
    /// The computed fields of the part (`target.part`) afterwards.
    pub computed: Computed,
}

/// What became of one write.
#[derive(Debug)]
pub enum WriteOutcome {
    /// It is durable.
    Stored,
    /// The bucket is not as expected: load it. Nothing of this write went in
    /// now (an earlier try of the same write may have).
    Fenced,
    /// Refused or unknown; other writes of the same call are not affected.
    Failed(StoreError),
}

/// One part as stored.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredPart {
    /// Its version.
    pub version: BucketVersion,
    /// Whether it takes no instants any more.
    pub full: bool,
    /// Whether its readings were dropped and its computed fields kept: then it
    /// has no elements, and takes none.
    pub raw_dropped: bool,
    /// Bytes of its document (an upper bound).
    pub bytes: usize,
    /// Its computed fields as stated in the store.
    pub computed: Computed,
    /// Further fields that do not follow from `computed` though they should
    /// (the `sum<Measure>` fields for people and shell), named for `verify`.
    pub stray_fields: Vec<String>,
    /// Its readings, in order of arrival.
    pub elements: Elements,
}

/// One bucket as stored: all its parts in order, at least one.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredBucket {
    /// Which bucket.
    pub key: BucketKey,
    /// Its parts.
    pub parts: Vec<StoredPart>,
}

impl StoredBucket {
    /// The version of the bucket.
    #[must_use]
    pub fn version(&self) -> BucketVersion {
        self.parts
            .last()
            .map(|part| part.version)
            .expect("a stored bucket has at least one part")
    }
}

/// Computed fields of one hour, over its parts, read without any readings.
#[derive(Debug, Clone, PartialEq)]
pub struct HourSummary {
    /// Which bucket.
    pub key: BucketKey,
    /// The version the fields belong to.
    pub version: BucketVersion,
    /// The fields, merged over the parts.
    pub computed: Computed,
}

/// Why a store call failed, sorted by what the caller does next.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Away or overloaded: the same call may work later. Whether a write went
    /// in is unknown.
    #[error("the {store} store is not available: {reason}")]
    Unavailable {
        /// Which implementation.
        store: &'static str,
        /// What it said.
        reason: String,
    },
    /// What is stored cannot be read: somebody must look.
    #[error("{what} in the {store} store cannot be read: {reason}")]
    Corrupt {
        /// Which implementation.
        store: &'static str,
        /// Which document or record.
        what: String,
        /// Why.
        reason: String,
    },
    /// The store refuses this call and will refuse it again.
    #[error("the {store} store refuses: {reason}")]
    Refused {
        /// Which implementation.
        store: &'static str,
        /// What it said.
        reason: String,
    },
}

/// Where buckets are kept. All calls may run concurrently.
#[async_trait]
pub trait Store: Send + Sync + fmt::Debug + 'static {
    /// `embedded` or `mongodb`.
    fn name(&self) -> &'static str;

    /// Whether other processes may write to it while this one has it open.
    fn is_shared(&self) -> bool {
        true
    }

    /// Largest size of one part in bytes, or `None` where parts are unlimited.
    fn part_bytes_max(&self) -> Option<usize>;

    /// Writes many buckets, at most one write a bucket, as one round. The
    /// outcomes are in the order of the writes. `Err` is [`WriteOutcome::Failed`]
    /// for all.
    async fn write(&self, writes: &[BucketWrite]) -> Result<Vec<WriteOutcome>, StoreError>;

    /// Loads buckets with their readings, in the order of `keys`; `None` where
    /// the store has nothing.
    async fn load(&self, keys: &[BucketKey]) -> Result<Vec<Option<StoredBucket>>, StoreError>;

    /// Computed fields of every hour of `sensors` within `hours`, ordered by
    /// sensor id and hour. Reads no readings.
    async fn hours(
        &self,
        sensors: &[SensorId],
        hours: HourRange,
    ) -> Result<Vec<HourSummary>, StoreError>;

    /// The buckets of a sensor within `hours` in the given order, as a stream
    /// that holds few of them in memory.
    fn scan(
        &self,
        sensor: &SensorId,
        hours: HourRange,
        order: Order,
    ) -> BoxStream<'static, Result<StoredBucket, StoreError>>;

    /// The newest bucket of each sensor that has one, ordered by sensor id.
    async fn newest(&self, sensors: &[SensorId]) -> Result<Vec<StoredBucket>, StoreError>;

    /// Takes in what is told of sensors, at most one thing a sensor: when they
    /// were last heard of, tags, recent readings. All that is told of one sensor
    /// goes in as one step. Repeating it, late or from two processes, does no
    /// harm: times only rise, no key goes, recent readings are fenced. Where
    /// their fence does not hold ([`WriteOutcome::Fenced`]) the rest may be in or
    /// not: load the record and tell again. In the order of `told`.
    async fn touch(&self, told: &[SensorTold]) -> Result<Vec<WriteOutcome>, StoreError>;

    /// The records of `sensors` with all they hold, ordered by id; what there is
    /// not is left out. One round trip.
    async fn sensors(&self, sensors: &[SensorId]) -> Result<Vec<StoredSensor>, StoreError>;

    /// At most `limit` sensors that pass `filter`, behind `after`, in the order of
    /// [`SensorCursor`], without their recent readings. One round trip.
    async fn find_sensors(
        &self,
        filter: &SensorFilter,
        after: Option<&SensorCursor>,
        limit: usize,
    ) -> Result<Vec<StoredSensor>, StoreError>;

    /// At most `limit` records of sensors behind `after`, ordered by id, without
    /// their recent readings, for whoever goes through all: one that cannot be
    /// read stands in its place and hides no other. One round trip.
    async fn each_sensor(
        &self,
        after: Option<&SensorId>,
        limit: usize,
    ) -> Result<Vec<Result<StoredSensor, UnreadSensor>>, StoreError> {
        let after = after.map(SensorCursor::by_id);
        let all = SensorFilter::default();
        let page = self.find_sensors(&all, after.as_ref(), limit).await?;
        Ok(page.into_iter().map(Ok).collect())
    }

    /// How many sensors were heard of, but not at `since` or later; of `among`
    /// alone where given.
    async fn count_silent(
        &self,
        since: Micros,
        among: Option<&[SensorId]>,
    ) -> Result<u64, StoreError>;

    /// Puts what people say of sensors, at most one put a sensor; outcomes in
    /// their order. [`WriteOutcome::Fenced`]: load and put again.
    async fn put_sensors(&self, puts: &[SensorPut]) -> Result<Vec<WriteOutcome>, StoreError>;

    /// One site.
    async fn site(&self, site: &SiteId) -> Result<Option<StoredSite>, StoreError>;

    /// At most `limit` sites with an id above `after`, ordered by id.
    async fn sites(
        &self,
        after: Option<&SiteId>,
        limit: usize,
    ) -> Result<Vec<StoredSite>, StoreError>;

    /// Puts one site.
    async fn put_site(&self, put: &SitePut) -> Result<WriteOutcome, StoreError>;

    /// One batch of rewriting the copies of a site: gives the site's copy to the
    /// next sensors behind its progress that have an older one, looking at no
    /// more than `limit`, then notes the progress. Answers it; `None` once all
    /// are done, or where nothing is to be rewritten. A crash at any step leaves
    /// what the next call goes on with; an older version never replaces a newer.
    async fn rewrite_copies(
        &self,
        site: &SiteId,
        limit: usize,
    ) -> Result<Option<CopiesProgress>, StoreError>;

    /// Takes readings away from one bucket, as the edit says.
    async fn edit(&self, edit: &BucketEdit) -> Result<WriteOutcome, StoreError>;

    /// The oldest hour of each of `sensors` that has a bucket, ordered by sensor
    /// id. Reads no readings.
    async fn oldest_hours(
        &self,
        sensors: &[SensorId],
    ) -> Result<Vec<(SensorId, HourStart)>, StoreError>;

    /// Removes the buckets of these hours, whole. How many documents went.
    async fn drop_hours(&self, ranges: &[SensorHoursRange]) -> Result<u64, StoreError>;

    /// Drops the readings of these hours and keeps their computed fields, each
    /// bucket in one step that raises its version; then notes the end of each
    /// range as the sensor's `raw_dropped_before`, which never moves back. What
    /// was dropped before stays as it is. How many documents changed.
    async fn drop_readings(&self, ranges: &[SensorHoursRange], by: i64) -> Result<u64, StoreError>;

    /// Every bucket there is, ordered by key, for `verify`.
    fn all(&self) -> BoxStream<'static, Result<StoredBucket, StoreError>>;

    /// The buckets behind `after`, in the order of [`Store::all`].
    fn all_after(&self, after: &BucketKey) -> BoxStream<'static, Result<StoredBucket, StoreError>> {
        behind(self.all(), after)
    }

    /// About how many parts of buckets there are, to tell how far a pass over
    /// them is; `None` where it is not known.
    async fn part_count(&self) -> Result<Option<u64>, StoreError> {
        Ok(None)
    }

    /// Replaces the computed fields of one part where it still has the version
    /// `expected`, and gives it `target`. Whether it did.
    async fn repair(
        &self,
        key: &BucketKey,
        expected: BucketVersion,
        target: BucketVersion,
        computed: &Computed,
    ) -> Result<bool, StoreError>;

    /// Closes a part that has the version `expected` and is not the last of its
    /// bucket, and gives it `target`. Whether it did.
    async fn close_part(
        &self,
        _key: &BucketKey,
        _expected: BucketVersion,
        _target: BucketVersion,
    ) -> Result<bool, StoreError> {
        Ok(false)
    }

    /// All there is of buckets, ordered by key, as a stream that holds few of them
    /// in memory; what names no bucket stands anywhere. What is written meanwhile
    /// may be seen in part: [`Store::inspect_bucket`] is of one instant.
    fn inspect(&self) -> BoxStream<'static, Result<InspectedBucket, StoreError>> {
        not_inspectable(self.name())
    }

    /// All there is of one bucket at one instant; `None` where there is nothing.
    async fn inspect_bucket(
        &self,
        _key: &BucketKey,
    ) -> Result<Option<InspectedBucket>, StoreError> {
        Err(inspect::not_inspected(self.name()))
    }

    /// All records of sensors, with or without their recent readings, ordered by
    /// id.
    fn inspect_sensors(&self) -> BoxStream<'static, Result<Inspected<StoredSensor>, StoreError>> {
        not_inspectable(self.name())
    }

    /// All records of sites, ordered by id.
    fn inspect_sites(&self) -> BoxStream<'static, Result<Inspected<StoredSite>, StoreError>> {
        not_inspectable(self.name())
    }

    /// Whether the store answers now.
    async fn ping(&self) -> Result<(), StoreError>;
}

fn not_inspectable<T: Send + 'static>(
    store: &'static str,
) -> BoxStream<'static, Result<T, StoreError>> {
    let refused = std::future::ready(Err(inspect::not_inspected(store)));
    futures_util::stream::once(refused).boxed()
}

/// What stands behind `after` in a stream of buckets, and what cannot be read.
fn behind(
    buckets: BoxStream<'static, Result<StoredBucket, StoreError>>,
    after: &BucketKey,
) -> BoxStream<'static, Result<StoredBucket, StoreError>> {
    let after = after.clone();
    let is_before =
        move |item: &Result<StoredBucket, _>| matches!(item, Ok(bucket) if bucket.key <= after);
    buckets
        .filter(move |item| std::future::ready(!is_before(item)))
        .boxed()
}
