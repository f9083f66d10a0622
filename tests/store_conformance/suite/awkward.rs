//! Ids and names that keys and documents have trouble with.

use futures_util::TryStreamExt;
use hourglass::model::{HourRange, Order};

use super::draft::{Draft, HOUR, assert_computed, hour, load, sensor, write};
use crate::store_conformance::Fixture;

/// Separators, escapes, and beginnings of each other.
const IDS: [&str; 16] = [
    "a",
    "a|b",
    "ab",
    "a b",
    "a#1",
    "a%7Cb",
    "a/b",
    "a.b",
    "$a",
    "A",
    "🌡",
    "é",
    "a|",
    "%",
    "#",
    "a|2026-05-01T10",
];

pub(crate) async fn sensors_with_separators_in_their_ids_stay_apart(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let mut drafts: Vec<_> = IDS.iter().map(|id| Draft::new(id, HOUR)).collect();
    let creates: Vec<_> = (0..)
        .zip(&mut drafts)
        .map(|(n, draft)| draft.append(&[(n, &[("temp", f64::from(n))])]))
        .collect();
    assert_eq!(write(&*store, &creates).await, vec!["stored"; IDS.len()]);

    let range = HourRange {
        from: hour(HOUR - 5),
        to: hour(HOUR + 5),
    };
    for draft in &drafts {
        let id = draft.key.sensor.clone();
        draft.assert_is(load(&*store, &draft.key).await.as_ref());
        let hours = store.hours(std::slice::from_ref(&id), range).await.unwrap();
        assert_eq!(hours.len(), 1, "hours of {id:?}");
        assert_computed(&hours[0].computed, &draft.computed());
        let scan = store.scan(&id, range, Order::Descending);
        let scanned: Vec<_> = scan.try_collect().await.unwrap();
        assert_eq!(scanned.len(), 1, "a scan of {id:?}");
        draft.assert_is(scanned.first());
        let newest = store.newest(std::slice::from_ref(&id)).await.unwrap();
        assert_eq!(newest.len(), 1, "the newest of {id:?}");
        draft.assert_is(newest.first());
    }

    let mut sorted: Vec<_> = IDS.iter().map(|id| sensor(id)).collect();
    sorted.sort();
    let ids: Vec<_> = IDS.iter().map(|id| sensor(id)).collect();
    let hours = store.hours(&ids, range).await.unwrap();
    let order: Vec<_> = hours.into_iter().map(|h| h.key.sensor).collect();
    assert_eq!(order, sorted);
    let newest = store.newest(&ids).await.unwrap();
    let order: Vec<_> = newest.into_iter().map(|b| b.key.sensor).collect();
    assert_eq!(order, sorted);
}

pub(crate) async fn measures_that_trouble_documents_come_back(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let long = "m".repeat(64);
    let names = [
        "sec",
        "a.b",
        "$x",
        "50%",
        "__proto__",
        "Temp",
        "temp",
        "%73ec",
        "_id",
        "x$",
        ".",
        "🌡",
        "count",
        "a b",
        &long,
    ];
    let values: Vec<_> = names
        .iter()
        .zip(0..)
        .map(|(n, v)| (*n, f64::from(v) / 4.0))
        .collect();
    let mut draft = Draft::new("S1", HOUR);
    let create = draft.append(&[(0, &values), (5, &values[..1])]);
    assert_eq!(write(&*store, &[create]).await, ["stored"]);
    let append = draft.append(&[(1, &values), (5, &values[1..])]);
    assert_eq!(write(&*store, &[append]).await, ["stored"]);
    draft.assert_is(load(&*store, &draft.key).await.as_ref());
    let range = HourRange {
        from: hour(HOUR),
        to: hour(HOUR + 1),
    };
    let hours = store.hours(&[sensor("S1")], range).await.unwrap();
    assert_computed(&hours[0].computed, &draft.computed());
}
