//! Computed fields: read by hour, the newest bucket, and repaired.

use std::sync::Arc;

use hourglass::bucket::Stats;
use hourglass::model::{BucketKey, HourRange};
use hourglass::store::{BucketVersion, Store};

use super::draft::{
    Draft, HOUR, assert_computed, hour, key, load, measure, plain, sensor, stated, unique_by, write,
};
use crate::store_conformance::Fixture;

/// Some hours of two sensors, one of them with gaps.
async fn filled(store: &Arc<dyn Store>) -> Vec<Draft> {
    let keys = [
        ("S1", 0),
        ("S1", 1),
        ("S1", 2),
        ("S1", 5),
        ("S2", 1),
        ("S2", 2),
    ];
    let mut drafts: Vec<_> = keys
        .iter()
        .map(|(id, at)| Draft::new(id, HOUR + at))
        .collect();
    for round in 0..3u32 {
        let appends: Vec<_> = (0..)
            .zip(&mut drafts)
            .map(|(n, draft)| {
                let value = f64::from(n * 10 + round) / 10.0;
                draft.append(&[(round, &[("temp", value), ("rh", -value)])])
            })
            .collect();
        assert_eq!(write(&**store, &appends).await, vec!["stored"; keys.len()]);
    }
    drafts
}

pub(crate) async fn hours_tell_the_computed_fields_within_the_range(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let drafts = filled(&store).await;
    let range = |from: i32, to: i32| HourRange {
        from: hour(HOUR + from),
        to: hour(HOUR + to),
    };
    let (s1, s2, other) = (sensor("S1"), sensor("S2"), sensor("S3"));
    for (sensors, range, expected) in [
        (vec![s1.clone()], range(0, 6), vec![0, 1, 2, 3]),
        (vec![s1.clone()], range(1, 5), vec![1, 2]),
        (
            vec![s2.clone(), other, s1.clone()],
            range(1, 3),
            vec![1, 2, 4, 5],
        ),
        (vec![s2.clone()], range(-100_000, 100_000), vec![4, 5]),
        (vec![s1.clone(), s2], range(3, 5), vec![]),
        (vec![s1.clone()], range(2, 2), vec![]),
        (vec![s1], range(5, 2), vec![]),
        (vec![], range(0, 6), vec![]),
    ] {
        let hours = store.hours(&sensors, range).await.unwrap();
        let keys: Vec<&BucketKey> = hours.iter().map(|h| &h.key).collect();
        let wanted: Vec<_> = expected.iter().map(|at| &drafts[*at].key).collect();
        assert_eq!(keys, wanted);
        for (summary, at) in hours.iter().zip(expected) {
            assert_computed(&summary.computed, &drafts[at].computed());
        }
    }
}

pub(crate) async fn hours_tell_the_version_of_the_bucket(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let mut draft = Draft::new("S1", HOUR);
    let range = HourRange {
        from: hour(HOUR),
        to: hour(HOUR + 1),
    };
    for round in 0..3u32 {
        let readings: [(u32, &[(&str, f64)]); 1] = [(round, &[("temp", f64::from(round))])];
        let next = if round == 2 && store.part_bytes_max().is_some() {
            draft.next_part(&readings)
        } else {
            draft.append(&readings)
        };
        assert_eq!(write(&*store, &[next]).await, ["stored"]);
        let hours = store.hours(&[sensor("S1")], range).await.unwrap();
        assert_eq!(hours.len(), 1);
        assert_eq!(Some(hours[0].version), draft.version);
        assert_eq!(hours[0].computed.count, u64::from(round) + 1);
        assert_computed(&hours[0].computed, &draft.computed());
    }
}

pub(crate) async fn the_newest_bucket_is_that_of_the_last_hour(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let drafts = filled(&store).await;
    let sensors = ["S9", "S2", "S1", "S"].map(sensor);
    let newest = store.newest(&sensors).await.unwrap();
    assert_eq!(newest.len(), 2);
    drafts[3].assert_is(newest.first());
    drafts[5].assert_is(newest.last());
    assert_eq!(store.newest(&[]).await.unwrap(), []);
}

pub(crate) async fn a_repair_replaces_the_computed_fields_of_its_version_only(
    fixture: &mut dyn Fixture,
) {
    let store = fixture.open().await;
    let mut draft = Draft::new("S1", HOUR);
    let create = draft.append(&[(0, &[("temp", 1.0)]), (1, &[("temp", 2.0)])]);
    let right = create.computed.clone();
    let mut wrong = create.clone();
    wrong.computed.count = 7;
    wrong
        .computed
        .measures
        .insert(measure("temp"), Stats::of(99.0));
    wrong
        .computed
        .measures
        .insert(measure("ghost"), Stats::of(1.0));
    assert_eq!(write(&*store, &[wrong]).await, ["stored"]);

    let stored = draft.version.unwrap();
    let target = BucketVersion {
        rev: stored.rev + 1,
        by: unique_by(),
        ..stored
    };
    let other = BucketVersion {
        by: unique_by(),
        ..stored
    };
    assert!(
        !store
            .repair(&draft.key, other, target, &right)
            .await
            .unwrap()
    );
    let absent = key("S1", HOUR + 1);
    assert!(!store.repair(&absent, stored, target, &right).await.unwrap());
    let before = load(&*store, &draft.key).await.unwrap();
    assert_eq!(before.version(), stored);
    assert_eq!(stated(&before).count, 7);

    assert!(
        store
            .repair(&draft.key, stored, target, &right)
            .await
            .unwrap()
    );
    assert!(
        !store
            .repair(&draft.key, stored, target, &right)
            .await
            .unwrap()
    );
    let after = load(&*store, &draft.key).await.unwrap();
    assert_eq!(
        plain(&after.parts[0].elements),
        plain(&before.parts[0].elements)
    );
    draft.version = Some(target);
    draft.assert_is(Some(&after));
    let append = draft.append(&[(2, &[("temp", 3.0)])]);
    assert_eq!(write(&*store, &[append]).await, ["stored"]);
    draft.assert_is(load(&*store, &draft.key).await.as_ref());
}
