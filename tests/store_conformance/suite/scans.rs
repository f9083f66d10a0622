//! Streams of buckets.

use futures_util::TryStreamExt;
use hourglass::model::{HourRange, Order};

use super::draft::{Draft, HOUR, hour, sensor, write};
use crate::store_conformance::Fixture;

fn range(from: i32, to: i32) -> HourRange {
    HourRange {
        from: hour(HOUR + from),
        to: hour(HOUR + to),
    }
}

pub(crate) async fn a_scan_gives_the_hours_in_the_order_asked_for(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let mut drafts: Vec<_> = (0..110).map(|n| Draft::new("S1", HOUR + n)).collect();
    let mut writes: Vec<_> = (0..)
        .zip(&mut drafts)
        .map(|(n, draft)| draft.append(&[(n, &[("temp", f64::from(n))])]))
        .collect();
    // Neighbours in the order of keys, which no scan of S1 may show.
    for id in ["S0", "S1 ", "S10", "S2"] {
        for n in [0, 109] {
            writes.push(Draft::new(id, HOUR + n).append(&[(0, &[("temp", 0.0)])]));
        }
    }
    assert_eq!(write(&*store, &writes).await, vec!["stored"; 118]);

    for (from, to) in [(0, 110), (-5, 400), (1, 109), (40, 41)] {
        let expected: Vec<_> = (from.max(0)..to.min(110)).collect();
        for order in [Order::Ascending, Order::Descending] {
            let scan = store.scan(&sensor("S1"), range(from, to), order);
            let mut scanned: Vec<_> = scan.try_collect().await.unwrap();
            if order == Order::Descending {
                scanned.reverse();
            }
            assert_eq!(scanned.len(), expected.len());
            for (bucket, n) in scanned.iter().zip(&expected) {
                drafts[*n as usize].assert_is(Some(bucket));
            }
        }
    }
}

pub(crate) async fn a_scan_of_nothing_is_empty(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let create = Draft::new("S1", HOUR).append(&[(0, &[("temp", 0.0)])]);
    assert_eq!(write(&*store, &[create]).await, ["stored"]);
    for order in [Order::Ascending, Order::Descending] {
        for (id, range) in [
            ("S1", range(0, 0)),
            ("S1", range(1, 0)),
            ("S1", range(1, 9)),
            ("S1", range(-9, 0)),
            ("S", range(0, 1)),
        ] {
            let scan = store.scan(&sensor(id), range, order);
            assert_eq!(scan.try_collect::<Vec<_>>().await.unwrap(), []);
        }
    }
}

pub(crate) async fn all_gives_every_bucket_in_the_order_of_keys(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    assert_eq!(store.all().try_collect::<Vec<_>>().await.unwrap(), []);
    let mut drafts = Vec::new();
    for id in ["b", "a|b", "ab", "a", "é"] {
        drafts.extend((0..20).map(|n| Draft::new(id, HOUR + n)));
    }
    let writes: Vec<_> = (0..)
        .zip(&mut drafts)
        .map(|(n, draft)| draft.append(&[(n, &[("temp", f64::from(n))])]))
        .collect();
    assert_eq!(write(&*store, &writes).await, vec!["stored"; 100]);
    drafts.sort_by(|a, b| a.key.cmp(&b.key));
    let all: Vec<_> = store.all().try_collect().await.unwrap();
    assert_eq!(all.len(), drafts.len());
    for (bucket, draft) in all.iter().zip(&drafts) {
        draft.assert_is(Some(bucket));
    }
}
