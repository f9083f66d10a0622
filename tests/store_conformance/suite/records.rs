//! What a registry does, for tests: puts of sensors and sites, what they make.

use std::slice::from_ref;

use hourglass::model::{
    Contact, Keep, Micros, Position, Retention, SensorDetails, SensorId, Site, SiteCopy, SiteId,
    Tags,
};
use hourglass::store::{
    RecordVersion, SensorCursor, SensorFilter, SensorPut, SensorTold, SitePut, Store, StoredSensor,
};

use super::draft::{measure, sensor, unique_by, word};

pub(super) fn site_id(id: &str) -> SiteId {
    SiteId::new(id).unwrap()
}

/// The version after `expect`.
pub(super) fn next(expect: Option<RecordVersion>) -> RecordVersion {
    RecordVersion {
        rev: expect.map_or(1, |version| version.rev + 1),
        by: unique_by(),
    }
}

/// Versions that a record at `version` does not have.
pub(super) fn wrong(version: RecordVersion) -> [Option<RecordVersion>; 4] {
    let RecordVersion { rev, by } = version;
    [
        None,
        Some(RecordVersion { rev: rev + 1, by }),
        Some(RecordVersion { rev: rev - 1, by }),
        Some(next(Some(RecordVersion { rev: rev - 1, by }))),
    ]
}

/// A sensor heard of, in milliseconds, as a store may cut finer digits.
pub(super) fn told(id: &str, millis: i64, attributes: &[(&str, &str)]) -> SensorTold {
    SensorTold {
        sensor: sensor(id),
        last_seen: Some(Micros::new(millis * 1000).unwrap()),
        attributes: Tags::new(attributes.iter().copied()),
        recent: None,
    }
}

/// Details that say nothing but these attributes.
pub(super) fn attributed(attributes: &[(&str, &str)]) -> SensorDetails {
    SensorDetails {
        attributes: Tags::new(attributes.iter().copied()),
        ..SensorDetails::default()
    }
}

/// Details that say all there is to say, with what troubles documents.
pub(super) fn all_details() -> SensorDetails {
    let units = [("a.b", "$temp"), ("$x", "°C"), ("sec", "%"), ("temp", "")];
    SensorDetails {
        name: Some("$$ROOT".into()),
        model: Some("$name".into()),
        units: units.map(|(n, unit)| (measure(n), unit.into())).into(),
        site: Some(SiteCopy {
            id: site_id("$site|1"),
            name: Some("$$NOW".into()),
            city: Some("Zürich 🌡".into()),
            rev: 7,
        }),
        attributes: Tags::new([("$k", "$v"), ("fw", "2.1"), ("a.b", ""), ("n", "-0")]),
        retention: Retention {
            hours: Some(Keep::Forever),
            readings: Some(Keep::Seconds(7_776_000)),
        },
    }
}

pub(super) fn put(
    id: &str,
    expect: Option<RecordVersion>,
    details: SensorDetails,
    removed: &[&str],
) -> SensorPut {
    SensorPut {
        id: sensor(id),
        expect,
        target: next(expect),
        details,
        attributes_removed: removed.iter().map(|key| (*key).into()).collect(),
    }
}

/// Puts one; the outcome in a word.
pub(super) async fn put_one(store: &dyn Store, put: &SensorPut) -> String {
    let outcomes = store.put_sensors(from_ref(put)).await.unwrap();
    assert_eq!(outcomes.len(), 1);
    word(&outcomes[0])
}

/// Tells of sensors; all is stored.
pub(super) async fn tell(store: &dyn Store, told: &[SensorTold]) {
    let outcomes = store.touch(told).await.unwrap();
    assert_eq!(outcomes.len(), told.len());
    for outcome in &outcomes {
        assert_eq!(word(outcome), "stored");
    }
}

pub(super) async fn record(store: &dyn Store, id: &str) -> Option<StoredSensor> {
    let mut records = store.sensors(&[sensor(id)]).await.unwrap();
    assert!(records.len() <= 1);
    records.pop()
}

/// A site that says no more than its name.
pub(super) fn named(id: &str, name: &str) -> Site {
    Site {
        id: site_id(id),
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

/// A site that says all there is to say, with what troubles documents.
pub(super) fn whole_site(id: &str) -> Site {
    let contact = |name: &str| Contact {
        name: Some(name.into()),
        role: None,
        email: Some("$mail@example.org".into()),
        phone: None,
    };
    let reserve = Contact {
        role: Some("nights".into()),
        phone: Some("+41 44 000 00 00".into()),
        ..Contact::default()
    };
    Site {
        city: Some("$copies".into()),
        address: Some("$$REMOVE 1".into()),
        position: Some(Position {
            latitude: -0.1,
            longitude: 180.0,
        }),
        contacts: vec![contact("Ä"), reserve, contact("$$ROOT"), Contact::default()],
        time_zone: Some("Europe/Zurich".into()),
        notes: Some("line 1\nline 2\t\"quoted\"".into()),
        retention: Retention {
            hours: Some(Keep::Seconds(1)),
            readings: None,
        },
        ..named(id, "$name")
    }
}

pub(super) fn put_of(site: Site, expect: Option<RecordVersion>, rewrite_copies: bool) -> SitePut {
    SitePut {
        site,
        expect,
        target: next(expect),
        rewrite_copies,
    }
}

/// Puts a site; the outcome in a word.
pub(super) async fn put_site(store: &dyn Store, put: &SitePut) -> String {
    word(&store.put_site(put).await.unwrap())
}

/// All pages of at most `limit` sensors, behind one another.
pub(super) async fn paged(
    store: &dyn Store,
    filter: &SensorFilter,
    limit: usize,
) -> Vec<StoredSensor> {
    let mut all: Vec<StoredSensor> = Vec::new();
    loop {
        let after = all.last().map(|last| SensorCursor {
            id: last.id.clone(),
            last_seen: filter.silent_since.and(last.last_seen),
        });
        let page = store.find_sensors(filter, after.as_ref(), limit);
        let page = page.await.unwrap();
        assert!(page.len() <= limit);
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

pub(super) fn ids(sensors: &[StoredSensor]) -> Vec<&str> {
    sensors.iter().map(|sensor| sensor.id.as_str()).collect()
}

/// Ids in which text and order of bytes are apart.
pub(super) fn awkward_ids() -> [SensorId; 9] {
    ["é", "a", "a|b", "b", "ab", "A", "🌡", "%", "$x"].map(sensor)
}
