//! A sensor's newest readings beside a deletion of them: what was known of the
//! record before counts no more, so that what goes into an older hour meanwhile is
//! not taken for told.

use std::time::Duration;

use hourglass::buffer::Buffer;
use hourglass::model::{HourStart, MeasureName, RecentReading, SensorId, TimeRange};
use hourglass::store::{RecordVersion, StoredRecent, StoredSensor};

use super::builders::{HOUR, buffer, everything, now, readings};

/// As many as a record keeps, all of the hour that is deleted.
const NEWEST: u32 = 20;

fn sensor() -> SensorId {
    SensorId::new("S1").unwrap()
}

/// The record as it was before the deletion: full, and nothing older is in it.
fn before() -> StoredSensor {
    let reading = |offset| RecentReading {
        at: HourStart::from_hours(HOUR).at(offset),
        values: vec![(MeasureName::new("temp").unwrap(), 1.0)],
    };
    StoredSensor {
        recent: StoredRecent {
            version: Some(RecordVersion { rev: 1, by: 1 }),
            readings: (0..NEWEST).rev().map(reading).collect(),
        },
        ..StoredSensor::blank(sensor())
    }
}

/// The deletion that is the journal's record 2.
fn delete(buffer: &Buffer) {
    let hour = HourStart::from_hours(HOUR);
    let range = TimeRange {
        from: hour.start(),
        to: hour.next().start(),
    };
    buffer.delete(2, &sensor(), range);
}

/// A reading of the hour before goes into the store: its sensor's newest readings
/// must be made anew from the buckets.
fn assert_is_made_anew(buffer: &Buffer) {
    let lease = buffer.lease(&everything(Duration::ZERO), 1).remove(0);
    assert!(buffer.confirm(&lease.write.key, lease.write.target));
    let untold = buffer.take_untold(&[sensor()]);
    let stale: Vec<_> = untold.stale.iter().map(|stale| &stale.sensor).collect();
    assert_eq!(stale, [&sensor()], "told as it is: {:?}", untold.told);
}

fn holding_an_older_reading() -> Buffer {
    let buffer = buffer(1 << 20);
    let batch = readings("S1", HOUR - 1, 0..1, 1.5);
    buffer.apply(1, now(), &batch, Duration::ZERO);
    buffer
}

#[test]
fn what_the_store_was_asked_before_a_deletion_is_not_learnt_after_it() {
    let buffer = holding_an_older_reading();
    let asked = buffer.unlearnt(&[sensor()]);
    delete(&buffer);
    buffer.end_deletion(2);
    buffer.learn(&asked, &[before()]);
    assert_is_made_anew(&buffer);
}

#[test]
fn what_is_learnt_while_a_deletion_is_under_way_is_not_relied_on() {
    let buffer = holding_an_older_reading();
    delete(&buffer);
    buffer.learn(&buffer.unlearnt(&[sensor()]), &[before()]);
    assert_is_made_anew(&buffer);
}

#[test]
fn without_a_deletion_an_older_reading_is_told_of_nobody() {
    let buffer = holding_an_older_reading();
    buffer.learn(&buffer.unlearnt(&[sensor()]), &[before()]);
    let lease = buffer.lease(&everything(Duration::ZERO), 1).remove(0);
    assert!(buffer.confirm(&lease.write.key, lease.write.target));
    let untold = buffer.take_untold(&[sensor()]);
    assert!(untold.stale.is_empty());
    assert!(untold.told.iter().all(|told| told.recent.is_none()));
}
