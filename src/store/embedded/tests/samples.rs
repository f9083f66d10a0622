//! Stores and records for tests.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use tempfile::TempDir;

use crate::model::{
    Contact, HourStart, Keep, MeasureName, Micros, Position, RecentReading, Retention,
    SensorDetails, SensorId, Site, SiteCopy, SiteId, Tags,
};
use crate::store::embedded::{EmbeddedSettings, EmbeddedStore};
use crate::store::{CopiesProgress, RecordVersion, StoredRecent, StoredSensor, StoredSite};

pub(crate) struct Fixture {
    pub(crate) store: EmbeddedStore,
    pub(crate) _dir: TempDir,
}

pub(crate) fn fixture() -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(dir.path(), EmbeddedSettings::default()).unwrap();
    Fixture { store, _dir: dir }
}

/// Few, so that calls meet.
pub(crate) fn sensor_id() -> impl Strategy<Value = SensorId> {
    select(vec!["a", "a|b", "ab", "b", "🌡"]).prop_map(|id| SensorId::new(id).unwrap())
}

pub(crate) fn site_id() -> impl Strategy<Value = SiteId> {
    select(vec!["s", "s|t", "t"]).prop_map(|id| SiteId::new(id).unwrap())
}

pub(crate) fn attribute_key() -> impl Strategy<Value = Box<str>> {
    select(vec!["", "k", "k\0", "k\0\u{1}", "room"]).prop_map(Box::from)
}

/// Numbers, texts, what ends fields, and texts that share all that a key holds.
pub(crate) fn attribute_text() -> impl Strategy<Value = Box<str>> {
    let long = |end: &str| "é".repeat(300) + end;
    let mut texts: Vec<String> = [
        "", "x", "xy", "x\0", "x\0y", "\0\u{1}a", "ÿ", "1", "1.0", "-0", "0", "-2.5", "1e300",
    ]
    .map(str::to_owned)
    .to_vec();
    texts.extend([long("a"), long("b")]);
    select(texts).prop_map(String::into_boxed_str)
}

pub(crate) fn tags() -> impl Strategy<Value = Tags> {
    btree_map(attribute_key(), attribute_text(), 0..4)
        .prop_map(|tags| Tags::new(tags.iter().map(|(key, text)| (&**key, &**text))))
}

fn text() -> impl Strategy<Value = Option<Box<str>>> {
    option::of("[aé\\x00]{0,3}".prop_map(String::into_boxed_str))
}

fn measure() -> impl Strategy<Value = MeasureName> {
    select(vec!["temp", "a.b", "$x", "🌡"]).prop_map(|name| MeasureName::new(name).unwrap())
}

fn keep() -> impl Strategy<Value = Option<Keep>> {
    option::of(prop_oneof![
        Just(Keep::Forever),
        (1u64..).prop_map(Keep::Seconds)
    ])
}

fn retention() -> impl Strategy<Value = Retention> {
    (keep(), keep()).prop_map(|(hours, readings)| Retention { hours, readings })
}

fn version() -> impl Strategy<Value = RecordVersion> {
    (1i64.., any::<i64>()).prop_map(|(rev, by)| RecordVersion { rev, by })
}

/// Few, so that some are equal, and the ends.
pub(crate) fn instant() -> impl Strategy<Value = Micros> {
    let few = (-3i64..4).prop_map(|micros| Micros::new(micros).unwrap());
    prop_oneof![8 => few, 1 => Just(Micros::MIN), 1 => Just(Micros::MAX)]
}

pub(crate) fn site_copy() -> impl Strategy<Value = SiteCopy> {
    (site_id(), text(), text(), 1i64..9).prop_map(|(id, name, city, rev)| SiteCopy {
        id,
        name,
        city,
        rev,
    })
}

pub(crate) fn details() -> impl Strategy<Value = SensorDetails> {
    let unit = text().prop_map(Option::unwrap_or_default);
    let units = btree_map(measure(), unit, 0..3);
    (
        text(),
        text(),
        units,
        option::of(site_copy()),
        tags(),
        retention(),
    )
        .prop_map(
            |(name, model, units, site, attributes, retention)| SensorDetails {
                name,
                model,
                units: BTreeMap::from_iter(units),
                site,
                attributes,
                retention,
            },
        )
}

pub(crate) fn stored_sensor() -> impl Strategy<Value = StoredSensor> {
    let hour = (any::<i32>()).prop_map(HourStart::from_hours);
    (
        sensor_id(),
        option::of(instant()),
        tags(),
        details(),
        option::of(version()),
        option::of(hour),
    )
        .prop_map(
            |(id, last_seen, mut attributes, details, version, raw_dropped_before)| {
                attributes.merge(&details.attributes, usize::MAX);
                StoredSensor {
                    id,
                    last_seen,
                    attributes,
                    details,
                    version,
                    recent: StoredRecent::default(),
                    raw_dropped_before,
                }
            },
        )
}

pub(crate) fn stored_recent() -> impl Strategy<Value = StoredRecent> {
    let reading = (instant(), btree_map(measure(), -1e300f64..1e300, 1..4));
    let reading = reading.prop_map(|(at, values)| RecentReading {
        at,
        values: values.into_iter().collect(),
    });
    (version(), vec(reading, 0..5)).prop_map(|(version, readings)| StoredRecent {
        version: Some(version),
        readings,
    })
}

pub(crate) fn stored_site() -> impl Strategy<Value = StoredSite> {
    let position = (-90f64..=90.0, -180f64..=180.0).prop_map(|(latitude, longitude)| Position {
        latitude,
        longitude,
    });
    let contact = (text(), text(), text(), text()).prop_map(|(name, role, email, phone)| Contact {
        name,
        role,
        email,
        phone,
    });
    let texts = (text(), text(), text(), text(), text());
    let progress = (option::of(sensor_id()), any::<u64>())
        .prop_map(|(after, done)| CopiesProgress { after, done });
    (
        site_id(),
        texts,
        option::of(position),
        vec(contact, 0..3),
        retention(),
        version(),
        option::of(progress),
    )
        .prop_map(
            |(id, texts, position, contacts, retention, version, copies)| StoredSite {
                site: Site {
                    id,
                    name: texts.0,
                    city: texts.1,
                    address: texts.2,
                    position,
                    contacts,
                    time_zone: texts.3,
                    notes: texts.4,
                    retention,
                },
                version,
                copies,
            },
        )
}
