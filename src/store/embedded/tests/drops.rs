//! Dropping in batches, damage, and what is left behind.

use std::slice::from_ref;

use super::buckets::{chunk_count, fill, key, nth_write};
use super::samples::{Fixture, fixture};
use crate::model::{HourRange, HourStart};
use crate::store::embedded::keys::{bucket_key, hour_key};
use crate::store::{
    BucketEdit, BucketVersion, PartChange, PartEdit, SensorHoursRange, StoreError, WriteOutcome,
};

fn range(from: i32, to: i32) -> SensorHoursRange {
    SensorHoursRange {
        sensor: key(0).sensor,
        hours: HourRange {
            from: HourStart::from_hours(from),
            to: HourStart::from_hours(to),
        },
    }
}

/// A year has more keys than one batch takes.
#[test]
fn more_hours_than_a_batch_takes_are_dropped() {
    let Fixture { store, _dir } = fixture();
    let database = store.database();
    let writes: Vec<_> = (0..3000).map(|at| nth_write(&key(at), 1, 1)).collect();
    for round in writes.chunks(1000) {
        database.write(round).unwrap();
    }
    let all = from_ref(&range(10, 2990)).to_vec();
    assert_eq!(database.drop_readings(&all, 9).unwrap(), 2980);
    assert_eq!(database.drop_readings(&all, 9).unwrap(), 0);
    assert_eq!(database.chunks.iter().count(), 20);
    assert_eq!(database.drop_hours(&all).unwrap(), 2980);
    assert_eq!(database.hours.iter().count(), 20);
    let oldest = database.oldest_hours(vec![key(0).sensor]).unwrap();
    assert_eq!(oldest, [(key(0).sensor, HourStart::from_hours(0))]);
}

#[test]
fn dropped_hours_leave_no_chunk() {
    let Fixture { store, _dir } = fixture();
    for hours in 0..3 {
        fill(&store, &key(hours), 5, 2);
    }
    let ranges = [range(1, 2), range(2, 2), range(2, 1)];
    assert_eq!(store.database().drop_hours(&ranges).unwrap(), 1);
    let left = [0, 1, 2].map(|hours| chunk_count(&store, &key(hours)));
    assert_eq!(left, [5, 0, 5]);
}

/// Retention must be able to remove what nobody can read.
#[test]
fn a_damaged_hour_can_be_dropped_whole_and_not_in_part() {
    let Fixture { store, _dir } = fixture();
    fill(&store, &key(0), 2, 2);
    let record = hour_key(&key(0).sensor, key(0).hour);
    store.database().hours.insert(record, b"rubbish").unwrap();
    let ranges = [range(0, 1)];
    let dropped = store.database().drop_readings(&ranges, 9);
    assert!(matches!(dropped, Err(StoreError::Corrupt { .. })));
    assert_eq!(chunk_count(&store, &key(0)), 2);
    assert_eq!(store.database().drop_hours(&ranges).unwrap(), 1);
    assert_eq!(chunk_count(&store, &key(0)), 0);
}

#[test]
fn an_edit_makes_one_chunk_of_all() {
    let Fixture { store, _dir } = fixture();
    fill(&store, &key(0), 5, 2);
    let write = nth_write(&key(0), 6, 1);
    let mut edit = BucketEdit {
        key: key(0),
        parts: vec![PartEdit {
            expected: BucketVersion {
                part: 0,
                rev: 5,
                by: 5000,
            },
            change: PartChange::Replace {
                target: write.target,
                elements: write.elements,
                computed: write.computed,
            },
        }],
    };
    let outcome = store.database().edit(&edit).unwrap();
    assert!(matches!(outcome, WriteOutcome::Stored));
    assert_eq!(chunk_count(&store, &key(0)), 1);
    let loaded = store.database().load(&[key(0)]).unwrap();
    assert_eq!(loaded[0].as_ref().unwrap().parts[0].elements.len(), 1);

    edit.parts.push(edit.parts[0].clone());
    assert!(matches!(
        store.database().edit(&edit),
        Err(StoreError::Refused { .. })
    ));
}

/// Computed fields without readings are all there is: nothing replaces them.
#[test]
fn what_was_dropped_is_neither_edited_nor_repaired() {
    let Fixture { store, _dir } = fixture();
    let database = store.database();
    fill(&store, &key(0), 1, 2);
    database.drop_readings(&[range(0, 1)], 9).unwrap();
    let loaded = database.load(&[key(0)]).unwrap();
    let part = loaded[0].as_ref().unwrap().parts[0].clone();
    assert_eq!((part.version.rev, part.version.by), (2, 9));
    let write = nth_write(&key(0), 3, 1);
    let repaired = database.repair(&key(0), part.version, write.target, write.computed.clone());
    assert!(!repaired.unwrap());
    let mut edit = BucketEdit {
        key: key(0),
        parts: vec![PartEdit {
            expected: part.version,
            change: PartChange::Replace {
                target: write.target,
                elements: write.elements,
                computed: write.computed,
            },
        }],
    };
    let outcome = database.edit(&edit).unwrap();
    assert!(matches!(outcome, WriteOutcome::Fenced));
    assert_eq!(database.load(&[key(0)]).unwrap(), loaded);

    edit.parts[0].change = PartChange::Remove;
    let outcome = database.edit(&edit).unwrap();
    assert!(matches!(outcome, WriteOutcome::Stored));
    assert!(database.hours.get(bucket_key(&key(0))).unwrap().is_none());
}
