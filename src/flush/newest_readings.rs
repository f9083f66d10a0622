//! The newest readings of sensors, from their buckets.

use futures_util::TryStreamExt;

use crate::bucket::RecentList;
use crate::model::{HourRange, HourStart, Order, RecentReading, SensorId, TimeRange};
use crate::store::{Store, StoreError, StoredBucket};

/// How far back is looked behind the newest bucket, in hours: a store reads many
/// buckets at once, and mostly a few are enough.
const BACK_HOURS: [i32; 3] = [24, 720, i32::MAX];

/// The newest readings of each of `sensors` (distinct), newest first, at most
/// `readings_max` each, in their order. Reads the newest bucket of all of them at
/// once, and older ones only of those that have fewer readings in it.
///
/// # Errors
/// What the store says.
pub async fn newest_readings(
    store: &dyn Store,
    sensors: &[SensorId],
    readings_max: usize,
) -> Result<Vec<Vec<RecentReading>>, StoreError> {
    let mut newest = store.newest(sensors).await?;
    let mut readings = Vec::with_capacity(sensors.len());
    for sensor in sensors {
        let mut list = RecentList::new(readings_max);
        let at = newest
            .iter()
            .position(|bucket| bucket.key.sensor == *sensor);
        if let Some(at) = at {
            let bucket = newest.swap_remove(at);
            put(&mut list, &bucket);
            look_back(store, sensor, bucket.key.hour, &mut list).await?;
        }
        readings.push(list.readings());
    }
    Ok(readings)
}

async fn look_back(
    store: &dyn Store,
    sensor: &SensorId,
    newest: HourStart,
    list: &mut RecentList,
) -> Result<(), StoreError> {
    let first = TimeRange::ALL.from.hour();
    let mut to = newest;
    for back in BACK_HOURS {
        let from = HourStart::from_hours(newest.hours().saturating_sub(back));
        let hours = HourRange { from, to };
        let mut buckets = store.scan(sensor, hours, Order::Descending);
        while !list.is_full()
            && let Some(bucket) = buckets.try_next().await?
        {
            put(list, &bucket);
        }
        if list.is_full() || from <= first {
            return Ok(());
        }
        to = from;
    }
    Ok(())
}

fn put(list: &mut RecentList, bucket: &StoredBucket) {
    for part in &bucket.parts {
        list.put_elements(bucket.key.hour, &part.elements, 0..part.elements.len());
    }
}
