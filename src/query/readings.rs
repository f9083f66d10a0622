//! Raw readings of one sensor, as a stream of hours.

use std::collections::VecDeque;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;

use super::{Completeness, Query, unless_away};
use crate::bucket::{Elements, join_sorted};
use crate::model::{HourStart, MeasureName, Micros, Order, SensorId, TimeRange};
use crate::store::{StoreError, StoredBucket};

/// What is asked.
#[derive(Debug, Clone)]
pub struct ReadingsQuery {
    /// Of which sensor.
    pub sensor: SensorId,
    /// Of which time.
    pub range: TimeRange,
    /// Only these measures, unless empty; readings without one are left out.
    pub measures: Vec<MeasureName>,
    /// Oldest or newest first.
    pub order: Order,
}

/// The answer.
pub struct ReadingsAnswer {
    /// Whether it may miss readings.
    pub completeness: Completeness,
    /// Readings by hour, in the order asked for.
    pub hours: BoxStream<'static, Result<HourOfReadings, StoreError>>,
}

impl std::fmt::Debug for ReadingsAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReadingsAnswer")
            .field("completeness", &self.completeness)
            .finish_non_exhaustive()
    }
}

/// Readings of one hour.
#[derive(Debug, Clone, PartialEq)]
pub struct HourOfReadings {
    /// Instants with their values, in the order asked for.
    pub readings: Vec<(Micros, Vec<(MeasureName, f64)>)>,
}

type Buckets = BoxStream<'static, Result<StoredBucket, StoreError>>;

/// Hours of the buffer that wait to be merged with the store's.
struct Merging {
    query: ReadingsQuery,
    buffered: VecDeque<(HourStart, Vec<Elements>)>,
    next: Option<StoredBucket>,
    buckets: Buckets,
}

impl Query {
    /// Raw readings; memory is bounded by an hour of the sensor and what the
    /// buffer holds of it.
    ///
    /// # Errors
    /// What the store says, unless it is away.
    pub async fn readings(&self, query: ReadingsQuery) -> Result<ReadingsAnswer, StoreError> {
        let mut completeness = self.completeness();
        let hours = query.range.hours();
        let mut buffered: VecDeque<(HourStart, Vec<Elements>)> = self
            .buffer
            .snapshot(&query.sensor, hours)
            .into_iter()
            .map(|hour| {
                let flight = hour.flight.map(|flight| flight.elements);
                let lists = flight.into_iter().chain([hour.pending]).collect();
                (hour.hour, lists)
            })
            .collect();
        let mut buckets: Buckets = if hours.is_empty() {
            futures_util::stream::empty().boxed()
        } else {
            self.store.scan(&query.sensor, hours, query.order)
        };
        // The first bucket is fetched before the answer begins, so that it can
        // still say that the store is away.
        let next = match unless_away(buckets.next().await.transpose())? {
            Some(next) => next,
            None => {
                completeness = Completeness::StoreAway;
                buckets = futures_util::stream::empty().boxed();
                buffered = self
                    .buffer
                    .held(&query.sensor, hours)
                    .into_iter()
                    .map(|(hour, elements)| (hour, vec![elements]))
                    .collect();
                None
            }
        };
        if query.order == Order::Descending {
            buffered.make_contiguous().reverse();
        }
        let merging = Merging {
            query,
            buffered,
            next,
            buckets,
        };
        let hours = futures_util::stream::try_unfold(merging, Merging::step).boxed();
        Ok(ReadingsAnswer {
            completeness,
            hours,
        })
    }
}

impl Merging {
    async fn step(mut self) -> Result<Option<(HourOfReadings, Self)>, StoreError> {
        let stored = self.next.as_ref().map(|bucket| bucket.key.hour);
        let buffered = self.buffered.front().map(|(hour, _)| *hour);
        let hour = match (stored, buffered, self.query.order) {
            (None, None, _) => return Ok(None),
            (Some(hour), None, _) | (None, Some(hour), _) => hour,
            (Some(a), Some(b), Order::Ascending) => a.min(b),
            (Some(a), Some(b), Order::Descending) => a.max(b),
        };
        let bucket = if stored == Some(hour) {
            let following = self.buckets.next().await.transpose()?;
            std::mem::replace(&mut self.next, following)
        } else {
            None
        };
        let lists = if buffered == Some(hour) {
            self.buffered.pop_front().map(|(_, lists)| lists)
        } else {
            None
        };
        let parts = bucket.iter().flat_map(|bucket| &bucket.parts);
        let all: Vec<&Elements> = parts
            .map(|part| &part.elements)
            .chain(lists.iter().flatten())
            .filter(|list| !list.is_empty())
            .collect();
        let readings = self.query.select(hour, &all);
        Ok(Some((readings, self)))
    }
}

impl ReadingsQuery {
    /// What was asked for of one hour.
    fn select(&self, hour: HourStart, lists: &[&Elements]) -> HourOfReadings {
        let joined = join_sorted(lists);
        let wanted = |name: &MeasureName| self.measures.is_empty() || self.measures.contains(name);
        let mut readings: Vec<_> = joined
            .iter()
            .map(|element| (hour.at(element.offset), element))
            .filter(|(at, _)| self.range.contains(*at))
            .filter_map(|(at, element)| {
                let values: Vec<_> = element
                    .values()
                    .filter(|(name, _)| wanted(name))
                    .map(|(name, value)| (name.clone(), value))
                    .collect();
                (!values.is_empty()).then_some((at, values))
            })
            .collect();
        if self.order == Order::Descending {
            readings.reverse();
        }
        HourOfReadings { readings }
    }
}
