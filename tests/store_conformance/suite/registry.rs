//! Which sensors there are and when they were last heard of.

use hourglass::model::{Micros, Tags};
use hourglass::store::SensorSeen;

use super::draft::sensor;
use crate::store_conformance::Fixture;

/// In milliseconds: a store may cut finer digits.
fn seen(id: &str, millis: i64) -> SensorSeen {
    SensorSeen {
        sensor: sensor(id),
        last_seen: Micros::new(millis * 1000).unwrap(),
        attributes: Tags::default(),
    }
}

pub(crate) async fn a_touch_never_moves_a_time_back(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    for (touch, expected) in [
        (vec![seen("S1", 1_000_000)], 1_000_000),
        (vec![seen("S1", 999_999)], 1_000_000),
        (vec![seen("S1", 1_777_629_600_001)], 1_777_629_600_001),
        (vec![seen("S1", 1_777_629_600_000)], 1_777_629_600_001),
        (vec![], 1_777_629_600_001),
    ] {
        store.touch(&touch).await.unwrap();
        store.touch(&touch).await.unwrap();
        assert_eq!(
            store.sensors(None, 9).await.unwrap(),
            [seen("S1", expected)]
        );
    }
    drop(store);
    let store = fixture.open().await;
    let sensors = store.sensors(None, 9).await.unwrap();
    assert_eq!(sensors, [seen("S1", 1_777_629_600_001)]);
}

pub(crate) async fn sensors_are_paged_by_id(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    assert_eq!(store.sensors(None, 5).await.unwrap(), []);
    let ids = ["é", "a", "a|b", "b", "ab", "A", "🌡", "a b", "%", "$x"];
    let touched: Vec<_> = (1..).zip(ids).map(|(at, id)| seen(id, at)).collect();
    store.touch(&touched).await.unwrap();
    let mut expected = touched.clone();
    expected.sort_by(|a, b| a.sensor.cmp(&b.sensor));

    for limit in [1, 3, 10, 100] {
        let mut paged = Vec::new();
        loop {
            let after = paged.last().map(|last: &SensorSeen| last.sensor.clone());
            let page = store.sensors(after.as_ref(), limit).await.unwrap();
            if page.is_empty() {
                break;
            }
            assert!(page.len() <= limit);
            paged.extend(page);
        }
        assert_eq!(paged, expected);
    }
    let behind = store.sensors(Some(&sensor("a c")), 1).await.unwrap();
    assert_eq!(behind, [seen("ab", 5)]);
}

pub(crate) async fn a_store_in_order_answers_a_ping(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    store.ping().await.unwrap();
    assert!(["embedded", "mongodb"].contains(&store.name()));
}
