//! Which sensors there are: the store's list with what the buffer knows laid over
//! it, so that what was acknowledged is in every list, flushed or not.

use std::collections::{BTreeMap, BTreeSet};

use super::{Completeness, Query, unless_away};
use crate::buffer::SensorSeen;
use crate::model::{ATTRIBUTES_MAX, Micros, SensorDetails, SensorId, Tags};
use crate::store::{SensorCursor, SensorFilter, StoreError, StoredRecent, StoredSensor};

/// The answer.
#[derive(Debug, Clone, PartialEq)]
pub struct SensorsAnswer {
    /// Whether it may miss sensors.
    pub completeness: Completeness,
    /// In the order of [`SensorCursor`], at most as many as asked for, without
    /// recent readings.
    pub sensors: Vec<StoredSensor>,
    /// Where the next page begins, if more follow.
    pub next: Option<SensorCursor>,
}

/// Sensors of one page with their places, in order.
type Places = BTreeMap<(Option<Micros>, SensorId), StoredSensor>;

impl Query {
    /// At most `limit` sensors that pass `filter`, behind `after`.
    ///
    /// # Errors
    /// What the store says, unless it is away.
    pub async fn sensors(
        &self,
        filter: &SensorFilter,
        after: Option<&SensorCursor>,
        limit: usize,
    ) -> Result<SensorsAnswer, StoreError> {
        let mut completeness = self.completeness();
        let buffered: BTreeMap<SensorId, SensorSeen> = self
            .buffer
            .seen(None)
            .into_iter()
            .map(|seen| (seen.sensor.clone(), seen))
            .collect();
        let mut places = Places::new();
        // What the store listed, whether it passes or not.
        let mut listed = BTreeSet::new();
        let mut cursor = after.cloned();
        let mut is_all = false;
        while places.len() <= limit && !is_all {
            let asked = limit + 1;
            let found = self.store.find_sensors(filter, cursor.as_ref(), asked);
            let Some(found) = unless_away(found.await)? else {
                completeness = Completeness::StoreAway;
                is_all = true;
                break;
            };
            is_all = found.len() < asked;
            for mut stored in found {
                let place = place(filter, &stored);
                cursor = Some(cursor_of(&place));
                listed.insert(stored.id.clone());
                if let Some(seen) = buffered.get(&stored.id) {
                    lay_over(&mut stored, seen);
                }
                if filter.matches(&stored) {
                    places.insert(place, stored);
                }
            }
        }
        // Beyond the last place that the store told of, its next page tells more.
        let end = cursor.filter(|_| !is_all).map(|c| (c.last_seen, c.id));
        let extra = buffered
            .values()
            .filter(|seen| !listed.contains(&seen.sensor) && may_be_unlisted(filter, seen));
        let extra: Vec<&SensorSeen> = extra.collect();
        let known = match completeness {
            // Without conditions the store lists all it has.
            _ if filter == &SensorFilter::default() => Vec::new(),
            Completeness::StoreAway => Vec::new(),
            _ => self.records(&extra).await?,
        };
        for seen in extra {
            let stored = known.iter().find(|stored| stored.id == seen.sensor);
            // One that the store knows as silent has its place by what it knows.
            let is_placed = filter.silent_since.is_some()
                && stored.is_some_and(|stored| stored.last_seen.is_some());
            let mut sensor = stored.cloned().unwrap_or_else(|| unknown(&seen.sensor));
            lay_over(&mut sensor, seen);
            let place = place(filter, &sensor);
            let is_behind = after.is_none_or(|after| place > key(after));
            let is_before = end.as_ref().is_none_or(|end| place <= *end);
            if !is_placed && is_behind && is_before && filter.matches(&sensor) {
                sensor.recent = StoredRecent::default();
                places.insert(place, sensor);
            }
        }
        let next = (places.len() > limit)
            .then(|| places.keys().nth(limit.checked_sub(1)?))
            .flatten()
            .map(cursor_of);
        Ok(SensorsAnswer {
            completeness,
            sensors: places.into_values().take(limit).collect(),
            next,
        })
    }

    async fn records(&self, seen: &[&SensorSeen]) -> Result<Vec<StoredSensor>, StoreError> {
        if seen.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<SensorId> = seen.iter().map(|seen| seen.sensor.clone()).collect();
        Ok(unless_away(self.store.sensors(&ids).await)?.unwrap_or_default())
    }
}

/// Whether a sensor of the buffer may pass though the store did not list it: the
/// store was not told of it, or of its tags.
fn may_be_unlisted(filter: &SensorFilter, seen: &SensorSeen) -> bool {
    let is_silent = filter
        .silent_since
        .is_none_or(|since| seen.last_seen < since);
    let matches = |condition: &crate::store::AttributeFilter| condition.matches(&seen.attributes);
    let by_tags = filter.attributes.is_empty()
        || (!seen.attributes_told && filter.attributes.iter().any(matches));
    // What is only in the buffer is at no site.
    is_silent && by_tags && (filter.site.is_none() || !filter.attributes.is_empty())
}

/// What the buffer knows came later, or is the same; but attributes that people
/// set stay.
pub(super) fn lay_over(stored: &mut StoredSensor, seen: &SensorSeen) {
    stored.last_seen = stored.last_seen.max(Some(seen.last_seen));
    let set = &stored.details.attributes;
    let tags = seen
        .attributes
        .iter()
        .filter(|(key, _)| set.get(key).is_none());
    stored.attributes.merge(&Tags::new(tags), ATTRIBUTES_MAX);
}

/// A sensor that the store does not know.
pub(super) fn unknown(id: &SensorId) -> StoredSensor {
    StoredSensor {
        id: id.clone(),
        last_seen: None,
        attributes: Tags::default(),
        details: SensorDetails::default(),
        version: None,
        recent: StoredRecent::default(),
        raw_dropped_before: None,
    }
}

fn place(filter: &SensorFilter, stored: &StoredSensor) -> (Option<Micros>, SensorId) {
    let last_seen = filter.silent_since.and(stored.last_seen);
    (last_seen, stored.id.clone())
}

fn key(cursor: &SensorCursor) -> (Option<Micros>, SensorId) {
    (cursor.last_seen, cursor.id.clone())
}

fn cursor_of((last_seen, id): &(Option<Micros>, SensorId)) -> SensorCursor {
    SensorCursor {
        id: id.clone(),
        last_seen: *last_seen,
    }
}
