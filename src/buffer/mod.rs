//! The buffer: per sensor and hour, what the store does not hold yet, and for
//! hours being filled also what it holds, so that duplicates, conflicts and
//! late measures are told apart without reading.
//!
//! One applier moves durable batches in, in journal order; the flusher leases
//! what is due, and confirms or re-bases it; queries take snapshots. Bounded in
//! bytes: at the bound the applier waits, and buckets that are wholly stored
//! are forgotten, the oldest first.
//!
//! An entry's elements stand in order of arrival: `[0, stored)` are in the
//! store, `[stored, flight end)` are being written, the rest is pending.

mod conflicts;
mod deletion;
mod entry;
mod expire;
mod flushing;
mod names;
mod origins;
mod pins;
mod plan;
mod recent;
mod seen;
mod snapshot;

pub use conflicts::ConflictRecord;
pub use deletion::OpenDeletion;
pub use entry::DueReason;
pub use flushing::{DuePolicy, Lease, RetryPauses, RoundBounds};
pub(crate) use plan::{LastPart, plan};
pub use recent::{StaleRecent, Told, UnlearntRecent, Untold};
pub use seen::SensorSeen;
pub use snapshot::{FlightSnapshot, HourSnapshot};

use std::collections::{BTreeMap, HashSet};
use std::iter;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ahash::{HashMap, RandomState};
use tokio::sync::Notify;

use crate::config::BufferSettings;
use crate::metrics::Ledger;
use crate::model::{Batch, HourStart, MeasureName, Micros, ReadingRef, SensorId};
use crate::retention::RetentionTable;
use crate::store::WriterId;

use conflicts::Conflicts;
use deletion::Deletions;
use entry::Entry;
use names::Names;
use origins::{Labels, OriginNumber};
use pins::Pins;
use recent::Telling;

const SHARDS: usize = 16;

/// The buffer; shared by the applier, the flusher and queries.
#[derive(Debug)]
pub struct Buffer {
    shards: Box<[Mutex<Shard>]>,
    hasher: RandomState,
    settings: BufferSettings,
    ledger: Arc<Ledger>,
    retention: Arc<RetentionTable>,
    names: Names,
    bytes: AtomicUsize,
    pending_values: AtomicU64,
    pins: Pins,
    conflicts: Mutex<Conflicts>,
    writer: WriterId,
    part_bytes_max: Option<usize>,
    freed: Notify,
    wanted: Notify,
    /// A batch waits for room, however little is pending.
    starved: AtomicBool,
    deletions: Mutex<Deletions>,
    /// How many are open: mostly none.
    open_deletions: AtomicUsize,
    deletion_wanted: Notify,
}

#[derive(Debug, Default)]
struct Shard {
    sensors: HashMap<SensorId, SensorHours>,
}

#[derive(Debug)]
struct SensorHours {
    last_seen: Micros,
    /// Whether the store knows `last_seen`.
    last_seen_stored: bool,
    /// Once a reading came under an origin.
    labels: Option<Box<Labels>>,
    telling: Telling,
    /// Boxed: a node of the map has room for eleven, and most sensors have one.
    hours: BTreeMap<HourStart, Box<Entry>>,
}

/// How a batch comes in.
#[derive(Clone, Copy)]
struct Arrival<'a> {
    /// Of its measures, by index.
    names: &'a [MeasureName],
    seq: u64,
    received_at: Micros,
    elapsed: Duration,
    has_origins: bool,
}

/// Bytes a pending value takes with its share of the element, estimated.
const PENDING_VALUE_BYTES: usize = 24;

/// Bytes a sensor's place in the buffer takes beside its buckets, estimated.
const SENSOR_BYTES: usize = 300;

impl Buffer {
    /// An empty buffer whose writes carry numbers of `writer`, for a store with
    /// parts of at most `part_bytes_max`.
    #[must_use]
    pub fn new(
        settings: BufferSettings,
        ledger: Arc<Ledger>,
        writer: WriterId,
        part_bytes_max: Option<usize>,
    ) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            hasher: RandomState::new(),
            settings,
            ledger,
            retention: Arc::default(),
            names: Names::default(),
            bytes: AtomicUsize::new(0),
            pending_values: AtomicU64::new(0),
            pins: Pins::default(),
            conflicts: Mutex::new(Conflicts::new(
                settings.conflicts_kept,
                settings.conflicts_age_max,
            )),
            writer,
            part_bytes_max,
            freed: Notify::new(),
            wanted: Notify::new(),
            starved: AtomicBool::new(false),
            deletions: Mutex::default(),
            open_deletions: AtomicUsize::new(0),
            deletion_wanted: Notify::new(),
        }
    }

    /// The same, keeping no reading longer than `retention` says.
    #[must_use]
    pub fn with_retention(self, retention: Arc<RetentionTable>) -> Self {
        Self { retention, ..self }
    }

    fn shard(&self, sensor: &SensorId) -> MutexGuard<'_, Shard> {
        let hash = self.hasher.hash_one(sensor.as_str()) as usize;
        lock(&self.shards[hash % SHARDS])
    }

    /// Moves one durable batch in. `seq` is its place in the journal; `elapsed`
    /// the clock's, from which the age of what it leaves pending is counted.
    pub fn apply(&self, seq: u64, received_at: Micros, batch: &Batch, elapsed: Duration) {
        self.starved.store(false, Relaxed);
        let names = self.names.shared(batch.measures());
        let arrival = Arrival {
            names: &names,
            seq,
            received_at,
            elapsed,
            has_origins: !batch.origins().is_empty(),
        };
        let mut expired = 0;
        // One look at a sensor for all its readings, and one at an hour for those
        // that follow each other: in a batch of many sensors finding them costs
        // more than all else.
        let mut readings = batch.readings_by_sensor().peekable();
        while let Some(first) = readings.next() {
            let sensor = first.sensor();
            let mut shard = self.shard(sensor);
            let known = shard.sensor(sensor, received_at, &self.bytes);
            let oldest_kept = self.retention.oldest_kept(sensor);
            let mut next_hour = Some(first);
            while let Some(first) = next_hour {
                let hour = first.at().hour();
                let is_of_sensor =
                    |next: &ReadingRef<'_>| next.sensor_index() == first.sensor_index();
                let rest = iter::from_fn(|| {
                    readings.next_if(|next| is_of_sensor(next) && next.at().hour() == hour)
                });
                let of_hour = iter::once(first).chain(rest);
                if hour < oldest_kept {
                    expired += of_hour.map(|r| r.values().len() as u64).sum::<u64>();
                } else {
                    self.apply_hour(known, hour, of_hour, arrival);
                }
                next_hour = readings.next_if(is_of_sensor);
            }
        }
        self.ledger.expire(expired);
        self.ledger.apply(batch.value_count() as u64);
        if self.is_pressed() {
            self.wanted.notify_one();
        }
    }

    /// Moves readings of one sensor and hour in.
    fn apply_hour<'a>(
        &self,
        sensor: &mut SensorHours,
        hour: HourStart,
        readings: impl Iterator<Item = ReadingRef<'a>>,
        arrival: Arrival<'_>,
    ) {
        let SensorHours { labels, hours, .. } = sensor;
        let entry = hours.entry(hour).or_insert_with(|| {
            self.bytes.fetch_add(entry::ENTRY_BYTES, Relaxed);
            Box::default()
        });
        let before = entry.bytes();
        let mut noted = None;
        let (mut new, mut duplicates) = (0, 0);
        for reading in readings {
            let origin = if arrival.has_origins {
                self.note_origin(labels, reading, &mut noted)
            } else {
                OriginNumber::UNKNOWN
            };
            let offset = reading.at().offset();
            let values = reading.indexed_values();
            let values = values.map(|(measure, value)| (&arrival.names[measure as usize], value));
            let (counts, conflicts) = entry.add(offset, values, origin, arrival.elapsed);
            new += counts.new as u64;
            duplicates += counts.duplicates as u64;
            if !conflicts.is_empty() {
                let kept_from = |row| labels.as_deref()?.get(entry.origins.of(row)).cloned();
                let records = conflicts.into_iter().map(|conflict| ConflictRecord {
                    sensor: reading.sensor().clone(),
                    at: reading.at(),
                    measure: conflict.measure,
                    kept: conflict.kept,
                    refused: conflict.refused,
                    received_at: arrival.received_at,
                    kept_from: kept_from(conflict.kept_row),
                    refused_from: reading.origin().cloned(),
                });
                self.keep_conflicts(records, arrival.elapsed);
            }
        }
        self.account(before, entry.bytes());
        if new > 0 {
            self.pending_values.fetch_add(new, Relaxed);
            if entry.pin_pending(arrival.seq) {
                self.pins.add(arrival.seq);
            }
        }
        if duplicates > 0 {
            self.ledger.duplicate(duplicates);
        }
    }

    /// The number of a reading's origin. `noted` is the origin of the reading
    /// before of the same sensor and hour.
    fn note_origin(
        &self,
        labels: &mut Option<Box<Labels>>,
        reading: ReadingRef<'_>,
        noted: &mut Option<(u32, OriginNumber)>,
    ) -> OriginNumber {
        let (Some(index), Some(origin)) = (reading.origin_index(), reading.origin()) else {
            return OriginNumber::UNKNOWN;
        };
        if let Some((last, number)) = *noted
            && last == index
        {
            return number;
        }
        let labels = labels.get_or_insert_default();
        let before = labels.bytes();
        let (number, refused) = labels.note(origin);
        self.account(before, labels.bytes());
        if refused > 0 {
            self.ledger.refuse_attributes(refused as u64);
        }
        *noted = Some((index, number));
        number
    }

    fn keep_conflicts(
        &self,
        records: impl ExactSizeIterator<Item = ConflictRecord>,
        elapsed: Duration,
    ) {
        self.ledger.conflict(records.len() as u64);
        let mut warning = None;
        let mut kept = lock(&self.conflicts);
        for record in records {
            if record.two_origins().is_some() {
                self.ledger.conflict_of_two_origins();
                let due = kept.note_two_origins(&record, elapsed);
                warning = warning.or(due);
            }
            kept.push(record);
        }
        drop(kept);
        if let Some(warning) = warning {
            warning.log();
        }
    }

    /// Corrects the byte count of an entry that had `before` bytes.
    fn account(&self, before: usize, after: usize) {
        if after >= before {
            self.bytes.fetch_add(after - before, Relaxed);
        } else {
            self.bytes.fetch_sub(before - after, Relaxed);
        }
    }

    /// Whether a batch of `bytes` may come in now. An empty buffer takes any.
    #[must_use]
    pub fn has_room(&self, bytes: usize) -> bool {
        let used = self.bytes.load(Relaxed);
        used + bytes <= self.settings.bytes_max || self.pending_values.load(Relaxed) == 0
    }

    /// Whether `batch` may come in now: its values, and a bucket for each of its
    /// sensors and hours, as if none of them were there.
    #[must_use]
    pub fn has_room_for(&self, batch: &Batch) -> bool {
        let buckets = || batch.readings().map(|r| (r.sensor_index(), r.at().hour()));
        let bytes = |buckets: usize| batch.bytes() + buckets * entry::ENTRY_BYTES;
        // Counting neighbours of one bucket once is enough, but for batches in
        // which sensors alternate.
        let mut last = None;
        let runs = buckets().filter(|bucket| last.replace(*bucket) != Some(*bucket));
        self.has_room(bytes(runs.count()))
            || self.has_room(bytes(buckets().collect::<HashSet<_>>().len()))
    }

    /// Whether flushing should not wait for age: what waits for the store takes
    /// half the budget, nearly nothing is left of it, or what is left is too
    /// little for a batch that waits.
    #[must_use]
    pub fn is_pressed(&self) -> bool {
        let pending = self.pending_values.load(Relaxed) as usize * PENDING_VALUE_BYTES;
        let bytes_max = self.settings.bytes_max;
        pending > bytes_max / 2
            || self.bytes.load(Relaxed) > bytes_max / 10 * 9
            || self.starved.load(Relaxed)
    }

    /// Resolves when bytes were given back after it was created.
    pub fn freed(&self) -> tokio::sync::futures::Notified<'_> {
        self.freed.notified()
    }

    /// Resolves when the buffer wants to be flushed before its time.
    pub fn wanted(&self) -> tokio::sync::futures::Notified<'_> {
        self.wanted.notified()
    }

    /// A batch found no room: asks for a flush before its time, of everything
    /// until a batch comes in.
    pub fn want_flush(&self) {
        self.starved.store(true, Relaxed);
        self.wanted.notify_one();
    }

    /// Values that the store does not hold yet.
    #[must_use]
    pub fn pending_values(&self) -> u64 {
        self.pending_values.load(Relaxed)
    }

    /// Bytes held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.load(Relaxed)
    }

    /// The bound in bytes.
    #[must_use]
    pub fn bytes_max(&self) -> usize {
        self.settings.bytes_max
    }

    /// Where it counts.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Newest readings of a sensor that its record keeps.
    #[must_use]
    pub fn recent_readings(&self) -> usize {
        self.settings.recent_readings
    }

    /// Buckets known.
    #[must_use]
    pub fn buckets(&self) -> usize {
        let count = |shard: &Mutex<Shard>| -> usize {
            let shard = lock(shard);
            shard.sensors.values().map(|s| s.hours.len()).sum()
        };
        self.shards.iter().map(count).sum()
    }

    /// The lowest journal sequence that the buffer still holds unconfirmed.
    #[must_use]
    pub fn lowest_pinned(&self) -> Option<u64> {
        self.pins.lowest()
    }

    /// Conflicts kept at `now`, of `sensor` or of all, the newest first.
    #[must_use]
    pub fn conflicts(&self, sensor: Option<&SensorId>, now: Micros) -> Vec<ConflictRecord> {
        lock(&self.conflicts).newest_first(sensor, now)
    }
}

impl SensorHours {
    /// Bytes of its place in the buffer beside its buckets.
    fn bytes(&self) -> usize {
        let labels = self.labels.as_ref().map_or(0, |labels| labels.bytes());
        SENSOR_BYTES + labels + self.telling.bytes()
    }
}

impl Shard {
    fn sensor(
        &mut self,
        sensor: &SensorId,
        received_at: Micros,
        bytes: &AtomicUsize,
    ) -> &mut SensorHours {
        // As precise as every store keeps it: lists that are ordered by it have
        // one order, wherever it is known.
        let received_at = received_at.whole_millis();
        // `entry` would clone the id of every reading; most are known.
        if !self.sensors.contains_key(sensor) {
            bytes.fetch_add(SENSOR_BYTES, Relaxed);
            let hours = SensorHours {
                last_seen: received_at,
                last_seen_stored: false,
                labels: None,
                telling: Telling::default(),
                hours: BTreeMap::new(),
            };
            self.sensors.insert(sensor.clone(), hours);
        }
        let hours = self
            .sensors
            .get_mut(sensor)
            .expect("it was there or was just inserted");
        if hours.last_seen < received_at {
            hours.last_seen = received_at;
            hours.last_seen_stored = false;
        }
        hours
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic while the lock was held stops the process in order (the service
    // watches its tasks); until then others may still read.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
