//! A store in memory with the rules of a database of parts, planted trouble,
//! and a pause before and after every step, so that a caller polled by hand
//! can be stopped at each of them while others go on.

mod fences;
mod sensors;
mod trouble;

pub use fences::Written;
pub use trouble::Trouble;

use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Poll;

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use hourglass::bucket::Computed;
use hourglass::model::{
    BucketKey, HourRange, HourStart, Micros, Order, RecentReading, SensorId, SiteId,
};
use hourglass::store::{
    BucketEdit, BucketVersion, BucketWrite, CopiesProgress, HourSummary, SensorCursor,
    SensorFilter, SensorHoursRange, SensorPut, SensorTold, SitePut, Store, StoreError,
    StoredBucket, StoredSensor, StoredSite, WriteOutcome,
};

use fences::State;
use trouble::{away, refused};

/// The store; clones are the same store.
#[derive(Debug, Clone)]
pub struct SimStore {
    state: Arc<Mutex<State>>,
    part_bytes_max: Option<usize>,
}

impl SimStore {
    pub fn new(part_bytes_max: Option<usize>) -> Self {
        Self {
            state: Arc::default(),
            part_bytes_max,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Whether calls stop at every step until they are polled again.
    pub fn set_pauses(&self, pauses: bool) {
        self.lock().pauses = pauses;
    }

    /// Whether every call fails.
    pub fn set_away(&self, away: bool) {
        self.lock().away = away;
    }

    /// The next call that writes has this trouble.
    pub fn plant(&self, trouble: Trouble) {
        self.lock().troubles.push_back(trouble);
    }

    /// Nothing more goes wrong.
    pub fn heal(&self) {
        let mut state = self.lock();
        state.away = false;
        state.troubles.clear();
    }

    /// A write whose caller was told of an error long ago arrives.
    pub fn delayed_arrives(&self) {
        let mut state = self.lock();
        if let Some(write) = state.delayed.pop_front()
            && state.close(&write, false)
        {
            state.put(&write, false);
        }
    }

    /// Writes whose caller was told of an error, and that have not arrived, never
    /// will.
    pub fn forget_delayed(&self) {
        self.lock().delayed.clear();
    }

    /// Everything that went in so far, in order.
    pub fn written(&self) -> Vec<Written> {
        self.written_since(0)
    }

    /// What went in behind the first `known`.
    pub fn written_since(&self, known: usize) -> Vec<Written> {
        self.lock().written[known..].to_vec()
    }

    /// All buckets, as a reader who looks now sees them.
    pub fn buckets(&self) -> Vec<StoredBucket> {
        let state = self.lock();
        state.buckets.keys().filter_map(|k| state.load(k)).collect()
    }

    /// The newest readings in the record of each sensor.
    pub fn recents(&self) -> Vec<(SensorId, Vec<RecentReading>)> {
        self.lock().sensors.recents()
    }

    /// Stops a call here until it is polled again.
    async fn pause(&self) {
        let mut paused = !self.lock().pauses;
        std::future::poll_fn(|context| {
            if std::mem::replace(&mut paused, true) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    /// A step that reads, with a pause on both sides.
    async fn read<T>(&self, read: impl FnOnce(&State) -> T) -> Result<T, StoreError> {
        self.pause().await;
        let answer = {
            let state = self.lock();
            if state.away {
                Err(away())
            } else {
                Ok(read(&state))
            }
        };
        self.pause().await;
        answer
    }
}

#[async_trait]
impl Store for SimStore {
    fn name(&self) -> &'static str {
        "simulated"
    }

    fn part_bytes_max(&self) -> Option<usize> {
        self.part_bytes_max
    }

    async fn write(&self, writes: &[BucketWrite]) -> Result<Vec<WriteOutcome>, StoreError> {
        self.pause().await;
        let trouble = {
            let mut state = self.lock();
            if state.away {
                return Err(away());
            }
            state.troubles.pop_front()
        };
        match trouble {
            Some(Trouble::ErrorBefore) => return Err(away()),
            Some(Trouble::Refused) => {
                return Err(refused());
            }
            Some(Trouble::Delayed) => {
                self.lock().delayed.extend(writes.iter().cloned());
                return Err(away());
            }
            _ => {}
        }
        let knows_own = writes.len() > 1;
        let mut outcomes: Vec<Option<WriteOutcome>> = writes.iter().map(|_| None).collect();
        if trouble == Some(Trouble::FirstFails)
            && let Some(first) = outcomes.first_mut()
        {
            *first = Some(WriteOutcome::Failed(away()));
        }
        for (write, outcome) in writes.iter().zip(&mut outcomes) {
            if outcome.is_none() && !self.lock().close(write, knows_own) {
                *outcome = Some(WriteOutcome::Fenced);
            }
        }
        self.pause().await;
        if trouble == Some(Trouble::LostHalfWay) {
            return Err(away());
        }
        if trouble == Some(Trouble::Twice) {
            let mut state = self.lock();
            let tries = writes.iter().zip(&outcomes);
            for (write, _) in tries.filter(|(_, outcome)| outcome.is_none()) {
                state.put(write, knows_own);
            }
        }
        let put = |(write, outcome): (&BucketWrite, Option<WriteOutcome>)| {
            outcome.unwrap_or_else(|| match self.lock().put(write, knows_own) {
                true => WriteOutcome::Stored,
                false => WriteOutcome::Fenced,
            })
        };
        let outcomes = writes.iter().zip(outcomes).map(put).collect();
        self.pause().await;
        if trouble == Some(Trouble::ReplyLost) {
            return Err(away());
        }
        Ok(outcomes)
    }

    async fn load(&self, keys: &[BucketKey]) -> Result<Vec<Option<StoredBucket>>, StoreError> {
        self.read(|state| keys.iter().map(|key| state.load(key)).collect())
            .await
    }

    async fn hours(
        &self,
        sensors: &[SensorId],
        hours: HourRange,
    ) -> Result<Vec<HourSummary>, StoreError> {
        let summary = |bucket: StoredBucket| {
            let mut computed = Computed::default();
            for part in &bucket.parts {
                computed.merge(&part.computed);
            }
            HourSummary {
                version: bucket.version(),
                key: bucket.key,
                computed,
            }
        };
        self.read(|state| {
            let keys = sensors.iter().flat_map(|s| state.keys_of(s, hours));
            keys.filter_map(|key| state.load(&key).map(summary))
                .collect()
        })
        .await
    }

    /// As a cursor does it: each bucket is as it is when its turn comes.
    fn scan(
        &self,
        sensor: &SensorId,
        hours: HourRange,
        order: Order,
    ) -> BoxStream<'static, Result<StoredBucket, StoreError>> {
        let (store, sensor) = (self.clone(), sensor.clone());
        futures_util::stream::try_unfold(None, move |last: Option<HourStart>| {
            let (store, sensor) = (store.clone(), sensor.clone());
            async move {
                let next = store
                    .read(|state| {
                        let mut keys = state.keys_of(&sensor, hours);
                        if order == Order::Descending {
                            keys.reverse();
                        }
                        let is_next = |key: &&BucketKey| match order {
                            Order::Ascending => last.is_none_or(|last| key.hour > last),
                            Order::Descending => last.is_none_or(|last| key.hour < last),
                        };
                        let key = keys.iter().find(is_next)?;
                        state.load(key)
                    })
                    .await?;
                Ok(next.map(|bucket| {
                    let hour = bucket.key.hour;
                    (bucket, Some(hour))
                }))
            }
        })
        .boxed()
    }

    async fn newest(&self, sensors: &[SensorId]) -> Result<Vec<StoredBucket>, StoreError> {
        self.read(|state| {
            let newest = |sensor: &SensorId| {
                let mut keys = state.buckets.keys().rev();
                state.load(keys.find(|key| key.sensor == *sensor)?)
            };
            sensors.iter().filter_map(newest).collect()
        })
        .await
    }

    async fn touch(&self, told: &[SensorTold]) -> Result<Vec<WriteOutcome>, StoreError> {
        self.read(|_| ()).await?;
        let (outcomes, reply_lost) = {
            let mut state = self.lock();
            let planted = [Trouble::ErrorBefore, Trouble::ReplyLost];
            let trouble = state.troubles.pop_front_if(|t| planted.contains(t));
            if trouble == Some(Trouble::ErrorBefore) {
                return Err(away());
            }
            let outcomes = told.iter().map(|told| state.sensors.touch(told));
            (outcomes.collect(), trouble.is_some())
        };
        self.pause().await;
        if reply_lost {
            Err(away())
        } else {
            Ok(outcomes)
        }
    }

    async fn sensors(&self, sensors: &[SensorId]) -> Result<Vec<StoredSensor>, StoreError> {
        self.read(|state| state.sensors.get(sensors)).await
    }

    async fn find_sensors(
        &self,
        filter: &SensorFilter,
        after: Option<&SensorCursor>,
        limit: usize,
    ) -> Result<Vec<StoredSensor>, StoreError> {
        self.read(|state| state.sensors.find(filter, after, limit))
            .await
    }

    async fn edit(&self, edit: &BucketEdit) -> Result<WriteOutcome, StoreError> {
        self.read(|_| ()).await?;
        let planted = [Trouble::ErrorBefore, Trouble::ReplyLost];
        let trouble = self.lock().troubles.pop_front_if(|t| planted.contains(t));
        if trouble == Some(Trouble::ErrorBefore) {
            return Err(away());
        }
        for part in &edit.parts {
            if !self.lock().edit(&edit.key, part) {
                return Ok(WriteOutcome::Fenced);
            }
            self.pause().await;
        }
        match trouble {
            Some(_) => Err(away()),
            None => Ok(WriteOutcome::Stored),
        }
    }

    // What people say of sensors and sites, and what passes retention, is no
    // matter of the simulation: the real stores are asked for it.

    async fn count_silent(&self, _: Micros, _: Option<&[SensorId]>) -> Result<u64, StoreError> {
        Err(refused())
    }

    async fn put_sensors(&self, _: &[SensorPut]) -> Result<Vec<WriteOutcome>, StoreError> {
        Err(refused())
    }

    async fn site(&self, _: &SiteId) -> Result<Option<StoredSite>, StoreError> {
        Err(refused())
    }

    async fn sites(&self, _: Option<&SiteId>, _: usize) -> Result<Vec<StoredSite>, StoreError> {
        Err(refused())
    }

    async fn put_site(&self, _: &SitePut) -> Result<WriteOutcome, StoreError> {
        Err(refused())
    }

    async fn rewrite_copies(
        &self,
        _: &SiteId,
        _: usize,
    ) -> Result<Option<CopiesProgress>, StoreError> {
        Err(refused())
    }

    async fn oldest_hours(&self, _: &[SensorId]) -> Result<Vec<(SensorId, HourStart)>, StoreError> {
        Err(refused())
    }

    async fn drop_hours(&self, _: &[SensorHoursRange]) -> Result<u64, StoreError> {
        Err(refused())
    }

    async fn drop_readings(&self, _: &[SensorHoursRange], _: i64) -> Result<u64, StoreError> {
        Err(refused())
    }

    fn all(&self) -> BoxStream<'static, Result<StoredBucket, StoreError>> {
        futures_util::stream::iter(self.buckets().into_iter().map(Ok)).boxed()
    }

    async fn repair(
        &self,
        _: &BucketKey,
        _: BucketVersion,
        _: BucketVersion,
        _: &Computed,
    ) -> Result<bool, StoreError> {
        Ok(false)
    }

    async fn ping(&self) -> Result<(), StoreError> {
        self.read(|_| ()).await
    }
}
