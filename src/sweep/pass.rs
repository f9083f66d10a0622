//! One pass over the store, turn by turn.

use std::sync::Arc;

use metrics::counter;

use super::fleet::{Fleet, Said, UNREAD};
use super::recent::{ToCut, cut};
use super::windows::{Queue, next_call};
use crate::buffer::Buffer;
use crate::metrics::names;
use crate::model::{HourRange, HourStart, Micros, SensorId};
use crate::retention::{Cutoffs, RetentionTable};
use crate::store::{
    LOADS_AT_ONCE, SensorHoursRange, SensorTold, Store, StoreError, WriteOutcome, WriterId,
};

/// How often the cutting of one record is made again that met another change.
const CUTS_MAX: u32 = 10;

/// What failed in one pass that the log names.
const NAMED_MAX: u64 = 5;

/// What a pass works with; cheap to clone.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "each field is the part its type names")]
pub struct PassParts {
    pub store: Arc<dyn Store>,
    pub buffer: Arc<Buffer>,
    pub table: Arc<RetentionTable>,
    pub writer: Arc<WriterId>,
}

/// What a pass dropped so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Dropped {
    /// Buckets that went whole (documents, where a bucket has several).
    pub hours: u64,
    /// Buckets whose readings went.
    pub readings: u64,
    /// Sensors or calls that the store refused; the next pass tries again.
    pub refused: u64,
}

/// What a turn came to.
#[derive(Debug)]
pub enum PassTurn {
    /// There is more to do.
    More,
    /// The store is away: make the turn again later.
    Away(StoreError),
    /// The sensors cannot be read on: this pass ends.
    Broken(StoreError),
    /// All sensors were looked at.
    Done,
}

/// A pass. Every turn makes one call to the store, or a call and its answer; one
/// that failed, or was given up half-way, is made again and does no harm.
#[derive(Debug)]
pub struct Pass {
    parts: PassParts,
    now: Micros,
    /// Whether the sensors are looked at and nothing goes yet: the first walk of
    /// a process, or after a change of a site.
    is_survey: bool,
    /// Changes of what sensors and sites say before it began.
    as_of: u64,
    fleet: Fleet,
    /// Sensors of the page that have a cutoff.
    bounded: Vec<(Said, Cutoffs)>,
    /// Records to cut, before anything is dropped.
    to_cut: Vec<Vec<ToCut>>,
    hours: Queue,
    readings: Queue,
    /// Calls under way, the next one last.
    calls: Vec<Call>,
    dropped: Dropped,
}

#[derive(Debug, Clone)]
struct Call {
    tier: Tier,
    ranges: Vec<SensorHoursRange>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tier {
    Hours,
    Readings,
}

impl Pass {
    /// A pass that drops what has passed retention at `now`. While the table does
    /// not bind it goes through all sensors once more before, so that nothing goes
    /// of one that is kept for longer.
    #[must_use]
    pub fn new(parts: PassParts, now: Micros) -> Self {
        parts.table.refresh(now);
        Self {
            // Before the other: a change in between is looked at by the next pass.
            as_of: parts.table.changes(),
            is_survey: !parts.table.is_binding(),
            parts,
            now,
            fleet: Fleet::default(),
            bounded: Vec::new(),
            to_cut: Vec::new(),
            hours: Queue::new(),
            readings: Queue::new(),
            calls: Vec::new(),
            dropped: Dropped::default(),
        }
    }

    /// What it dropped so far.
    #[must_use]
    pub fn dropped(&self) -> Dropped {
        self.dropped
    }

    /// The next step.
    pub async fn turn(&mut self) -> PassTurn {
        let turn = if !self.bounded.is_empty() {
            self.find_oldest().await
        } else if let Some(records) = self.to_cut.last() {
            let records = records.clone();
            self.cut_records(records).await
        } else if self.has_call() {
            self.drop_next().await
        } else {
            match self.read_on().await {
                Ok(true) => Ok(()),
                Ok(false) => return PassTurn::Done,
                Err(error @ StoreError::Unavailable { .. }) => return PassTurn::Away(error),
                Err(error) => return PassTurn::Broken(error),
            }
        };
        match turn {
            Ok(()) => PassTurn::More,
            Err(error) => PassTurn::Away(error),
        }
    }

    /// Reads the next page of sites or sensors, and brings the table up to date;
    /// whether there was one.
    async fn read_on(&mut self) -> Result<bool, StoreError> {
        let PassParts { store, table, .. } = &self.parts;
        if !self.fleet.read_sites(&**store).await? {
            return Ok(true);
        }
        let as_of = table.changes();
        let page = self.fleet.read_sensors(&**store).await?;
        for unread in &page.unread {
            if let Some(sensor) = &unread.id {
                table.set(sensor, UNREAD, UNREAD, None, self.now, as_of);
            }
        }
        for said in page.said {
            let dropped = said.raw_dropped_before;
            let cutoffs = table.set(&said.sensor, said.says, said.site, dropped, self.now, as_of);
            if !self.is_survey && cutoffs != Cutoffs::NONE {
                self.bounded.push((said, cutoffs));
            }
        }
        if page.is_end && self.is_survey {
            table.bind(self.as_of);
            self.is_survey = false;
            self.fleet.begin_again();
            return Ok(true);
        }
        // A survey looks at them too, and the walk behind it tells them.
        let told = match self.is_survey {
            true => &[][..],
            false => &page.unread,
        };
        for unread in told {
            let sensor = unread.id.as_ref().map_or("a record", SensorId::as_str);
            self.refuse(sensor, &unread.error);
        }
        Ok(!page.is_end)
    }

    /// Asks where the buckets of the page begin, and queues what is to go.
    async fn find_oldest(&mut self) -> Result<(), StoreError> {
        let PassParts { store, buffer, .. } = &self.parts;
        let ids: Vec<SensorId> = self.bounded.iter().map(|(s, _)| s.sensor.clone()).collect();
        let oldest = store.oldest_hours(&ids).await;
        let bounded = std::mem::take(&mut self.bounded);
        let oldest = match oldest {
            Ok(oldest) => oldest,
            Err(error) => {
                if matches!(error, StoreError::Unavailable { .. }) {
                    self.bounded = bounded;
                    return Err(error);
                }
                self.refuse("where the buckets of sensors begin", &error);
                return Ok(());
            }
        };
        let mut records = Vec::new();
        for (said, cutoffs) in bounded {
            // Ordered by id.
            let at = oldest.binary_search_by(|(sensor, _)| sensor.cmp(&said.sensor));
            let oldest = at.ok().and_then(|at| oldest.get(at));
            let in_flight = buffer.expire(&said.sensor);
            let Some((_, oldest)) = oldest else {
                continue;
            };
            // What is being written now would come in behind what is dropped.
            let kept_from = |cutoff: HourStart| in_flight.map_or(cutoff, |hour| cutoff.min(hour));
            let range = |from, to| SensorHoursRange {
                sensor: said.sensor.clone(),
                hours: HourRange { from, to },
            };
            let hours = range(*oldest, kept_from(cutoffs.hours));
            let begin = said
                .raw_dropped_before
                .max(Some(*oldest))
                .unwrap_or(*oldest);
            let begin = begin.max(cutoffs.hours);
            let readings = range(begin, kept_from(cutoffs.readings));
            if hours.hours.is_empty() && readings.hours.is_empty() {
                continue;
            }
            records.push(ToCut {
                sensor: said.sensor.clone(),
                fenced: 0,
            });
            self.hours
                .extend((!hours.hours.is_empty()).then_some(hours));
            let readings = (!readings.hours.is_empty()).then_some(readings);
            self.readings.extend(readings);
        }
        let records = records.chunks(LOADS_AT_ONCE).map(<[_]>::to_vec);
        self.to_cut.extend(records);
        Ok(())
    }

    /// Cuts the newest readings in records that hold what is to go.
    async fn cut_records(&mut self, records: Vec<ToCut>) -> Result<(), StoreError> {
        let PassParts {
            store,
            buffer,
            table,
            writer,
        } = self.parts.clone();
        let ids: Vec<SensorId> = records.iter().map(|r| r.sensor.clone()).collect();
        let stored = match store.sensors(&ids).await {
            Ok(stored) => stored,
            Err(error) => return self.not_cut(records, error),
        };
        let told: Vec<SensorTold> = stored
            .iter()
            .filter_map(|stored| cut(stored, &table, &writer))
            .collect();
        let outcomes = match store.touch(&told).await {
            Ok(outcomes) => outcomes,
            Err(error) => return self.not_cut(records, error),
        };
        let mut again = Vec::new();
        for (told, outcome) in told.iter().zip(outcomes) {
            match outcome {
                WriteOutcome::Stored => buffer.forget_recent(&told.sensor),
                WriteOutcome::Fenced => again.extend(
                    records
                        .iter()
                        .find(|record| record.sensor == told.sensor)
                        .cloned(),
                ),
                WriteOutcome::Failed(error @ StoreError::Unavailable { .. }) => return Err(error),
                WriteOutcome::Failed(error) => self.leave(&told.sensor, &error),
            }
        }
        self.to_cut.pop();
        for record in &mut again {
            record.fenced += 1;
        }
        let (left, again): (Vec<_>, Vec<_>) = again
            .into_iter()
            .partition(|record| record.fenced >= CUTS_MAX);
        for record in left {
            let error = StoreError::Refused {
                store: store.name(),
                reason: "its record changed each time it was to be cut".to_owned(),
            };
            self.leave(&record.sensor, &error);
        }
        self.to_cut.extend((!again.is_empty()).then_some(again));
        Ok(())
    }

    /// Records that the store did not read or write: later, in halves, or one
    /// left out.
    fn not_cut(&mut self, mut records: Vec<ToCut>, error: StoreError) -> Result<(), StoreError> {
        if matches!(error, StoreError::Unavailable { .. }) {
            return Err(error);
        }
        self.to_cut.pop();
        if records.len() > 1 {
            let second = records.split_off(records.len() / 2);
            self.to_cut.extend([second, records]);
        } else if let Some(record) = records.pop() {
            self.leave(&record.sensor, &error);
        }
        Ok(())
    }

    /// Leaves a sensor to the next pass: nothing of it goes before its record is
    /// cut.
    fn leave(&mut self, sensor: &SensorId, error: &StoreError) {
        self.hours.retain(|range| range.sensor != *sensor);
        self.readings.retain(|range| range.sensor != *sensor);
        self.refuse(sensor.as_str(), error);
    }

    fn refuse(&mut self, what: &str, error: &StoreError) {
        self.dropped.refused += 1;
        if self.dropped.refused <= NAMED_MAX {
            tracing::warn!(%error, "retention: {what} is left to the next pass");
        }
    }

    /// Whether there is a call to make; plans the next one.
    fn has_call(&mut self) -> bool {
        let table = &self.parts.table;
        while self.calls.is_empty() {
            let (tier, ranges) = if !self.hours.is_empty() {
                let cutoff = |sensor: &SensorId| table.cutoffs(sensor).hours;
                (Tier::Hours, next_call(&mut self.hours, cutoff))
            } else if !self.readings.is_empty() {
                let cutoff = |sensor: &SensorId| table.cutoffs(sensor).readings;
                (Tier::Readings, next_call(&mut self.readings, cutoff))
            } else {
                return false;
            };
            if !ranges.is_empty() {
                self.calls.push(Call { tier, ranges });
            }
        }
        true
    }

    async fn drop_next(&mut self) -> Result<(), StoreError> {
        let PassParts { store, writer, .. } = &self.parts;
        let Some(Call { tier, ranges }) = self.calls.last().cloned() else {
            return Ok(());
        };
        let dropped = match tier {
            Tier::Hours => store.drop_hours(&ranges).await,
            Tier::Readings => store.drop_readings(&ranges, writer.next()).await,
        };
        if let Err(error @ StoreError::Unavailable { .. }) = dropped {
            return Err(error);
        }
        self.calls.pop();
        match dropped {
            Ok(dropped) => self.count(tier, dropped),
            Err(error) => self.narrow(tier, ranges, &error),
        }
        Ok(())
    }

    fn count(&mut self, tier: Tier, buckets: u64) {
        let (total, label) = match tier {
            Tier::Hours => (&mut self.dropped.hours, "hours"),
            Tier::Readings => (&mut self.dropped.readings, "readings"),
        };
        *total += buckets;
        counter!(names::RETENTION_DROPPED_BUCKETS_TOTAL, "tier" => label).increment(buckets);
    }

    /// The store refuses a call: halves it until the sensor is found.
    fn narrow(&mut self, tier: Tier, mut ranges: Vec<SensorHoursRange>, error: &StoreError) {
        if ranges.len() > 1 {
            let second = ranges.split_off(ranges.len() / 2);
            self.calls
                .extend([second, ranges].map(|ranges| Call { tier, ranges }));
        } else if let Some(range) = ranges.pop() {
            self.leave(&range.sensor, error);
        }
    }
}
