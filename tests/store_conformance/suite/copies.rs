//! Copies of a site in its sensors.

use hourglass::model::{Site, SiteCopy};
use hourglass::store::{CopiesProgress, SensorFilter, SitePut, Store};

use super::draft::{sensor, word};
use super::records::{
    attributed, awkward_ids, ids, named, paged, put, put_of, put_one, put_site, record, site_id,
    tell, told,
};
use crate::store_conformance::Fixture;

/// Puts sensors with a copy of a site as of `rev`.
async fn put_at(store: &dyn Store, sensors: &[&str], site: &Site, rev: i64) {
    let puts = sensors.iter().map(|id| {
        let mut details = attributed(&[("fw", "1")]);
        details.site = Some(site.copy(rev));
        put(id, None, details, &[])
    });
    let puts: Vec<_> = puts.collect();
    let outcomes = store.put_sensors(&puts).await.unwrap();
    assert_eq!(outcomes.len(), puts.len());
    assert!(outcomes.iter().all(|outcome| word(outcome) == "stored"));
}

async fn copy(store: &dyn Store, id: &str) -> SiteCopy {
    record(store, id).await.unwrap().details.site.unwrap()
}

/// A site at `rev` 2, which its sensors have a copy of at `rev` 1.
async fn renamed(store: &dyn Store, sensors: &[&str]) -> SitePut {
    let old = named("s", "old");
    put_at(store, sensors, &old, 1).await;
    let first = put_of(old, None, false);
    assert_eq!(put_site(store, &first).await, "stored");
    let mut new = named("s", "$new");
    new.city = Some("$$REMOVE".into());
    let second = put_of(new, Some(first.target), true);
    assert_eq!(put_site(store, &second).await, "stored");
    second
}

pub(crate) async fn copies_are_rewritten_in_steps_to_the_end(fixture: &mut dyn Fixture) {
    let mut store = fixture.open().await;
    let mut sensors = awkward_ids();
    let unsorted: Vec<_> = sensors.iter().map(|id| id.as_str()).collect();
    let site = renamed(&*store, &unsorted).await;
    let new = site.site.copy(2);
    // Neither of another site, nor of one that sorts next to it, nor of none.
    let others = [named("s|x", "other"), named("r", "other")];
    put_at(&*store, &["Z1"], &others[0], 1).await;
    put_at(&*store, &["Z2"], &others[1], 1).await;
    tell(&*store, &[told("Z3", 1, &[])]).await;
    let before = record(&*store, "a").await.unwrap();

    sensors.sort_unstable();
    let id = site_id("s");
    for end in [4, 8] {
        let progress = CopiesProgress {
            after: Some(sensors[end - 1].clone()),
            done: end as u64,
        };
        let told = store.rewrite_copies(&id, 4).await.unwrap();
        assert_eq!(told.as_ref(), Some(&progress));
        for (at, sensor) in sensors.iter().enumerate() {
            let is_new = copy(&*store, sensor.as_str()).await == new;
            assert_eq!(is_new, at < end, "{sensor}");
        }
        // A crash between the steps.
        drop(store);
        store = fixture.open().await;
        let stored = store.site(&id).await.unwrap().unwrap();
        assert_eq!(stored.copies.as_ref(), Some(&progress));
        assert_eq!(stored.version, site.target);
    }
    assert_eq!(store.rewrite_copies(&id, 4).await.unwrap(), None);
    let stored = store.site(&id).await.unwrap().unwrap();
    assert_eq!(stored.copies, None);
    assert_eq!((stored.site, stored.version), (site.site, site.target));
    for sensor in &sensors {
        assert_eq!(copy(&*store, sensor.as_str()).await, new);
    }
    // The copy alone is another one: also for who changes the sensor now.
    let after = record(&*store, "a").await.unwrap();
    let mut expected = before;
    expected.details.site = Some(new);
    assert_eq!(after, expected);
    assert_eq!(copy(&*store, "Z1").await, others[0].copy(1));
    assert_eq!(copy(&*store, "Z2").await, others[1].copy(1));
    // Nothing to do, and no site at all.
    assert_eq!(store.rewrite_copies(&id, 4).await.unwrap(), None);
    let none = site_id("none");
    assert_eq!(store.rewrite_copies(&none, 4).await.unwrap(), None);
}

pub(crate) async fn a_newer_copy_is_never_overwritten(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let site = renamed(&*store, &["a", "c"]).await;
    // Somebody put this one with what the site is going to say next.
    let newer = named("s", "newer");
    put_at(&*store, &["b"], &newer, 3).await;
    let done = store.rewrite_copies(&site_id("s"), 2).await.unwrap();
    let progress = CopiesProgress {
        after: Some(sensor("b")),
        done: 1,
    };
    assert_eq!(done, Some(progress));
    let done = store.rewrite_copies(&site_id("s"), 2).await.unwrap();
    assert_eq!(done, None);
    assert_eq!(copy(&*store, "a").await, site.site.copy(2));
    assert_eq!(copy(&*store, "b").await, newer.copy(3));
    assert_eq!(copy(&*store, "c").await, site.site.copy(2));
}

pub(crate) async fn a_site_that_changes_meanwhile_is_rewritten_from_the_start(
    fixture: &mut dyn Fixture,
) {
    let store = fixture.open().await;
    let second = renamed(&*store, &["a", "b", "c"]).await;
    let id = site_id("s");
    let progress = store.rewrite_copies(&id, 2).await.unwrap().unwrap();
    assert_eq!(progress.done, 2);
    let third = put_of(named("s", "third"), Some(second.target), false);
    assert_eq!(put_site(&*store, &third).await, "stored");
    let mut steps = 0;
    while store.rewrite_copies(&id, 2).await.unwrap().is_some() {
        steps += 1;
    }
    assert_eq!(steps, 1);
    for sensor in ["a", "b", "c"] {
        assert_eq!(copy(&*store, sensor).await, third.site.copy(3));
    }
}

/// Two processes that rewrite, one that renames and one that moves sensors.
pub(crate) async fn copies_are_true_in_the_end_whoever_rewrites_them(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let sensors: Vec<String> = (0..12).map(|n| format!("S{n:02}")).collect();
    let names: Vec<&str> = sensors.iter().map(String::as_str).collect();
    let mut version = renamed(&*store, &names).await.target;
    let id = site_id("s");
    let rewrites = async || while store.rewrite_copies(&id, 2).await.unwrap().is_some() {};
    let renames = async {
        for n in 3..6 {
            let put = put_of(named("s", &format!("name {n}")), Some(version), true);
            assert_eq!(put_site(&*store, &put).await, "stored");
            version = put.target;
            store.rewrite_copies(&id, 3).await.unwrap();
        }
    };
    let moves = async {
        for sensor in &names[..3] {
            let stored = record(&*store, sensor).await.unwrap();
            let mut details = stored.details;
            details.site = Some(named("t", "elsewhere").copy(9));
            let put = put(sensor, stored.version, details, &[]);
            assert_eq!(put_one(&*store, &put).await, "stored");
        }
    };
    tokio::join!(rewrites(), rewrites(), renames, moves);
    rewrites().await;
    let stored = store.site(&id).await.unwrap().unwrap();
    assert_eq!((stored.version, stored.copies), (version, None));
    let at = |id: &str| SensorFilter {
        site: Some(site_id(id)),
        ..SensorFilter::default()
    };
    let there = paged(&*store, &at("s"), 5).await;
    assert_eq!(ids(&there), &names[3..]);
    let copy = stored.site.copy(version.rev);
    for sensor in there {
        assert_eq!(sensor.details.site.as_ref(), Some(&copy));
    }
    assert_eq!(ids(&paged(&*store, &at("t"), 5).await), &names[..3]);
}
