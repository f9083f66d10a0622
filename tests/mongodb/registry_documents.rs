//! The documents of sensors and sites, and buckets whose readings were dropped,
//! as another client sees them.

use hourglass::model::{
    Contact, HourRange, HourStart, Keep, Micros, Position, RecentReading, Retention, SensorDetails,
    Site, SiteId, Tags,
};
use hourglass::store::{
    RecentWrite, SensorFilter, SensorHoursRange, SensorPut, SensorTold, SitePut, Store, StoreError,
};
use mongodb::bson::{Document, doc};

use super::builders::{
    HOUR, first, key, letters, measure, put, record, sensor, site, store, temps, told, written,
};
use super::documents::print_documents;
use crate::support::mongod::TestDatabase;

fn reading(micros: i64, values: &[(&str, f64)]) -> RecentReading {
    RecentReading {
        at: Micros::new(1_777_629_600_000_000 + micros).unwrap(),
        values: values.iter().map(|(name, v)| (measure(name), *v)).collect(),
    }
}

/// The site of docs/patterns.md.
fn plant() -> Site {
    Site {
        name: Some("Plant 7".into()),
        city: Some("Zürich".into()),
        address: Some("Seestrasse 1".into()),
        position: Some(Position {
            latitude: 47.36,
            longitude: 8.55,
        }),
        contacts: vec![Contact {
            name: Some("A. Meier".into()),
            role: Some("nights".into()),
            email: None,
            phone: Some("+41 44 000 00 00".into()),
        }],
        time_zone: Some("Europe/Zurich".into()),
        notes: Some("$ key at the gate".into()),
        retention: Retention {
            hours: None,
            readings: Some(Keep::Seconds(7_776_000)),
        },
        ..site("plant-7", "")
    }
}

#[tokio::test]
async fn another_client_reads_sensors_and_sites_as_they_are_described() {
    let database = TestDatabase::new().await;
    let store = store(&database.uri());
    let bucket = first(key("S|1", HOUR), 5, &temps(0..2));
    assert_eq!(written(&store, &[bucket]).await, "s");
    let heard = SensorTold {
        recent: Some(RecentWrite {
            expect: None,
            target: record(1, 6),
            readings: vec![
                reading(1_500_007, &[("Hum.x", 50.0), ("temp", 24.5)]),
                reading(0, &[("temp", 24.1)]),
            ],
        }),
        ..told(
            "S|1",
            1_777_629_601_234,
            &[("building", "$1.2"), ("fw", "2.10")],
        )
    };
    assert_eq!(letters(&store.touch(&[heard]).await.unwrap()), "s");
    let details = SensorDetails {
        name: Some("Boiler, north".into()),
        model: Some("TX-2".into()),
        units: [
            (measure("Hum.x"), "%".into()),
            (measure("temp"), "°C".into()),
        ]
        .into(),
        site: Some(plant().copy(1)),
        attributes: Tags::new([("line", "7")]),
        retention: Retention {
            hours: Some(Keep::Forever),
            readings: Some(Keep::Seconds(31_536_000)),
        },
    };
    let put_first = SensorPut {
        target: record(1, 7),
        ..put("S|1", details)
    };
    let outcomes = store.put_sensors(&[put_first]).await.unwrap();
    assert_eq!(letters(&outcomes), "s");
    let range = SensorHoursRange {
        sensor: sensor("S|1"),
        hours: HourRange {
            from: HourStart::from_hours(HOUR),
            to: HourStart::from_hours(HOUR + 1),
        },
    };
    assert_eq!(store.drop_readings(&[range], 8).await.unwrap(), 1);
    let put = |site: Site, by: i64| SitePut {
        site,
        expect: None,
        target: record(1, by),
        rewrite_copies: true,
    };
    for put in [put(plant(), 9), put(site("bare", "$x"), 10)] {
        assert_eq!(letters(&[store.put_site(&put).await.unwrap()]), "s");
    }
    // One step of the rewriting.
    let plant_id = plant().id;
    let progress = store.rewrite_copies(&plant_id, 1).await.unwrap().unwrap();
    assert_eq!(progress.after, Some(sensor("S|1")));

    let lines = print_documents(&database.uri(), &database.name);
    let at = |line: &str| lines.iter().any(|printed| printed == line);
    for index in [
        r#"{"_id": {"$numberInt": "1"}}"#,
        r#"{"attrs.k": {"$numberInt": "1"}, "attrs.v": {"$numberInt": "1"}, "_id": {"$numberInt": "1"}}"#,
        r#"{"site.id": {"$numberInt": "1"}, "_id": {"$numberInt": "1"}}"#,
        r#"{"lastSeen": {"$numberInt": "1"}, "_id": {"$numberInt": "1"}}"#,
    ] {
        assert!(at(index), "{index}");
    }
    let expected = [
        concat!(
            r#"{"_id": "S%7C1|2026-05-01T10", "sensorId": "S|1", "#,
            r#""hour": {"$date": {"$numberLong": "1777629600000"}}, "part": {"$numberInt": "0"}, "#,
            r#""rev": {"$numberLong": "2"}, "by": {"$numberLong": "8"}, "count": {"$numberInt": "2"}, "#,
            r#""sumTemp": {"$numberDouble": "40.125"}, "computed": {"temp": {"count": {"$numberInt": "2"}, "#,
            r#""sum": {"$numberDouble": "40.125"}, "min": {"$numberDouble": "20.0"}, "#,
            r#""max": {"$numberDouble": "20.125"}}}, "rawDropped": true}"#,
        ),
        concat!(
            r#"{"_id": "S|1", "lastSeen": {"$date": {"$numberLong": "1777629601234"}}, "#,
            r#""attrs": [{"k": "building", "v": "$1.2"}, {"k": "fw", "v": "2.10"}, "#,
            r#"{"k": "fw", "v": {"$numberDouble": "2.1"}}, {"k": "line", "v": "7"}, "#,
            r#"{"k": "line", "v": {"$numberDouble": "7.0"}}], "#,
            r#""recent": [{"at": {"$date": {"$numberLong": "1777629601500"}}, "us": {"$numberInt": "7"}, "#,
            r#""v": {"Hum%2Ex": {"$numberDouble": "50.0"}, "temp": {"$numberDouble": "24.5"}}}, "#,
            r#"{"at": {"$date": {"$numberLong": "1777629600000"}}, "v": {"temp": {"$numberDouble": "24.1"}}}], "#,
            r#""recentRev": {"$numberLong": "1"}, "recentBy": {"$numberLong": "6"}, "#,
            r#""name": "Boiler, north", "model": "TX-2", "units": {"Hum%2Ex": "%", "temp": "\u00b0C"}, "#,
            r#""retention": {"hours": "forever", "readings": {"$numberLong": "31536000"}}, "#,
            r#""site": {"id": "plant-7", "name": "Plant 7", "city": "Z\u00fcrich", "rev": {"$numberLong": "1"}}, "#,
            r#""attrsSet": ["line"], "rev": {"$numberLong": "1"}, "by": {"$numberLong": "7"}, "#,
            r#""rawDroppedBefore": {"$date": {"$numberLong": "1777633200000"}}}"#,
        ),
        concat!(
            r#"{"_id": "bare", "name": "$x", "rev": {"$numberLong": "1"}, "by": {"$numberLong": "10"}, "#,
            r#""copies": {"done": {"$numberLong": "0"}}}"#,
        ),
        concat!(
            r#"{"_id": "plant-7", "name": "Plant 7", "city": "Z\u00fcrich", "address": "Seestrasse 1", "#,
            r#""timeZone": "Europe/Zurich", "notes": "$ key at the gate", "#,
            r#""position": {"latitude": {"$numberDouble": "47.36"}, "longitude": {"$numberDouble": "8.55"}}, "#,
            r#""contacts": [{"name": "A. Meier", "role": "nights", "phone": "+41 44 000 00 00"}], "#,
            r#""retention": {"readings": {"$numberLong": "7776000"}}, "#,
            r#""rev": {"$numberLong": "1"}, "by": {"$numberLong": "9"}, "#,
            r#""copies": {"done": {"$numberLong": "0"}, "after": "S|1"}}"#,
        ),
    ];
    let documents = &lines[lines.len() - expected.len()..];
    for (line, expected) in documents.iter().zip(&expected) {
        assert_eq!(line, expected);
    }
}

/// Shells write whole numbers as doubles or as 32 bits, and `null` for nothing.
#[tokio::test]
async fn records_that_people_edit_in_a_shell_are_read() {
    let database = TestDatabase::new().await;
    let store = store(&database.uri());
    store.ping().await.unwrap();
    let server = database.open().await;
    let sensors = server.collection::<Document>("sensors");
    let edited = doc! {
        "_id": "A", "rev": 3, "by": 7.0, "name": null, "model": "m",
        "retention": { "hours": 3600.0, "readings": 60 },
        "site": { "id": "s", "rev": 2.0 },
        "attrs": [{ "k": "fw", "v": "2.1" }, { "k": "fw", "v": 2 }], "attrsSet": ["fw", "gone"],
        "recent": [{ "at": mongodb::bson::DateTime::from_millis(5), "us": 3.0, "v": { "temp": 4 } }],
        "recentRev": 1.0, "recentBy": 2, "extra": { "of": "somebody" },
    };
    sensors.insert_one(edited).await.unwrap();
    let sites = server.collection::<Document>("sites");
    let position = doc! { "latitude": 47, "longitude": 8.5 };
    let edited = doc! { "_id": "s", "rev": 2, "by": 1.0, "name": null, "position": position };
    sites.insert_one(edited).await.unwrap();

    let read = store.sensors(&[sensor("A")]).await.unwrap().remove(0);
    assert_eq!(read.version, Some(record(3, 7)));
    assert_eq!(read.details.name, None);
    assert_eq!(read.details.model.as_deref(), Some("m"));
    assert_eq!(read.details.retention.hours, Some(Keep::Seconds(3600)));
    assert_eq!(read.details.retention.readings, Some(Keep::Seconds(60)));
    assert_eq!(read.details.site.map(|site| site.rev), Some(2));
    assert_eq!(read.attributes, Tags::new([("fw", "2.1")]));
    assert_eq!(read.details.attributes, Tags::new([("fw", "2.1")]));
    assert_eq!(read.recent.version, Some(record(1, 2)));
    assert_eq!(read.recent.readings[0].at, Micros::new(5003).unwrap());
    assert_eq!(read.recent.readings[0].values, [(measure("temp"), 4.0)]);
    let id = SiteId::new("s").unwrap();
    let read = store.site(&id).await.unwrap().unwrap();
    assert_eq!(read.version, record(2, 1));
    let latitude = read.site.position.map(|position| position.latitude);
    assert_eq!(latitude, Some(47.0));
}

/// The message names the record and the field.
#[tokio::test]
async fn records_that_cannot_be_read_are_told_by_name() {
    let database = TestDatabase::new().await;
    let store = store(&database.uri());
    store.ping().await.unwrap();
    let server = database.open().await;
    let sensors = server.collection::<Document>("sensors");
    for (field, value, named) in [
        ("lastSeen", doc! { "v": "yesterday" }, "lastSeen"),
        ("attrs", doc! { "v": [{ "k": "fw", "v": null }] }, "attrs"),
        ("rev", doc! { "v": 3 }, "rev or by"),
        ("recent", doc! { "v": [{ "at": 5, "v": {} }] }, "recent"),
        ("retention", doc! { "v": { "hours": -1 } }, "retention"),
        ("site", doc! { "v": { "id": "" } }, "site.id"),
        ("units", doc! { "v": { "temp": 5 } }, "units"),
        ("name", doc! { "v": 5 }, "name"),
    ] {
        let broken = doc! { "_id": "A", field: value.get("v").cloned() };
        sensors.insert_one(broken).await.unwrap();
        for error in [
            store.sensors(&[sensor("A")]).await.unwrap_err(),
            find(&store, field != "recent").await,
        ] {
            let StoreError::Corrupt { what, reason, .. } = &error else {
                panic!("{error}");
            };
            assert_eq!(what, "sensor \"A\"");
            assert!(reason.contains(named), "{field}: {reason}");
        }
        sensors.delete_one(doc! { "_id": "A" }).await.unwrap();
    }
}

/// What a list says of the one sensor; lists read no recent readings.
async fn find(store: &impl Store, is_listed: bool) -> StoreError {
    if !is_listed {
        return store.sensors(&[sensor("A")]).await.unwrap_err();
    }
    let all = SensorFilter::default();
    store.find_sensors(&all, None, 9).await.unwrap_err()
}
