//! Which sensors there are, of those that pass a filter: a page at a time, in
//! one order over store and buffer.
//!
//! Two lists are merged, both in the order of the answer: the store's, and the
//! candidates of the buffer, of which the store was not told all. A sensor that
//! is in both counts once, as it is once the store was told; then the filter is
//! asked again.

use std::collections::{BTreeMap, HashMap};

use super::overlay::tell;
use super::{Completeness, Query, unless_away};
use crate::buffer::SensorSeen;
use crate::model::{Micros, SensorId};
use crate::store::{SensorCursor, SensorFilter, Store, StoreError, StoredRecent, StoredSensor};

/// Sensors asked for at least, once a first call did not fill the page.
const TURN_MIN: usize = 100;

/// The answer.
#[derive(Debug, Clone, PartialEq)]
pub struct SensorsAnswer {
    /// Whether it may miss sensors.
    pub completeness: Completeness,
    /// In the order of [`SensorCursor`], at most as many as asked for, without
    /// their recent readings.
    pub sensors: Vec<StoredSensor>,
    /// Behind which more follow.
    pub next: Option<SensorCursor>,
}

/// A place in the order of an answer: by time of receipt where silent sensors
/// are asked for, by id alone elsewhere.
type Place = (Option<Micros>, SensorId);

/// What one call found.
struct Turn {
    sensors: Vec<StoredSensor>,
    /// Up to where the call looked; `None`: to the end.
    end: Option<Place>,
}

impl Query {
    /// At most `limit` sensors that pass `filter`, behind `after`, those that
    /// only the buffer knows included.
    ///
    /// # Errors
    /// What the store says, unless it is away.
    pub async fn sensors(
        &self,
        filter: &SensorFilter,
        after: Option<&SensorCursor>,
        limit: usize,
    ) -> Result<SensorsAnswer, StoreError> {
        let completeness = self.completeness();
        let first = after.map(|cursor| place_of(filter, cursor.last_seen, &cursor.id));
        let from = after.filter(|_| !is_by_time(filter)).map(|c| &c.id);
        let overlay = Overlay::new(filter, self.buffer.seen_untold(from));
        let mut page = Vec::new();
        let mut reached = first.clone();
        let mut wanted = limit.saturating_add(1);
        loop {
            let turn = overlay.turn(&*self.store, reached, wanted).await;
            let Some(turn) = unless_away(turn)? else {
                let held = self.sensors_held(filter, first.as_ref());
                return Ok(answer(Completeness::StoreAway, filter, held, limit));
            };
            page.extend(turn.sensors);
            reached = turn.end;
            if page.len() > limit || reached.is_none() {
                return Ok(answer(completeness, filter, page, limit));
            }
            wanted = (limit + 1 - page.len()).max(TURN_MIN);
        }
    }

    /// What the buffer alone knows, for when the store is away.
    fn sensors_held(&self, filter: &SensorFilter, after: Option<&Place>) -> Vec<StoredSensor> {
        let held = self.buffer.seen(None).into_iter().map(|seen| {
            let mut record = StoredSensor::blank(seen.sensor);
            record.last_seen = Some(seen.last_seen);
            record.attributes = seen.attributes;
            (place_of(filter, record.last_seen, &record.id), record)
        });
        let asked = held.filter(|(place, record)| {
            after.is_none_or(|after| place > after) && filter.matches(record)
        });
        let by_place: BTreeMap<Place, StoredSensor> = asked.collect();
        by_place.into_values().collect()
    }
}

fn answer(
    completeness: Completeness,
    filter: &SensorFilter,
    mut sensors: Vec<StoredSensor>,
    limit: usize,
) -> SensorsAnswer {
    let has_more = sensors.len() > limit;
    sensors.truncate(limit);
    let next = sensors.last().filter(|_| has_more).map(|last| {
        let (last_seen, id) = place_of(filter, last.last_seen, &last.id);
        SensorCursor { id, last_seen }
    });
    SensorsAnswer {
        completeness,
        sensors,
        next,
    }
}

fn is_by_time(filter: &SensorFilter) -> bool {
    filter.silent_since.is_some()
}

fn place_of(filter: &SensorFilter, last_seen: Option<Micros>, id: &SensorId) -> Place {
    (last_seen.filter(|_| is_by_time(filter)), id.clone())
}

/// What the buffer adds to the store's list.
struct Overlay<'a> {
    filter: &'a SensorFilter,
    untold: HashMap<SensorId, SensorSeen>,
    /// Places of those that the store's list may lack, or has elsewhere.
    candidates: Vec<Place>,
}

impl<'a> Overlay<'a> {
    fn new(filter: &'a SensorFilter, untold: Vec<SensorSeen>) -> Self {
        let candidates = untold.iter().filter(|seen| may_be_lacking(filter, seen));
        let places = candidates.map(|seen| place_of(filter, Some(seen.last_seen), &seen.sensor));
        let mut candidates: Vec<Place> = places.collect();
        candidates.sort_unstable();
        let untold = untold.into_iter();
        Self {
            filter,
            untold: untold.map(|seen| (seen.sensor.clone(), seen)).collect(),
            candidates,
        }
    }

    /// What passes behind `after`, of at most `wanted` sensors of the store and as
    /// many candidates.
    async fn turn(
        &self,
        store: &dyn Store,
        after: Option<Place>,
        wanted: usize,
    ) -> Result<Turn, StoreError> {
        let cursor = after.clone();
        let cursor = cursor.map(|(last_seen, id)| SensorCursor { id, last_seen });
        let stored = store
            .find_sensors(self.filter, cursor.as_ref(), wanted)
            .await?;
        let is_full = stored.len() >= wanted;
        let last = stored.last().filter(|_| is_full);
        let mut end = last.map(|last| place_of(self.filter, last.last_seen, &last.id));
        let candidates = self.candidates_between(after.as_ref(), end.as_ref());
        if let Some(last) = candidates.get(wanted - 1)
            && candidates.len() > wanted
        {
            end = Some(last.clone());
        }
        let candidates = candidates.get(..wanted).unwrap_or(candidates);

        let mut found: BTreeMap<Place, StoredSensor> = BTreeMap::new();
        for record in stored {
            let place = place_of(self.filter, record.last_seen, &record.id);
            let is_reached = end.as_ref().is_none_or(|end| place <= *end);
            if is_reached && !self.was_heard_later(&record) {
                found.insert(place, record);
            }
        }
        let lacking = candidates.iter().filter(|place| !found.contains_key(place));
        let lacking: Vec<SensorId> = lacking.map(|(_, id)| id.clone()).collect();
        for record in self.load(store, lacking).await? {
            let place = self.told_place(&record);
            // Heard of later than here, by another process that told the store
            // so: its place is where the store has it.
            if candidates.binary_search(&place).is_ok() {
                found.insert(place, record);
            }
        }
        let records = found.into_values().map(|mut record| {
            if let Some(seen) = self.untold.get(&record.id) {
                tell(&mut record, seen);
            }
            record
        });
        Ok(Turn {
            sensors: records.filter(|r| self.filter.matches(r)).collect(),
            end,
        })
    }

    fn candidates_between(&self, after: Option<&Place>, end: Option<&Place>) -> &[Place] {
        let count =
            |is_before: &dyn Fn(&Place) -> bool| self.candidates.partition_point(|c| is_before(c));
        let from = count(&|place| after.is_some_and(|after| place <= after));
        let to = count(&|place| end.is_none_or(|end| place <= end));
        self.candidates.get(from..to).unwrap_or_default()
    }

    /// The records of candidates that the store did not list.
    async fn load(
        &self,
        store: &dyn Store,
        sensors: Vec<SensorId>,
    ) -> Result<Vec<StoredSensor>, StoreError> {
        // The store lists all that it has.
        let lists_all = *self.filter == SensorFilter::default();
        let mut stored = HashMap::new();
        if !lists_all && !sensors.is_empty() {
            let records = store.sensors(&sensors).await?;
            for mut record in records {
                record.recent = StoredRecent::default();
                stored.insert(record.id.clone(), record);
            }
        }
        let records = sensors.into_iter().map(|id| {
            stored
                .remove(&id)
                .unwrap_or_else(|| StoredSensor::blank(id))
        });
        Ok(records.collect())
    }

    /// Whether the place of a record is further back than where the store has it.
    fn was_heard_later(&self, record: &StoredSensor) -> bool {
        is_by_time(self.filter) && self.told_place(record).0 > record.last_seen
    }

    fn told_place(&self, record: &StoredSensor) -> Place {
        let heard = self.untold.get(&record.id).map(|seen| seen.last_seen);
        place_of(self.filter, record.last_seen.max(heard), &record.id)
    }
}

/// Whether a sensor may pass that the store does not list at its place.
fn may_be_lacking(filter: &SensorFilter, seen: &SensorSeen) -> bool {
    match filter.silent_since {
        Some(since) => seen.last_seen < since,
        // The store knows its site; what it does not know are tags. One at least
        // that it lacks must pass.
        None if filter.attributes.is_empty() => filter.site.is_none(),
        None => {
            let mut conditions = filter.attributes.iter();
            !seen.attributes_told && conditions.any(|c| c.matches(&seen.attributes))
        }
    }
}
