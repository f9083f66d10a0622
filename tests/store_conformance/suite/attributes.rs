//! The attributes of sensors, told with when they were last heard of.

use hourglass::model::{ATTRIBUTES_MAX, Micros, SensorId, Tags};
use hourglass::store::{SensorCursor, SensorFilter, SensorTold, Store};

use super::draft::sensor;
use crate::store_conformance::Fixture;

fn seen(id: &str, millis: i64, attributes: &[(&str, &str)]) -> SensorTold {
    SensorTold {
        sensor: sensor(id),
        last_seen: Some(Micros::new(millis * 1000).unwrap()),
        attributes: Tags::new(attributes.iter().copied()),
        recent: None,
    }
}

/// `from` to `to` keys, all with `value`.
fn numbered(keys: std::ops::Range<usize>, value: &str) -> Tags {
    let keys: Vec<String> = keys.map(|n| format!("k{n:03}")).collect();
    Tags::new(keys.iter().map(|key| (key.as_str(), value)))
}

pub(crate) async fn attributes_are_merged_by_key_and_the_last_told_wins(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let told = [
        seen("S1", 1, &[("room", "4b"), ("fw", "1.0")]),
        seen("S2", 1, &[]),
    ];
    store.touch(&told).await.unwrap();
    store.touch(&told).await.unwrap();
    assert_eq!(listed(&*store, None, 9).await, told);

    let more = [
        seen("S1", 9, &[("fw", "1.1"), ("building", "A")]),
        seen("S1", 7, &[]),
        seen("S2", 2, &[("room", "5c")]),
    ];
    store.touch(&more).await.unwrap();
    // What is told later wins, whatever its time; a time alone changes none.
    store
        .touch(&[seen("S1", 5, &[("fw", "1.2")])])
        .await
        .unwrap();
    store.touch(&[seen("S1", 3, &[])]).await.unwrap();
    let merged = [
        seen("S1", 9, &[("building", "A"), ("fw", "1.2"), ("room", "4b")]),
        seen("S2", 2, &[("room", "5c")]),
    ];
    assert_eq!(listed(&*store, None, 9).await, merged);
}

pub(crate) async fn attributes_of_any_text_come_back_and_survive_reopening(
    fixture: &mut dyn Fixture,
) {
    let awkward = [
        ("$k", "$v"),
        ("$$ROOT", "$lastSeen"),
        ("a.b", ""),
        ("_id", "x\"y\\"),
        ("v", "k"),
        ("ö", "🌡 \t"),
        ("B", "b"),
        ("a", "x"),
    ];
    let store = fixture.open().await;
    let told = [seen("S1", 7, &awkward)];
    store.touch(&told).await.unwrap();
    assert_eq!(listed(&*store, None, 9).await, told);
    drop(store);
    let store = fixture.open().await;
    assert_eq!(listed(&*store, None, 9).await, told);
}

pub(crate) async fn at_64_attributes_known_ones_are_updated_and_new_ones_not_taken(
    fixture: &mut dyn Fixture,
) {
    let store = fixture.open().await;
    let mut expected = numbered(0..60, "old");
    for (keys, value) in [(0..60, "old"), (50..70, "new"), (0..1, "x"), (70..90, "y")] {
        let mut told = seen("S1", 1, &[]);
        told.attributes = numbered(keys, value);
        expected.merge(&told.attributes, ATTRIBUTES_MAX);
        store.touch(&[told]).await.unwrap();
        let sensors = listed(&*store, None, 9).await;
        assert_eq!(sensors[0].attributes, expected);
    }
    assert_eq!(expected.len(), ATTRIBUTES_MAX);
    let at = |key| expected.get(key);
    assert_eq!([at("k000"), at("k063")], [Some("x"), Some("new")]);
    assert_eq!([at("k064"), at("k070")], [None, None]);
}

pub(crate) async fn tellers_of_different_keys_lose_none(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let teller = async |from: usize| {
        for n in from..from + 20 {
            let mut told = seen("S1", 1, &[]);
            told.attributes = numbered(n..n + 1, "v");
            // Two that make one sensor at one moment may be told to come again.
            while store.touch(std::slice::from_ref(&told)).await.is_err() {}
        }
    };
    tokio::join!(teller(0), teller(20), teller(40));
    let sensors = listed(&*store, None, 9).await;
    assert_eq!(sensors.len(), 1);
    assert_eq!(sensors[0].attributes, numbered(0..60, "v"));
}

/// The first `limit` sensors above `after`, as one would tell them.
async fn listed(store: &dyn Store, after: Option<&SensorId>, limit: usize) -> Vec<SensorTold> {
    let after = after.map(|id| SensorCursor {
        id: id.clone(),
        last_seen: None,
    });
    let all = SensorFilter::default();
    let found = store.find_sensors(&all, after.as_ref(), limit).await;
    let told = found.unwrap().into_iter().map(|stored| SensorTold {
        sensor: stored.id,
        last_seen: stored.last_seen,
        attributes: stored.attributes,
        recent: None,
    });
    told.collect()
}
