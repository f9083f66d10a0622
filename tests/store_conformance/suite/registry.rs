//! Which sensors there are and when they were last heard of.

use hourglass::model::{Micros, SensorId, Tags};
use hourglass::store::{SensorCursor, SensorFilter, SensorTold, Store};

use super::draft::sensor;
use crate::store_conformance::Fixture;

/// In milliseconds: a store may cut finer digits.
fn seen(id: &str, millis: i64) -> SensorTold {
    SensorTold {
        sensor: sensor(id),
        last_seen: Some(Micros::new(millis * 1000).unwrap()),
        attributes: Tags::default(),
        recent: None,
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
        assert_eq!(listed(&*store, None, 9).await, [seen("S1", expected)]);
    }
    drop(store);
    let store = fixture.open().await;
    let sensors = listed(&*store, None, 9).await;
    assert_eq!(sensors, [seen("S1", 1_777_629_600_001)]);
}

pub(crate) async fn sensors_are_paged_by_id(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    assert_eq!(listed(&*store, None, 5).await, []);
    let ids = ["é", "a", "a|b", "b", "ab", "A", "🌡", "a b", "%", "$x"];
    let touched: Vec<_> = (1..).zip(ids).map(|(at, id)| seen(id, at)).collect();
    store.touch(&touched).await.unwrap();
    let mut expected = touched.clone();
    expected.sort_by(|a, b| a.sensor.cmp(&b.sensor));

    for limit in [1, 3, 10, 100] {
        let mut paged = Vec::new();
        loop {
            let after = paged.last().map(|last: &SensorTold| last.sensor.clone());
            let page = listed(&*store, after.as_ref(), limit).await;
            if page.is_empty() {
                break;
            }
            assert!(page.len() <= limit);
            paged.extend(page);
        }
        assert_eq!(paged, expected);
    }
    let behind = listed(&*store, Some(&sensor("a c")), 1).await;
    assert_eq!(behind, [seen("ab", 5)]);
}

pub(crate) async fn a_store_in_order_answers_a_ping(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    store.ping().await.unwrap();
    assert!(["embedded", "mongodb"].contains(&store.name()));
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
