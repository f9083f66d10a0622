//! Hours that go: whole, or their readings alone.

use std::slice::from_ref;
use std::sync::Arc;

use futures_util::StreamExt;
use hourglass::model::{HourRange, HourStart, Micros, Order, Tags};
use hourglass::store::{HourSummary, SensorHoursRange, SensorTold, Store, StoredSensor};

use super::draft::{Draft, HOUR, hour, key, load, sensor, unique_by, write};
use crate::store_conformance::Fixture;

fn range(id: &str, from: i32, to: i32) -> SensorHoursRange {
    SensorHoursRange {
        sensor: sensor(id),
        hours: HourRange {
            from: hour(HOUR + from),
            to: hour(HOUR + to),
        },
    }
}

/// Buckets of two sensors, one of them with gaps.
async fn filled(store: &Arc<dyn Store>) -> Vec<Draft> {
    let hours = [("S1", 0), ("S1", 1), ("S1", 2), ("S1", 5), ("S2", 1)];
    let drafts = hours.iter().map(|(id, at)| Draft::new(id, HOUR + at));
    let mut drafts: Vec<_> = drafts.collect();
    for round in 0..2u32 {
        let value = f64::from(round) + 0.5;
        let appends = drafts
            .iter_mut()
            .map(|draft| draft.append(&[(round, &[("temp", value), ("rh", -value)])]));
        let appends: Vec<_> = appends.collect();
        assert_eq!(write(&**store, &appends).await, ["stored"; 5]);
    }
    drafts
}

/// All hours of a sensor.
async fn summaries(store: &dyn Store, id: &str) -> Vec<HourSummary> {
    let SensorHoursRange { sensor, hours } = range(id, -9, 99);
    store.hours(&[sensor], hours).await.unwrap()
}

async fn record(store: &dyn Store, id: &str) -> Option<StoredSensor> {
    let mut records = store.sensors(&[sensor(id)]).await.unwrap();
    assert!(records.len() <= 1);
    records.pop()
}

pub(crate) async fn dropped_hours_are_gone_and_no_others(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let mut drafts = filled(&store).await;
    let in_parts = store.part_bytes_max().is_some();
    if in_parts {
        let next = drafts[1].next_part(&[(9, &[("temp", 9.0)])]);
        assert_eq!(write(&*store, &[next]).await, ["stored"]);
    }
    assert_eq!(store.drop_hours(&[]).await.unwrap(), 0);
    let nothing = [range("S1", 3, 5), range("S1", 2, 2), range("S9", 0, 99)];
    assert_eq!(store.drop_hours(&nothing).await.unwrap(), 0);

    let ranges = [range("S1", 1, 5), range("S2", 2, 9)];
    let documents = 2 + u64::from(in_parts);
    assert_eq!(store.drop_hours(&ranges).await.unwrap(), documents);
    assert_eq!(store.drop_hours(&ranges).await.unwrap(), 0);
    for (at, draft) in drafts.iter().enumerate() {
        let stored = load(&*store, &draft.key).await;
        match at {
            1 | 2 => assert_eq!(stored, None),
            _ => draft.assert_is(stored.as_ref()),
        }
    }
    assert_eq!(summaries(&*store, "S1").await.len(), 2);

    let stale = drafts[2].append(&[(7, &[("temp", 7.0)])]);
    assert_eq!(write(&*store, &[stale]).await, ["fenced"]);
    let mut anew = Draft::new("S1", HOUR + 1);
    let create = anew.append(&[(7, &[("temp", 7.0)])]);
    assert_eq!(write(&*store, &[create]).await, ["stored"]);
    drop(store);
    let store = fixture.open().await;
    anew.assert_is(load(&*store, &anew.key).await.as_ref());
    assert_eq!(load(&*store, &key("S1", HOUR + 2)).await, None);
}

pub(crate) async fn the_oldest_hours_are_those_that_are_left(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    assert_eq!(store.oldest_hours(&[]).await.unwrap(), []);
    filled(&store).await;
    let ids = ["S2", "S9", "S1", "S"].map(sensor);
    let oldest = |s1: i32| {
        vec![
            (sensor("S1"), hour(HOUR + s1)),
            (sensor("S2"), hour(HOUR + 1)),
        ]
    };
    assert_eq!(store.oldest_hours(&ids).await.unwrap(), oldest(0));
    // Those whose readings are dropped are there still.
    store
        .drop_readings(&[range("S1", 0, 2)], unique_by())
        .await
        .unwrap();
    assert_eq!(store.oldest_hours(&ids).await.unwrap(), oldest(0));
    store.drop_hours(&[range("S1", -5, 2)]).await.unwrap();
    assert_eq!(store.oldest_hours(&ids).await.unwrap(), oldest(2));
    store.drop_hours(&[range("S1", 0, 9)]).await.unwrap();
    assert_eq!(store.oldest_hours(&ids).await.unwrap(), oldest(0)[1..]);
}

pub(crate) async fn dropped_readings_leave_the_computed_fields(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let drafts = filled(&store).await;
    let before = summaries(&*store, "S1").await;
    let ranges = [range("S1", 1, 5), range("S2", 1, 1)];
    assert_eq!(store.drop_readings(&ranges, unique_by()).await.unwrap(), 2);

    let after = summaries(&*store, "S1").await;
    for (at, (before, after)) in before.iter().zip(&after).enumerate() {
        assert_eq!(
            (&after.key, &after.computed),
            (&before.key, &before.computed)
        );
        assert_eq!(after.version == before.version, ![1, 2].contains(&at));
    }
    assert_eq!(after.len(), before.len());
    for at in [0, 3, 4] {
        drafts[at].assert_is(load(&*store, &drafts[at].key).await.as_ref());
    }
    // Once is enough.
    assert_eq!(store.drop_readings(&ranges, unique_by()).await.unwrap(), 0);
    assert_eq!(summaries(&*store, "S1").await, after);
    drop(store);

    let store = fixture.open().await;
    assert_eq!(summaries(&*store, "S1").await, after);
    let SensorHoursRange { sensor, hours } = range("S1", 0, 3);
    let scanned: Vec<_> = store
        .scan(&sensor, hours, Order::Descending)
        .collect()
        .await;
    let scanned: Vec<_> = scanned.into_iter().map(Result::unwrap).collect();
    assert_eq!(scanned.len(), 3);
    for (bucket, at) in scanned.iter().zip([2, 1, 0]) {
        assert_eq!(load(&*store, &drafts[at].key).await.as_ref(), Some(bucket));
        assert_eq!(bucket.parts[0].raw_dropped, at > 0);
        assert_eq!(bucket.parts[0].elements.is_empty(), at > 0);
        assert_eq!(bucket.parts[0].computed, after[at].computed);
        assert_eq!(bucket.parts[0].stray_fields, Vec::<String>::new());
        assert_eq!(bucket.version(), after[at].version);
    }
    // In the end they go whole.
    let dropped = store.drop_hours(&[range("S1", 0, 2)]).await.unwrap();
    assert_eq!(dropped, 2);
    assert_eq!(summaries(&*store, "S1").await, after[2..]);
}

pub(crate) async fn dropped_readings_of_every_part_go(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    if store.part_bytes_max().is_none() {
        return;
    }
    let mut draft = Draft::new("S1", HOUR);
    let create = draft.append(&[(0, &[("temp", 1.0)]), (1, &[("temp", 2.0)])]);
    assert_eq!(write(&*store, &[create]).await, ["stored"]);
    let next = draft.next_part(&[(2, &[("temp", 3.0)])]);
    assert_eq!(write(&*store, &[next]).await, ["stored"]);
    let before = summaries(&*store, "S1").await;
    let ranges = [range("S1", 0, 1)];
    assert_eq!(store.drop_readings(&ranges, unique_by()).await.unwrap(), 2);
    let after = summaries(&*store, "S1").await;
    assert_eq!(after[0].computed, before[0].computed);
    assert_ne!(after[0].version, before[0].version);
    let bucket = load(&*store, &draft.key).await.unwrap();
    assert_eq!(bucket.parts.len(), 2);
    for part in &bucket.parts {
        assert!(part.raw_dropped && part.elements.is_empty());
    }
    let next = draft.next_part(&[(3, &[("temp", 4.0)])]);
    assert_eq!(write(&*store, &[next]).await, ["fenced"]);
}

pub(crate) async fn a_write_to_dropped_readings_is_fenced(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let mut drafts = filled(&store).await;
    let ranges = [range("S1", 0, 1)];
    store.drop_readings(&ranges, unique_by()).await.unwrap();
    let dropped = load(&*store, &drafts[0].key).await.unwrap();

    let reading: (u32, &[(&str, f64)]) = (7, &[("temp", 7.0)]);
    let of_old = drafts[0].clone().append(&[reading]);
    drafts[0].version = Some(dropped.version());
    let of_new = drafts[0].append(&[reading]);
    let create = Draft::new("S1", HOUR).append(&[reading]);
    let other = drafts[1].append(&[reading]);
    for write_of_dropped in [of_old, of_new, create] {
        assert_eq!(write(&*store, &[write_of_dropped]).await, ["fenced"]);
    }
    assert_eq!(write(&*store, &[other]).await, ["stored"]);
    assert_eq!(load(&*store, &dropped.key).await, Some(dropped));
    drafts[1].assert_is(load(&*store, &drafts[1].key).await.as_ref());
}

pub(crate) async fn the_mark_of_dropped_readings_never_moves_back(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let told = SensorTold {
        sensor: sensor("S1"),
        last_seen: Some(Micros::new(1_777_629_600_000_000).unwrap()),
        attributes: Tags::new([("room", "4b")]),
        recent: None,
    };
    store.touch(from_ref(&told)).await.unwrap();
    let mut expected = record(&*store, "S1").await.unwrap();
    assert_eq!(expected.raw_dropped_before, None);
    for (from, to, mark) in [(0, 5, 5), (0, 3, 5), (7, 7, 5), (5, 9, 9)] {
        let ranges = [range("S1", from, to)];
        store.drop_readings(&ranges, unique_by()).await.unwrap();
        expected.raw_dropped_before = Some(hour(HOUR + mark));
        assert_eq!(record(&*store, "S1").await.as_ref(), Some(&expected));
    }
    store.touch(&[told]).await.unwrap();
    assert_eq!(record(&*store, "S1").await, Some(expected));

    // One that nobody told of.
    let ranges = [range("S2", 0, 1), range("S3", 1, 1)];
    store.drop_readings(&ranges, unique_by()).await.unwrap();
    drop(store);
    let store = fixture.open().await;
    let made = record(&*store, "S2").await.unwrap();
    let mark: HourStart = hour(HOUR + 1);
    assert_eq!(
        (made.raw_dropped_before, made.last_seen),
        (Some(mark), None)
    );
    assert_eq!(record(&*store, "S3").await, None);
}
