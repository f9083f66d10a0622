//! What is written is what is loaded.

use super::draft::{Draft, HOUR, key, load, write};
use crate::store_conformance::Fixture;

pub(crate) async fn a_created_bucket_is_loaded_as_it_was_written(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let mut draft = Draft::new("S1", HOUR);
    let create = draft.append(&[(0, &[("temp", 24.1)]), (1_000_000, &[("temp", 24.2)])]);
    assert_eq!(write(&*store, &[create]).await, ["stored"]);
    let stored = load(&*store, &draft.key).await.unwrap();
    draft.assert_is(Some(&stored));
    assert_eq!(stored.parts.len(), 1);
    assert!(!stored.parts[0].full);
}

pub(crate) async fn appends_keep_the_order_of_arrival(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let mut draft = Draft::new("S1", HOUR);
    for offsets in [[3_599_999_999u32, 5], [4_000_001, 0], [2, 1]] {
        let values: [&[_]; 2] = [
            &[("temp", 1.5), ("rh", 40.0)],
            &[("rh", 41.0), ("temp", 2.5)],
        ];
        let append = draft.append(&[(offsets[0], values[0]), (offsets[1], values[1])]);
        assert_eq!(write(&*store, &[append]).await, ["stored"]);
    }
    draft.assert_is(load(&*store, &draft.key).await.as_ref());
}

pub(crate) async fn a_late_measure_stays_an_element_of_its_own(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let mut draft = Draft::new("S1", HOUR);
    for reading in [(7, "temp", 1.0), (8, "temp", 2.0), (7, "rh", 50.0)] {
        let append = draft.append(&[(reading.0, &[(reading.1, reading.2)])]);
        assert_eq!(write(&*store, &[append]).await, ["stored"]);
    }
    let stored = load(&*store, &draft.key).await.unwrap();
    draft.assert_is(Some(&stored));
    assert_eq!(stored.parts[0].elements.len(), 3);
    assert_eq!(stored.parts[0].computed.count, 2);
}

pub(crate) async fn values_come_back_bit_for_bit(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let values = [
        0.0,
        -0.0,
        5e-324,
        f64::MIN_POSITIVE,
        1e300,
        -1e300,
        0.1 + 0.2,
        9_007_199_254_740_993.0,
        24.1,
        -7.0,
    ];
    let mut draft = Draft::new("S1", HOUR);
    for (at, value) in (0..).zip(values) {
        let append = draft.append(&[(at * 1_000, &[("temp", value)])]);
        assert_eq!(write(&*store, &[append]).await, ["stored"]);
    }
    draft.assert_is(load(&*store, &draft.key).await.as_ref());

    let mut together = Draft::new("S2", HOUR);
    let readings: Vec<[(&str, f64); 1]> = values.iter().map(|v| [("temp", *v)]).collect();
    let readings: Vec<_> = (0..).zip(readings.iter().map(|r| r.as_slice())).collect();
    let create = together.append(&readings);
    assert_eq!(write(&*store, &[create]).await, ["stored"]);
    together.assert_is(load(&*store, &together.key).await.as_ref());
}

pub(crate) async fn many_small_appends_lose_nothing(fixture: &mut dyn Fixture) {
    let mut store = fixture.open().await;
    let mut draft = Draft::new("S1", HOUR);
    for round in 0..50u32 {
        let temp = [("temp", f64::from(round) / 10.0)];
        let both = [("temp", f64::from(round)), ("rh", 55.5)];
        let base = round * 60_000_000;
        let append = draft.append(&[(base + 5, &temp), (base, &both), (base + 9, &temp)]);
        assert_eq!(write(&*store, &[append]).await, ["stored"]);
        if round % 8 == 0 {
            draft.assert_is(load(&*store, &draft.key).await.as_ref());
        }
    }
    drop(store);
    store = fixture.open().await;
    draft.assert_is(load(&*store, &draft.key).await.as_ref());
}

pub(crate) async fn loading_answers_in_the_order_of_the_keys(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let (mut first, mut second) = (Draft::new("S1", HOUR), Draft::new("S2", HOUR + 1));
    let writes = [
        first.append(&[(0, &[("temp", 1.0)])]),
        second.append(&[(0, &[("temp", 2.0)])]),
    ];
    assert_eq!(write(&*store, &writes).await, ["stored", "stored"]);
    let keys = [
        second.key.clone(),
        key("S1", HOUR + 1),
        first.key.clone(),
        key("S", HOUR),
    ];
    let loaded = store.load(&keys).await.unwrap();
    assert_eq!(loaded.len(), 4);
    second.assert_is(loaded[0].as_ref());
    assert_eq!(loaded[1], None);
    first.assert_is(loaded[2].as_ref());
    assert_eq!(loaded[3], None);
    assert_eq!(store.load(&[]).await.unwrap(), []);
}

pub(crate) async fn what_is_stored_survives_reopening(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let mut draft = Draft::new("S1", HOUR);
    let create = draft.append(&[(1, &[("temp", 1.0)])]);
    assert_eq!(write(&*store, &[create]).await, ["stored"]);
    drop(store);

    let store = fixture.open().await;
    draft.assert_is(load(&*store, &draft.key).await.as_ref());
    let append = draft.append(&[(2, &[("temp", 2.0)])]);
    assert_eq!(write(&*store, &[append]).await, ["stored"]);
    drop(store);

    let store = fixture.open().await;
    draft.assert_is(load(&*store, &draft.key).await.as_ref());
}
