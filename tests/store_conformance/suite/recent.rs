//! The newest readings in the records of sensors.

use std::slice::from_ref;

use hourglass::model::{Micros, RecentReading, SensorId, Tags};
use hourglass::store::{
    RecentWrite, RecordVersion, SensorFilter, SensorTold, Store, StoredRecent, StoredSensor,
};

use super::draft::{measure, sensor, unique_by, word};
use crate::store_conformance::Fixture;

/// 2026-05-01T10:00:00Z.
const AT: i64 = 1_777_629_600_000_000;

fn reading(micros: i64, values: &[(&str, f64)]) -> RecentReading {
    RecentReading {
        at: Micros::new(AT + micros).unwrap(),
        values: values.iter().map(|(name, v)| (measure(name), *v)).collect(),
    }
}

/// The version after `expect`.
fn next(expect: Option<RecordVersion>) -> RecordVersion {
    RecordVersion {
        rev: expect.map_or(1, |version| version.rev + 1),
        by: unique_by(),
    }
}

fn told(id: &str, expect: Option<RecordVersion>, readings: Vec<RecentReading>) -> SensorTold {
    SensorTold {
        sensor: sensor(id),
        last_seen: Some(Micros::new(AT).unwrap()),
        attributes: Tags::default(),
        recent: Some(RecentWrite {
            expect,
            target: next(expect),
            readings,
        }),
    }
}

/// What is stored once `told` is.
fn expected(told: &SensorTold) -> StoredRecent {
    let recent = told.recent.as_ref().unwrap();
    StoredRecent {
        version: Some(recent.target),
        readings: recent.readings.clone(),
    }
}

async fn touch(store: &dyn Store, told: &SensorTold) -> String {
    let outcomes = store.touch(from_ref(told)).await.unwrap();
    assert_eq!(outcomes.len(), 1);
    word(&outcomes[0])
}

async fn record(store: &dyn Store, id: &str) -> StoredSensor {
    let mut sensors = store.sensors(&[sensor(id)]).await.unwrap();
    assert_eq!(sensors.len(), 1);
    sensors.pop().unwrap()
}

pub(crate) async fn recent_readings_come_back_as_they_were_told(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let awkward = vec![
        reading(3_600_000_000, &[("$x", -0.0), ("a.b", 0.1 + 0.2)]),
        reading(1, &[("__proto__", 1e300), ("sec", 5e-324), ("🌡", 24.5)]),
        reading(0, &[("at", 9_007_199_254_740_991.0)]),
        reading(-AT - 1, &[("before the epoch", -7.0)]),
    ];
    let some = told("S1", None, awkward);
    let none = told("S2", None, Vec::new());
    let both = [some.clone(), none.clone()];
    let outcomes = store.touch(&both).await.unwrap();
    assert_eq!(outcomes.iter().map(word).collect::<Vec<_>>(), ["stored"; 2]);
    assert_eq!(record(&*store, "S1").await.recent, expected(&some));
    assert_eq!(record(&*store, "S2").await.recent, expected(&none));

    // Lists leave them out.
    let all = SensorFilter::default();
    let listed = store.find_sensors(&all, None, 9).await.unwrap();
    assert_eq!(listed.len(), 2);
    for listed in listed {
        assert_eq!(listed.recent, StoredRecent::default());
    }
    drop(store);
    let store = fixture.open().await;
    let stored = record(&*store, "S1").await.recent;
    assert_eq!(stored, expected(&some));
    let bits = |recent: &StoredRecent| {
        let values = recent.readings.iter().flat_map(|r| &r.values);
        values.map(|(_, value)| value.to_bits()).collect::<Vec<_>>()
    };
    assert_eq!(bits(&stored), bits(&expected(&some)));
}

pub(crate) async fn recent_readings_are_replaced_under_their_fence(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let absent = RecordVersion {
        rev: 1,
        by: unique_by(),
    };
    let early = told("S1", Some(absent), vec![reading(9, &[("temp", 9.0)])]);
    assert_eq!(touch(&*store, &early).await, "fenced");

    let first = told("S1", None, vec![reading(0, &[("temp", 1.0)])]);
    assert_eq!(touch(&*store, &first).await, "stored");
    let version = first.recent.as_ref().unwrap().target;
    let wrong = [
        None,
        Some(RecordVersion {
            rev: version.rev + 1,
            ..version
        }),
        Some(RecordVersion {
            rev: version.rev - 1,
            ..version
        }),
        Some(RecordVersion {
            by: unique_by(),
            ..version
        }),
    ];
    let newer = vec![reading(5, &[("temp", 5.0)]), reading(0, &[("temp", 1.0)])];
    for expect in wrong {
        let wrong = told("S1", expect, newer.clone());
        assert_eq!(touch(&*store, &wrong).await, "fenced");
        assert_eq!(record(&*store, "S1").await.recent, expected(&first));
    }
    // One sensor's fence holds nobody else up.
    let right = told("S1", Some(version), newer.clone());
    let stale = told("S2", Some(version), newer);
    let other = told("S3", None, vec![reading(0, &[("rh", 1.0)])]);
    let round = [stale, right.clone(), other.clone()];
    let outcomes = store.touch(&round).await.unwrap();
    let outcomes: Vec<_> = outcomes.iter().map(word).collect();
    assert_eq!(outcomes, ["fenced", "stored", "stored"]);
    assert_eq!(record(&*store, "S1").await.recent, expected(&right));
    assert_eq!(record(&*store, "S3").await.recent, expected(&other));
}

/// It is told from a write of others, and goes in once.
pub(crate) async fn recent_readings_whose_reply_was_lost_are_told_again(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let mut before: Option<SensorTold> = None;
    for at in 0..3 {
        let version = before.as_ref().and_then(|before| expected(before).version);
        let write = told("S1", version, vec![reading(at, &[("temp", 1.0)])]);
        for _ in 0..2 {
            assert_eq!(touch(&*store, &write).await, "stored");
            assert_eq!(record(&*store, "S1").await.recent, expected(&write));
        }
        // Too late: another one is in.
        if let Some(before) = &before {
            assert_eq!(touch(&*store, before).await, "fenced");
            assert_eq!(record(&*store, "S1").await.recent, expected(&write));
        }
        before = Some(write);
    }
}

/// Puts one reading in front, as often as it takes.
async fn put_in(store: &dyn Store, micros: i64) {
    loop {
        let stored = store.sensors(&[sensor("S1")]).await.unwrap();
        let recent = stored.into_iter().next().map(|sensor| sensor.recent);
        let StoredRecent {
            version,
            mut readings,
        } = recent.unwrap_or_default();
        readings.push(reading(micros, &[("temp", 1.0)]));
        readings.sort_by_key(|reading| std::cmp::Reverse(reading.at));
        let write = told("S1", version, readings);
        // Two that make one sensor at one moment may be told to come again.
        let outcomes = store.touch(&[write]).await;
        if outcomes.is_ok_and(|outcomes| word(&outcomes[0]) == "stored") {
            return;
        }
    }
}

pub(crate) async fn of_two_tellers_of_recent_readings_neither_loses_any(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let teller = async |from: i64| {
        for micros in from..from + 10 {
            put_in(&*store, micros).await;
        }
    };
    tokio::join!(teller(0), teller(10));
    let recent = record(&*store, "S1").await.recent;
    let newest_first = (0..20).rev().map(|at| reading(at, &[("temp", 1.0)]));
    assert_eq!(recent.readings, newest_first.collect::<Vec<_>>());
    assert_eq!(recent.version.map(|version| version.rev), Some(20));
}

pub(crate) async fn what_is_told_without_recent_readings_leaves_them(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let mut first = told("S1", None, vec![reading(0, &[("temp", 1.0)])]);
    first.attributes = Tags::new([("room", "4b")]);
    assert_eq!(touch(&*store, &first).await, "stored");
    let later = SensorTold {
        last_seen: Some(Micros::new(AT + 1000).unwrap()),
        attributes: Tags::new([("fw", "1.2")]),
        recent: None,
        ..first.clone()
    };
    let nothing = SensorTold {
        last_seen: None,
        attributes: Tags::default(),
        ..later.clone()
    };
    assert_eq!(touch(&*store, &later).await, "stored");
    assert_eq!(touch(&*store, &nothing).await, "stored");
    let stored = record(&*store, "S1").await;
    assert_eq!(stored.recent, expected(&first));
    assert_eq!(stored.last_seen, later.last_seen);
    assert_eq!(
        stored.attributes,
        Tags::new([("fw", "1.2"), ("room", "4b")])
    );
    // All that is told of one sensor is in, or nothing told it.
    let version = first.recent.as_ref().unwrap().target;
    let mut both = told("S1", Some(version), Vec::new());
    both.attributes = Tags::new([("fw", "1.3")]);
    both.last_seen = Some(Micros::new(AT + 2000).unwrap());
    assert_eq!(touch(&*store, &both).await, "stored");
    let stored = record(&*store, "S1").await;
    assert_eq!(stored.recent, expected(&both));
    assert_eq!(stored.last_seen, both.last_seen);
    assert_eq!(stored.attributes.get("fw"), Some("1.3"));
}

pub(crate) async fn sensors_are_answered_by_id_with_all_they_hold(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    assert_eq!(store.sensors(&[]).await.unwrap(), []);
    let ids = ["é", "a", "a|b", "b", "ab", "A", "🌡", "%", "$x"];
    let all: Vec<_> = (0..)
        .zip(ids)
        .map(|(at, id)| told(id, None, vec![reading(at, &[("temp", 1.0)])]))
        .collect();
    let outcomes = store.touch(&all).await.unwrap();
    assert_eq!(outcomes.iter().map(word).collect::<Vec<_>>(), ["stored"; 9]);

    let asked: Vec<SensorId> = ["z", "é", "ab", "a", "$x", "a b"].map(sensor).to_vec();
    let found = store.sensors(&asked).await.unwrap();
    let order: Vec<_> = found.iter().map(|found| found.id.as_str()).collect();
    assert_eq!(order, ["$x", "a", "ab", "é"]);
    for found in found {
        let told = all.iter().find(|told| told.sensor == found.id).unwrap();
        assert_eq!(found.recent, expected(told));
        assert_eq!(found.last_seen, told.last_seen);
    }
}
