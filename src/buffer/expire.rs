//! What passed retention while it waited: it goes, counted, and is not written.
//!
//! Whether an hour is still kept is asked under the lock of its sensor's shard:
//! here, when a batch comes in, and when a lease is given. So once a cutoff is
//! in the table and [`Buffer::expire`] was called, nothing of the hours before
//! it is pending, nor will be.

use std::sync::atomic::Ordering::Relaxed;

use crate::model::{BucketKey, HourStart, SensorId};
use crate::store::BucketVersion;

use super::{Buffer, SensorHours, entry};

impl Buffer {
    /// Forgets all of `sensor` before the hour from which on its readings are
    /// kept; values that the store does not hold count as expired. What is being
    /// written stays: answers its oldest hour among those.
    #[must_use = "what is being written may come into the store after what is dropped there"]
    pub fn expire(&self, sensor: &SensorId) -> Option<HourStart> {
        let mut shard = self.shard(sensor);
        let hours = shard.sensors.get_mut(sensor)?;
        let cutoff = self.retention.oldest_kept(sensor);
        let behind: Vec<HourStart> = hours.hours.range(..cutoff).map(|(hour, _)| *hour).collect();
        let mut in_flight = None;
        for hour in behind {
            if !self.expire_hour(hours, hour) {
                in_flight = in_flight.or(Some(hour));
            }
        }
        self.freed.notify_waiters();
        // A write of an entry that a deletion made forget it is out, too.
        let ghost = self.oldest_ghost(sensor).filter(|hour| *hour < cutoff);
        in_flight.into_iter().chain(ghost).min()
    }

    /// Takes back the lease of `key` whose target is `target` if its hour is kept
    /// no more, or its readings were dropped from the store already; whether it
    /// did. Its write is not to be made then.
    pub fn expire_lease(&self, key: &BucketKey, target: BucketVersion) -> bool {
        let mut shard = self.shard(&key.sensor);
        let Some(hours) = shard.sensors.get_mut(&key.sensor) else {
            return false;
        };
        let dropped = hours.telling.raw_dropped_before;
        let is_kept = self.retention.oldest_kept(&key.sensor) <= key.hour
            && dropped.is_none_or(|dropped| dropped <= key.hour);
        !is_kept && self.expire_flight(hours, key.hour, target)
    }

    /// Takes a lease back, and all of its hour with it.
    pub(super) fn expire_flight(
        &self,
        hours: &mut SensorHours,
        hour: HourStart,
        target: BucketVersion,
    ) -> bool {
        let Some(entry) = hours.hours.get_mut(&hour) else {
            return false;
        };
        let is_target = |flight: &mut Box<entry::Flight>| flight.after.version == target;
        let Some(flight) = entry.flight.take_if(is_target) else {
            return false;
        };
        if let Some(later) = entry.take_back(&flight) {
            self.pins.remove(later);
        }
        self.expire_hour(hours, hour)
    }

    /// Forgets an hour; not one that is being written. Whether it is gone.
    pub(super) fn expire_hour(&self, hours: &mut SensorHours, hour: HourStart) -> bool {
        let Some(entry) = hours.hours.get(&hour) else {
            return true;
        };
        if entry.flight.is_some() {
            return false;
        }
        let elements = entry.merge.elements();
        let values = (elements.value_count() - elements.values_before(entry.stored)) as u64;
        self.pending_values.fetch_sub(values, Relaxed);
        self.ledger.expire(values);
        if let Some(seq) = entry.pending_seq {
            self.pins.remove(seq);
        }
        self.forget(entry);
        hours.hours.remove(&hour);
        self.freed.notify_waiters();
        true
    }
}
