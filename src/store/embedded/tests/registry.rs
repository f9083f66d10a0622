//! The index and lists against a plain model, over any calls.
//!
//! Method: random calls on few sensors, sites and attributes, reopening in
//! between. After each call the index must be what the records say; lists of
//! random filters, in pages of any size, must be what a walk over all records
//! gives.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use fjall::Readable;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::samples::{
    attribute_key, attribute_text, details, fixture, instant, sensor_id, site_id, tags,
};
use crate::model::{
    HourRange, HourStart, Micros, Retention, SensorDetails, SensorId, Site, SiteId, Tags,
};
use crate::store::embedded::database::Database;
use crate::store::embedded::index::{self, MARKER};
use crate::store::embedded::{EmbeddedSettings, sensors};
use crate::store::{
    AttributeFilter, RecordVersion, SensorCursor, SensorFilter, SensorHoursRange, SensorPut,
    SensorTold, SitePut, StoredSensor, WriteOutcome,
};

#[derive(Debug, Clone)]
enum Call {
    Touch(Vec<(SensorId, Option<Micros>, Tags)>),
    Put(SensorId, SensorDetails, Vec<Box<str>>),
    PutSite(SiteId, bool),
    RewriteCopies(SiteId, usize),
    DropReadings(SensorId, i32),
    Reopen,
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        4 => vec((sensor_id(), option::of(instant()), tags()), 1..4).prop_map(|told| {
            let mut ids = BTreeSet::new();
            let told = told.into_iter().filter(|(id, _, _)| ids.insert(id.clone()));
            Call::Touch(told.collect())
        }),
        4 => (sensor_id(), details(), vec(attribute_key(), 0..2))
            .prop_map(|(id, details, removed)| Call::Put(id, details, removed)),
        1 => (site_id(), any::<bool>()).prop_map(|(id, rewrite)| Call::PutSite(id, rewrite)),
        2 => (site_id(), 1..4usize).prop_map(|(id, limit)| Call::RewriteCopies(id, limit)),
        1 => (sensor_id(), 1..9).prop_map(|(id, hours)| Call::DropReadings(id, hours)),
        1 => Just(Call::Reopen),
    ]
}

fn filter() -> impl Strategy<Value = SensorFilter> {
    let bound = || option::of(-3f64..3.0);
    let condition =
        prop_oneof![
            (attribute_key(), attribute_text())
                .prop_map(|(key, text)| AttributeFilter::Equals { key, text }),
            (attribute_key(), "[x1-]").prop_map(|(key, prefix)| AttributeFilter::Prefix {
                key,
                prefix: prefix.into()
            }),
            (attribute_key(), bound(), bound())
                .prop_map(|(key, min, max)| AttributeFilter::Between { key, min, max }),
        ];
    (
        option::of(site_id()),
        vec(condition, 0..2),
        option::of(instant()),
    )
        .prop_map(|(site, attributes, silent_since)| SensorFilter {
            site,
            attributes,
            silent_since,
        })
}

fn open(dir: &Path) -> Database {
    Database::open(dir, EmbeddedSettings::default()).unwrap()
}

fn apply(database: &Database, call: &Call, by: i64) {
    match call {
        Call::Touch(told) => {
            let told = told.iter().cloned();
            let told: Vec<_> = told
                .map(|(sensor, last_seen, attributes)| SensorTold {
                    sensor,
                    last_seen,
                    attributes,
                    recent: None,
                })
                .collect();
            all_stored(&database.touch(&told).unwrap());
        }
        Call::Put(id, details, removed) => {
            let stored = database.sensors(vec![id.clone()]).unwrap().pop();
            let expect = stored.and_then(|sensor| sensor.version);
            let put = SensorPut {
                id: id.clone(),
                expect,
                target: next(expect, by),
                details: details.clone(),
                attributes_removed: removed.clone(),
            };
            all_stored(&database.put_sensors(&[put]).unwrap());
        }
        Call::PutSite(id, rewrite_copies) => {
            let stored = database.site(&database.snapshot(), id).unwrap();
            let expect = stored.map(|site| site.version);
            let put = SitePut {
                site: named(id, by),
                expect,
                target: next(expect, by),
                rewrite_copies: *rewrite_copies,
            };
            all_stored(&[database.put_site(&put).unwrap()]);
        }
        Call::RewriteCopies(id, limit) => {
            database.rewrite_copies(id, *limit).unwrap();
        }
        Call::DropReadings(id, hours) => {
            let hours = HourRange {
                from: HourStart::from_hours(0),
                to: HourStart::from_hours(*hours),
            };
            let range = SensorHoursRange {
                sensor: id.clone(),
                hours,
            };
            database.drop_readings(&[range], by).unwrap();
        }
        Call::Reopen => {}
    }
}

fn next(version: Option<RecordVersion>, by: i64) -> RecordVersion {
    RecordVersion {
        rev: version.map_or(0, |version| version.rev) + 1,
        by,
    }
}

fn named(id: &SiteId, by: i64) -> Site {
    Site {
        id: id.clone(),
        name: Some(format!("number {by}").into()),
        city: None,
        address: None,
        position: None,
        contacts: Vec::new(),
        time_zone: None,
        notes: None,
        retention: Retention::default(),
    }
}

#[track_caller]
pub(super) fn all_stored(outcomes: &[WriteOutcome]) {
    let is_stored = |outcome: &WriteOutcome| matches!(outcome, WriteOutcome::Stored);
    assert!(outcomes.iter().all(is_stored), "{outcomes:?}");
}

pub(super) fn records(database: &Database) -> BTreeMap<SensorId, StoredSensor> {
    let all = database.snapshot().iter(&database.sensors);
    all.map(|guard| sensors::read_sensor(guard).unwrap())
        .map(|sensor| (sensor.id.clone(), sensor))
        .collect()
}

#[track_caller]
pub(super) fn assert_index_is_that_of_the_records(database: &Database) {
    let held = database.snapshot().iter(&database.index);
    let held: BTreeSet<_> = held.map(|guard| guard.key().unwrap().to_vec()).collect();
    let mut expected: BTreeSet<_> = records(database)
        .values()
        .flat_map(|sensor| index::entries(sensor, true))
        .collect();
    expected.insert(MARKER.to_vec());
    assert_eq!(held, expected);
}

/// All pages of at most `limit` sensors, behind one another.
fn paged(database: &Database, filter: &SensorFilter, limit: usize) -> Vec<StoredSensor> {
    let mut all: Vec<StoredSensor> = Vec::new();
    loop {
        let after = all.last().map(|last| SensorCursor {
            id: last.id.clone(),
            last_seen: filter.silent_since.and(last.last_seen),
        });
        let page = database
            .find_sensors(filter, after.as_ref(), limit)
            .unwrap();
        assert!(page.len() <= limit);
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_index_is_what_the_records_say_and_lists_are_what_a_walk_gives(
        calls in vec(call(), 1..24),
        filters in vec((filter(), 1..4usize), 8),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let mut database = open(dir.path());
        for (by, call) in (1..).zip(&calls) {
            apply(&database, call, by);
            if matches!(call, Call::Reopen) {
                drop(database);
                database = open(dir.path());
            }
            assert_index_is_that_of_the_records(&database);
        }
        let records = records(&database);
        for (filter, limit) in &filters {
            let mut expected: Vec<_> = records.values().filter(|s| filter.matches(s)).collect();
            if let Some(since) = filter.silent_since {
                expected.sort_by_key(|sensor| sensor.last_seen);
                let silent = records.values().filter(|s| s.last_seen.is_some_and(|at| at < since));
                let count = silent.count() as u64;
                prop_assert_eq!(database.count_silent(since, None).unwrap(), count);
                let among = records.keys().cloned().collect();
                prop_assert_eq!(database.count_silent(since, Some(among)).unwrap(), count);
            }
            let found = paged(&database, filter, *limit);
            prop_assert_eq!(found.iter().collect::<Vec<_>>(), expected);
        }
    }
}

/// More than are gathered to be brought in order.
#[test]
fn a_condition_that_very_many_sensors_pass_is_answered_in_pages() {
    let fixture = fixture();
    let database = fixture.store.database();
    let told: Vec<_> = (0..5000)
        .map(|n| SensorTold {
            sensor: SensorId::new(&format!("S{n:04}")).unwrap(),
            last_seen: Some(Micros::new(n % 7).unwrap()),
            attributes: Tags::new([("fw", format!("1.{}", n % 3).as_str())]),
            recent: None,
        })
        .collect();
    all_stored(&database.touch(&told).unwrap());
    let begins = AttributeFilter::Prefix {
        key: "fw".into(),
        prefix: "1.".into(),
    };
    for silent_since in [None, Some(Micros::new(6).unwrap())] {
        let filter = SensorFilter {
            attributes: vec![begins.clone()],
            silent_since,
            ..SensorFilter::default()
        };
        let mut expected: Vec<_> = told
            .iter()
            .filter(|told| silent_since.is_none_or(|since| told.last_seen < Some(since)))
            .map(|told| (silent_since.and(told.last_seen), &told.sensor))
            .collect();
        expected.sort_unstable();
        let found = paged(&database, &filter, 999);
        let found: Vec<_> = found.iter().map(|sensor| &sensor.id).collect();
        assert_eq!(
            found,
            expected.iter().map(|(_, id)| *id).collect::<Vec<_>>()
        );
    }
}
