//! The documents as another client sees them: every field, its type, its place.

use hourglass::bucket::Merge;
use hourglass::model::Tags;
use hourglass::store::{Expect, SensorTold, Store};
use mongodb::bson::{Document, doc};

use super::builders::{
    HOUR, contents, first, key, measure, sensor, store, temps, version, written,
};
use crate::support::mongod::TestDatabase;
use crate::support::python::{PYMONGO, run_script};

pub(super) fn print_documents(uri: &str, database: &str) -> Vec<String> {
    run_script(
        PYMONGO,
        "tests/mongodb/print_documents.py",
        &[uri, database],
        "",
    )
}

#[tokio::test]
async fn another_client_reads_the_documents_as_they_are_described() {
    let database = TestDatabase::new().await;
    let store = store(&database.uri());
    let (temp, humidity) = (measure("temp"), measure("Hum.x"));

    let mut merge = Merge::default();
    merge.add(0, [(&temp, 24.1)]);
    merge.add(1_500_000, [(&temp, 24.5), (&humidity, 50.0)]);
    let write = first(key("S|1", HOUR), 7_193_000_000_000_000_001, &merge);
    assert_eq!(written(&store, &[write]).await, "s");

    // An append, with a late measure of the first instant.
    merge.add(0, [(&humidity, 52.0)]);
    merge.add(3_599_999_999, [(&temp, 24.0)]);
    let mut append = first(key("S|1", HOUR), 5, &merge);
    append.expect = Expect::Open(version(0, 1, 7_193_000_000_000_000_001));
    append.target = version(0, 2, 5);
    append.elements = merge.elements().slice(2, 4);
    assert_eq!(written(&store, &[append]).await, "s");

    let mut part = first(key("S|1", HOUR), 9, &temps(2..3));
    part.expect = Expect::Next {
        last: version(0, 2, 5),
        closing: Some(version(0, 3, 6)),
    };
    part.target = version(1, 1, 9);
    assert_eq!(written(&store, &[part]).await, "s");
    let seen = SensorTold {
        sensor: sensor("S|1"),
        last_seen: Some(key("S|1", HOUR).hour.at(1_234_567)),
        attributes: Tags::new([("room", "4b"), ("building", "$1.2")]),
        recent: None,
    };
    store.touch(&[seen]).await.unwrap();

    let uri = database.uri();
    let lines = print_documents(&uri, &database.name);
    let hour = r#"{"$date": {"$numberLong": "1777629600000"}}"#;
    let expected = [
        r#"{"storageEngine": {"wiredTiger": {"configString": "block_compressor=zstd"}}}"#.to_owned(),
        r#"{"_id": {"$numberInt": "1"}}"#.to_owned(),
        concat!(
            r#"{"sensorId": {"$numberInt": "1"}, "hour": {"$numberInt": "1"}, "#,
            r#""part": {"$numberInt": "1"}, "rev": {"$numberInt": "1"}, "by": {"$numberInt": "1"}, "#,
            r#""count": {"$numberInt": "1"}, "computed": {"$numberInt": "1"}}"#
        )
        .to_owned(),
        r#"{"_id": {"$numberInt": "1"}}"#.to_owned(),
        concat!(
            r#"{"attrs.k": {"$numberInt": "1"}, "attrs.v": {"$numberInt": "1"}, "#,
            r#""_id": {"$numberInt": "1"}}"#
        )
        .to_owned(),
        r#"{"site.id": {"$numberInt": "1"}, "_id": {"$numberInt": "1"}}"#.to_owned(),
        r#"{"lastSeen": {"$numberInt": "1"}, "_id": {"$numberInt": "1"}}"#.to_owned(),
        [
            r#"{"_id": "S%7C1|2026-05-01T10", "sensorId": "S|1", "hour": "#,
            hour,
            r#", "part": {"$numberInt": "0"}, "rev": {"$numberLong": "3"}, "by": {"$numberLong": "6"}"#,
            r#", "count": {"$numberInt": "3"}, "readings": ["#,
            r#"{"sec": {"$numberInt": "0"}, "temp": {"$numberDouble": "24.1"}}, "#,
            r#"{"sec": {"$numberDouble": "1.5"}, "temp": {"$numberDouble": "24.5"}, "Hum%2Ex": {"$numberDouble": "50.0"}}, "#,
            r#"{"sec": {"$numberInt": "0"}, "Hum%2Ex": {"$numberDouble": "52.0"}}, "#,
            r#"{"sec": {"$numberDouble": "3599.999999"}, "temp": {"$numberDouble": "24.0"}}], "#,
            r#""sum_Hum%2Ex": {"$numberDouble": "102.0"}, "sumTemp": {"$numberDouble": "72.6"}, "#,
            r#""computed": {"Hum%2Ex": {"count": {"$numberInt": "2"}, "sum": {"$numberDouble": "102.0"}, "#,
            r#""min": {"$numberDouble": "50.0"}, "max": {"$numberDouble": "52.0"}}, "#,
            r#""temp": {"count": {"$numberInt": "3"}, "sum": {"$numberDouble": "72.6"}, "#,
            r#""min": {"$numberDouble": "24.0"}, "max": {"$numberDouble": "24.5"}}}, "full": true}"#,
        ]
        .concat(),
        [
            r#"{"_id": "S%7C1|2026-05-01T10#1", "sensorId": "S|1", "hour": "#,
            hour,
            r#", "part": {"$numberInt": "1"}, "rev": {"$numberLong": "1"}, "by": {"$numberLong": "9"}"#,
            r#", "count": {"$numberInt": "1"}, "readings": ["#,
            r#"{"sec": {"$numberInt": "2"}, "temp": {"$numberDouble": "20.25"}}], "#,
            r#""sumTemp": {"$numberDouble": "20.25"}, "#,
            r#""computed": {"temp": {"count": {"$numberInt": "1"}, "sum": {"$numberDouble": "20.25"}, "#,
            r#""min": {"$numberDouble": "20.25"}, "max": {"$numberDouble": "20.25"}}}}"#,
        ]
        .concat(),
        concat!(
            r#"{"_id": "S|1", "lastSeen": {"$date": {"$numberLong": "1777629601234"}}, "#,
            r#""attrs": [{"k": "building", "v": "$1.2"}, {"k": "room", "v": "4b"}]}"#
        )
        .to_owned(),
    ];
    for (line, expected) in lines.iter().zip(&expected) {
        assert_eq!(line, expected);
    }
    assert_eq!(lines.len(), expected.len());

    let loaded = store.load(&[key("S|1", HOUR)]).await.unwrap();
    let bucket = loaded[0].as_ref().unwrap();
    assert_eq!(&bucket.parts[0].elements, merge.elements());
    assert_eq!(bucket.parts[0].computed.count, 3);
    assert!(bucket.parts.iter().all(|part| part.stray_fields.is_empty()));
}

#[tokio::test]
async fn an_edited_sum_is_told_and_repaired_unless_the_part_moved_on() {
    let database = TestDatabase::new().await;
    let store = store(&database.uri());
    let merge = temps(0..10);
    assert_eq!(
        written(&store, &[first(key("A", HOUR), 7, &merge)]).await,
        "s"
    );
    let buckets = database.open().await.collection::<Document>("buckets");
    let edit = doc! { "$set": { "sumTemp": 1, "sumOther": 2.5, "computed.temp.min": -40 } };
    buckets
        .update_one(doc! { "_id": "A|2026-05-01T10" }, edit)
        .await
        .unwrap();

    let part = |bucket: &hourglass::store::StoredBucket| bucket.parts[0].clone();
    let load = || async {
        part(
            store.load(&[key("A", HOUR)]).await.unwrap()[0]
                .as_ref()
                .unwrap(),
        )
    };
    let edited = load().await;
    assert_eq!(edited.stray_fields, ["sumOther", "sumTemp"]);
    assert_eq!(edited.computed.measures[&measure("temp")].min, -40.0);

    let (_, computed) = contents(&merge);
    let a = key("A", HOUR);
    let (old, now, new) = (version(0, 1, 6), version(0, 1, 7), version(0, 2, 8));
    assert!(!store.repair(&a, old, new, &computed).await.unwrap());
    assert!(store.repair(&a, now, new, &computed).await.unwrap());
    let repaired = load().await;
    assert_eq!(repaired.stray_fields, Vec::<String>::new());
    assert_eq!(repaired.version, new);
    assert_eq!(repaired.elements, edited.elements);
    assert_eq!(repaired.computed.measures[&measure("temp")].min, 20.0);
}
