//! What queries see of the buffer.

use crate::bucket::{Computed, Elements};
use crate::model::{HourRange, HourStart, SensorId};
use crate::store::BucketVersion;

use super::{Buffer, entry::Entry};

/// What the store may not hold of one hour. Taken before the store is read.
#[derive(Debug, Clone)]
pub struct HourSnapshot {
    /// Which hour.
    pub hour: HourStart,
    /// The version the bucket had in the store without the flight; `None` where
    /// nothing is known of it, which for a new hour means absent.
    pub stored: Option<BucketVersion>,
    /// What is being written.
    pub flight: Option<FlightSnapshot>,
    /// What waits.
    pub pending: Elements,
    /// The computed fields of what waits; right only where `stored` is what the
    /// store has (else an instant may be in the store too).
    pub pending_computed: Computed,
}

/// What is being written.
#[derive(Debug, Clone)]
pub struct FlightSnapshot {
    /// The bucket's version once it is in.
    pub target: BucketVersion,
    /// The version of the last part when it was closed for this flight, and the
    /// flight is not in yet.
    pub closing: Option<BucketVersion>,
    /// What it carries.
    pub elements: Elements,
    /// Their computed fields, with the same proviso.
    pub computed: Computed,
}

impl Buffer {
    /// What the store may not hold of `sensor` within `hours`, oldest hour
    /// first.
    #[must_use]
    pub fn snapshot(&self, sensor: &SensorId, hours: HourRange) -> Vec<HourSnapshot> {
        if hours.is_empty() {
            return Vec::new();
        }
        let shard = self.shard(sensor);
        let Some(sensor_hours) = shard.sensors.get(sensor) else {
            return Vec::new();
        };
        sensor_hours
            .hours
            .range(hours.from..hours.to)
            .filter(|(_, entry)| !entry.is_clean())
            .map(|(hour, entry)| snapshot(*hour, entry))
            .collect()
    }

    /// Everything the buffer holds of `sensor` within `hours`, what the store
    /// has too included: the answer while the store is away.
    #[must_use]
    pub fn held(&self, sensor: &SensorId, hours: HourRange) -> Vec<(HourStart, Elements)> {
        if hours.is_empty() {
            return Vec::new();
        }
        let shard = self.shard(sensor);
        let Some(sensor_hours) = shard.sensors.get(sensor) else {
            return Vec::new();
        };
        sensor_hours
            .hours
            .range(hours.from..hours.to)
            .map(|(hour, entry)| (*hour, entry.merge.elements().clone()))
            .collect()
    }
}

fn snapshot(hour: HourStart, entry: &Entry) -> HourSnapshot {
    let (stored, leased, end) = (
        entry.stored,
        entry.flight_end(),
        entry.merge.elements().len(),
    );
    HourSnapshot {
        hour,
        stored: entry.last.as_ref().map(|part| part.version),
        flight: entry
            .flight_versions()
            .map(|(closing, target)| FlightSnapshot {
                target,
                closing,
                elements: entry.merge.elements().slice(stored, leased),
                computed: entry.merge.computed(stored, leased),
            }),
        pending: entry.merge.elements().slice(leased, end),
        pending_computed: entry.merge.computed(leased, end),
    }
}
