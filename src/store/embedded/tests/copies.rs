//! Copies of a site in sensors.

use std::path::Path;

use super::registry::all_stored;
use crate::model::{Retention, SensorDetails, SensorId, Site, SiteCopy, SiteId};
use crate::store::embedded::EmbeddedSettings;
use crate::store::embedded::database::Database;
use crate::store::{CopiesProgress, RecordVersion, SensorPut, SitePut, WriteOutcome};

fn version(rev: i64) -> RecordVersion {
    RecordVersion { rev, by: rev * 10 }
}

fn site(name: &str) -> Site {
    Site {
        id: SiteId::new("s").unwrap(),
        name: Some(name.into()),
        city: None,
        address: None,
        position: None,
        contacts: Vec::new(),
        time_zone: None,
        notes: None,
        retention: Retention::default(),
    }
}

fn sensor(n: i64) -> SensorId {
    SensorId::new(&format!("S{n}")).unwrap()
}

/// Puts sensor `n` at the site, by a copy of version `rev`.
fn put_at(database: &Database, n: i64, expect: Option<i64>, rev: i64) {
    let put = SensorPut {
        id: sensor(n),
        expect: expect.map(version),
        target: version(expect.unwrap_or_default() + 1),
        details: SensorDetails {
            site: Some(site(&format!("name {rev}")).copy(rev)),
            ..SensorDetails::default()
        },
        attributes_removed: Vec::new(),
    };
    all_stored(&database.put_sensors(&[put]).unwrap());
}

fn rename(database: &Database, rev: i64) {
    let put = SitePut {
        site: site(&format!("name {rev}")),
        expect: (rev > 1).then(|| version(rev - 1)),
        target: version(rev),
        rewrite_copies: rev > 1,
    };
    all_stored(&[database.put_site(&put).unwrap()]);
}

fn copy_of(database: &Database, n: i64) -> SiteCopy {
    let stored = database.sensors(vec![sensor(n)]).unwrap();
    stored[0].details.site.clone().unwrap()
}

fn open(dir: &Path) -> Database {
    Database::open(dir, EmbeddedSettings::default()).unwrap()
}

#[test]
fn copies_are_rewritten_in_steps_that_survive_reopening() {
    let dir = tempfile::tempdir().unwrap();
    let mut database = open(dir.path());
    let id = site("").id;
    assert_eq!(database.rewrite_copies(&id, 9).unwrap(), None);
    rename(&database, 1);
    for n in 0..5 {
        put_at(&database, n, None, 1);
    }
    assert_eq!(database.rewrite_copies(&id, 9).unwrap(), None);
    rename(&database, 2);
    let mut done = Vec::new();
    while let Some(CopiesProgress { done: so_far, .. }) = database.rewrite_copies(&id, 2).unwrap() {
        done.push(so_far);
        drop(database);
        database = open(dir.path());
    }
    assert_eq!(done, [2, 4]);
    for n in 0..5 {
        assert_eq!(copy_of(&database, n), site("name 2").copy(2));
    }
    let stored = database.site(&database.snapshot(), &id).unwrap().unwrap();
    assert_eq!((stored.version, stored.copies), (version(2), None));
}

#[test]
fn a_site_that_changes_while_its_copies_are_rewritten_is_rewritten_from_the_beginning() {
    let dir = tempfile::tempdir().unwrap();
    let database = open(dir.path());
    let id = site("").id;
    rename(&database, 1);
    for n in 0..3 {
        put_at(&database, n, None, 1);
    }
    rename(&database, 2);
    assert!(database.rewrite_copies(&id, 2).unwrap().is_some());
    let put = SitePut {
        site: site("name 3"),
        expect: Some(version(2)),
        target: version(3),
        rewrite_copies: false,
    };
    all_stored(&[database.put_site(&put).unwrap()]);
    assert_eq!(database.rewrite_copies(&id, 9).unwrap(), None);
    for n in 0..3 {
        assert_eq!(copy_of(&database, n), site("name 3").copy(3));
    }
}

/// Told from a put of others by the version that it makes.
#[test]
fn a_put_whose_reply_was_lost_is_put_again_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let database = open(dir.path());
    rename(&database, 1);
    rename(&database, 2);
    put_at(&database, 0, None, 1);
    database.rewrite_copies(&site("").id, 9).unwrap();
    let before = database.site(&database.snapshot(), &site("").id).unwrap();
    rename(&database, 2);
    put_at(&database, 0, None, 1);
    let after = database.site(&database.snapshot(), &site("").id).unwrap();
    assert_eq!(after, before);
    assert_eq!(copy_of(&database, 0).rev, 2);

    put_at(&database, 0, Some(1), 2);
    let late = SensorPut {
        id: sensor(0),
        expect: None,
        target: version(1),
        details: SensorDetails::default(),
        attributes_removed: Vec::new(),
    };
    let outcomes = database.put_sensors(&[late]).unwrap();
    assert!(matches!(outcomes[..], [WriteOutcome::Fenced]));
}

/// Who read the sensor before its copy was rewritten puts the old one.
#[test]
fn an_older_copy_never_replaces_a_newer() {
    let dir = tempfile::tempdir().unwrap();
    let database = open(dir.path());
    rename(&database, 1);
    put_at(&database, 0, None, 1);
    rename(&database, 2);
    database.rewrite_copies(&site("").id, 9).unwrap();
    put_at(&database, 0, Some(1), 1);
    assert_eq!(copy_of(&database, 0), site("name 2").copy(2));
    // A copy that is newer than the site here stays, too.
    put_at(&database, 0, Some(2), 7);
    rename(&database, 3);
    database.rewrite_copies(&site("").id, 9).unwrap();
    assert_eq!(copy_of(&database, 0).rev, 7);
}
