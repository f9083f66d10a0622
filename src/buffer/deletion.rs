//! Deletions that are not done yet: what waits goes at once, what the store has
//! is the executor's, and until it is done no bucket of theirs is flushed.
//!
//! An entry forgets what it knows of the store: what comes after a deletion is
//! new, whatever stood there before. A write that is out cannot be called back;
//! it is a ghost until its outcome is known, and the executor waits for it.

use std::sync::atomic::Ordering::Relaxed;

use crate::bucket::Merge;
use crate::model::{BucketKey, HourStart, SensorId, TimeRange};
use crate::store::BucketVersion;

use super::entry::Entry;
use super::{Buffer, lock};

/// A deletion that is not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenDeletion {
    /// Its sequence in the journal, which keeps it until it is done.
    pub seq: u64,
    /// Of which sensor.
    pub sensor: SensorId,
    /// Of which time.
    pub range: TimeRange,
    /// Readings (instants) that went before the store had them.
    pub purged: u64,
    /// Whether they have gone: before that the store is not turned to.
    is_purged: bool,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Deletions {
    /// In journal order.
    open: Vec<OpenDeletion>,
    /// Writes that are out of entries that forgot them.
    ghosts: Vec<(BucketKey, BucketVersion)>,
}

impl Buffer {
    /// Takes a deletion in, in journal order.
    pub fn delete(&self, seq: u64, sensor: &SensorId, range: TimeRange) {
        // Before anything of it is purged: whoever leases after the purge sees it.
        let open = OpenDeletion {
            seq,
            sensor: sensor.clone(),
            range,
            purged: 0,
            is_purged: false,
        };
        self.pins.add(seq);
        let mut deletions = lock(&self.deletions);
        deletions.open.push(open);
        self.open_deletions.store(deletions.open.len(), Relaxed);
        drop(deletions);
        let purged = self.purge(sensor, range);
        let mut deletions = lock(&self.deletions);
        if let Some(open) = deletions.open.iter_mut().find(|open| open.seq == seq) {
            open.purged = purged;
            open.is_purged = true;
        }
        drop(deletions);
        self.deletion_wanted.notify_one();
        self.freed.notify_waiters();
    }

    /// Drops what waits, and makes entries forget what the store has. Answers how
    /// many readings went.
    fn purge(&self, sensor: &SensorId, range: TimeRange) -> u64 {
        let mut shard = self.shard(sensor);
        let Some(hours) = shard.sensors.get_mut(sensor) else {
            return 0;
        };
        let (mut purged, mut ghosts) = (0, Vec::new());
        let of_range = range.hours();
        let mut values = 0;
        for (hour, entry) in hours.hours.range_mut(of_range.from..of_range.to) {
            let before = entry.bytes();
            if let Some(flight) = &entry.flight {
                let key = BucketKey {
                    sensor: sensor.clone(),
                    hour: *hour,
                };
                ghosts.push((key, flight.after.version));
            }
            let forgotten = forget(entry, *hour, range);
            purged += forgotten.readings;
            values += forgotten.values;
            for pin in forgotten.pins {
                self.pins.remove(pin);
            }
            if let Some(pin) = entry.pending_seq {
                self.pins.add(pin);
            }
            self.account(before, entry.bytes());
        }
        self.pending_values.fetch_sub(values, Relaxed);
        self.ledger.delete(values);
        let before = hours.bytes();
        hours.telling.forget();
        self.account(before, hours.bytes());
        // Under the lock of the shard, as the outcomes of writes are told under it.
        lock(&self.deletions).ghosts.extend(ghosts);
        purged
    }

    /// Whether a bucket waits for a deletion: it is not flushed.
    pub(super) fn is_blocked(&self, sensor: &SensorId, hour: HourStart) -> bool {
        if self.open_deletions.load(Relaxed) == 0 {
            return false;
        }
        let deletions = lock(&self.deletions);
        let mut open = deletions.open.iter();
        open.any(|open| open.sensor == *sensor && open.range.hours().contains(hour))
    }

    /// Whether a deletion of readings of `sensor` is not done. It reads the newest
    /// ones from the buckets and replaces the list of the record: what went into a
    /// bucket in between would be in neither, where a list that is known here says
    /// that it need not be told.
    pub(super) fn is_deleting(&self, sensor: &SensorId) -> bool {
        if self.open_deletions.load(Relaxed) == 0 {
            return false;
        }
        let deletions = lock(&self.deletions);
        deletions.open.iter().any(|open| open.sensor == *sensor)
    }

    /// The outcome of a write is known that an entry may have forgotten. Called
    /// under the lock of its shard.
    pub(super) fn lay_ghost(&self, key: &BucketKey, target: BucketVersion) {
        if self.open_deletions.load(Relaxed) == 0 {
            return;
        }
        let mut deletions = lock(&self.deletions);
        deletions
            .ghosts
            .retain(|ghost| (&ghost.0, ghost.1) != (key, target));
        drop(deletions);
        self.deletion_wanted.notify_one();
    }

    /// The oldest hour of `sensor` of which a write is out that its entry forgot.
    pub(super) fn oldest_ghost(&self, sensor: &SensorId) -> Option<HourStart> {
        if self.open_deletions.load(Relaxed) == 0 {
            return None;
        }
        let deletions = lock(&self.deletions);
        let ghosts = deletions.ghosts.iter().map(|(key, _)| key);
        let of_sensor = ghosts.filter(|key| key.sensor == *sensor);
        of_sensor.map(|key| key.hour).min()
    }

    /// The oldest deletion that is not done, once no write of its buckets is out.
    #[must_use]
    pub fn next_deletion(&self) -> Option<OpenDeletion> {
        let deletions = lock(&self.deletions);
        let open = deletions.open.first().filter(|open| open.is_purged)?;
        let is_out = deletions
            .ghosts
            .iter()
            .any(|(key, _)| key.sensor == open.sensor && open.range.hours().contains(key.hour));
        (!is_out).then(|| open.clone())
    }

    /// Deletions that are not done.
    #[must_use]
    pub fn open_deletions(&self) -> usize {
        self.open_deletions.load(Relaxed)
    }

    /// Resolves when a deletion came in, or a write that one waits for ended.
    pub fn deletion_wanted(&self) -> tokio::sync::futures::Notified<'_> {
        self.deletion_wanted.notified()
    }

    /// The store has done the deletion `seq`: its buckets are flushed again. Its
    /// pin goes with [`Buffer::unpin_deletion`], once that is durable too.
    pub fn end_deletion(&self, seq: u64) {
        let mut deletions = lock(&self.deletions);
        deletions.open.retain(|open| open.seq != seq);
        if deletions.open.is_empty() {
            deletions.ghosts.clear();
        }
        self.open_deletions.store(deletions.open.len(), Relaxed);
        drop(deletions);
        self.wanted.notify_one();
    }

    /// The journal need not keep the deletion `seq` any more.
    pub fn unpin_deletion(&self, seq: u64) {
        self.pins.remove(seq);
    }
}

/// What went from an entry.
struct Forgotten {
    readings: u64,
    values: u64,
    /// Those that the entry held.
    pins: Vec<u64>,
}

/// Leaves what the store may lack, but for what lies in `range`; all of it is
/// pending.
fn forget(entry: &mut Entry, hour: HourStart, range: TimeRange) -> Forgotten {
    let old = std::mem::take(&mut entry.merge);
    let origins = std::mem::take(&mut entry.origins);
    let flight = entry.flight.take();
    let mut pins: Vec<u64> = entry.pending_seq.take().into_iter().collect();
    let mut first_pin = pins.first().copied();
    if let Some(flight) = &flight {
        pins.push(flight.seq);
        first_pin = Some(flight.seq);
        entry.pending_since = flight.since;
    }
    let unsure = entry.stored..old.elements().len();
    let mut gone = Merge::default();
    let mut values = 0;
    for row in unsure {
        let element = old.elements().get(row);
        if range.contains(hour.at(element.offset)) {
            values += element.values().len() as u64;
            gone.add(element.offset, element.values());
        } else {
            entry.keep(element, origins.of(row));
        }
    }
    entry.stored = 0;
    entry.last = None;
    entry.retry = None;
    let is_pending = !entry.merge.elements().is_empty();
    entry.pending_seq = first_pin.filter(|_| is_pending);
    Forgotten {
        readings: gone.computed(0, gone.elements().len()).count,
        values,
        pins,
    }
}
