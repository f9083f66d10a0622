//! Sensors that have buckets and no record: told on both stores, made by no
//! repair, and by a service with their next reading.

use std::path::Path;

use mongodb::bson::{Document, doc};
use serde_json::json;

use super::assert_tells;
use super::mongodb::{all, filled};
use super::raw_store::RawStore;
use crate::operation::builders::{count, post, until_stored};
use crate::support::hourglass::Start;
use crate::support::mongod::TestDatabase;

/// S2's record is there again, with its newest readings, once it sends one more.
async fn assert_made_anew_with_the_next_reading(data: &Path, store: &str) {
    let start = match store {
        "embedded" => Start::on(data),
        uri => Start::on(data).store(uri),
    };
    let hourglass = start.start();
    assert_eq!(count(&hourglass, "S2").await, 30);
    post(&hourglass, "S2", 30..31).await;
    until_stored(&hourglass).await;
    let (status, page) = hourglass.get("/v1/sensors/S2").await;
    assert_eq!(status, 200, "{page}");
    assert_eq!(page["recent"][0]["measures"]["temp"], json!(3.75), "{page}");
    assert_eq!(page["recent"].as_array().unwrap().len(), 20, "{page}");
    assert!(hourglass.stop().0.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn in_mongodb_they_are_told_and_no_record_is_made_of_a_guess() {
    let (database, opened) = filled(&["S1", "S2", "S3"]).await;
    let uri = database.uri();
    let sensors = opened.collection::<Document>("sensors");
    sensors.delete_one(doc! { "_id": "S2" }).await.unwrap();
    // A record that cannot be read is one, and hides no other.
    let unread = doc! { "$set": { "attrs": "x" } };
    let changed = sensors.update_one(doc! { "_id": "S1" }, unread).await;
    assert_eq!(changed.unwrap().modified_count, 1);
    let before = all(&sensors).await;
    let dir = tempfile::tempdir().unwrap();
    for repair in [false, true] {
        let said = assert_tells(
            dir.path(),
            &uri,
            repair,
            &[
                "sensor S2: has buckets, and no record",
                "sensor \"S1\": not understood: attrs is no list",
            ],
        );
        assert_eq!(said.matches("and no record").count(), 1, "{said}");
        assert!(
            said.contains("1 records damaged, 1 not understood"),
            "{said}"
        );
        assert_eq!(all(&sensors).await, before);
    }
    sensors.delete_one(doc! { "_id": "S1" }).await.unwrap();
    let both = ["S1", "S2"].map(|id| format!("sensor {id}: has buckets, and no record"));
    assert_tells(
        dir.path(),
        &uri,
        false,
        &both.each_ref().map(String::as_str),
    );
    let data = tempfile::tempdir().unwrap();
    assert_made_anew_with_the_next_reading(data.path(), &uri).await;
    let said = assert_tells(dir.path(), &uri, false, &[&both[0]]);
    assert!(said.contains("1 records damaged"), "{said}");
}

#[tokio::test]
async fn in_the_embedded_store_they_are_told_and_no_record_is_made_of_a_guess() {
    // With what else belongs to the record, and without.
    for is_alone in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let hourglass = Start::on(dir.path()).start();
        for sensor in ["S1", "S2", "S3"] {
            post(&hourglass, sensor, 0..30).await;
        }
        assert!(hourglass.stop().0.success());
        let store = RawStore::in_data(dir.path());
        store.remove("sensors", b"S2");
        if !is_alone {
            store.remove("recents", b"S2");
            for entry in store.keys("index", b"") {
                if entry.ends_with(b"S2") {
                    store.remove("index", &entry);
                }
            }
        }
        store.close();
        for repair in [false, true] {
            let told = "sensor S2: has buckets, and no record";
            let said = assert_tells(dir.path(), "embedded", repair, &[told]);
            assert_eq!(said.contains("1 records damaged"), !is_alone, "{said}");
        }
        assert_made_anew_with_the_next_reading(dir.path(), "embedded").await;
        if is_alone {
            // The index still has what the record said before.
            let said = assert_tells(dir.path(), "embedded", false, &["the entry `l"]);
            assert!(said.contains("1 records damaged"), "{said}");
        } else {
            super::assert_ends_well(dir.path(), "embedded", false);
        }
    }
}

/// More than are asked for at once, with several hours each.
#[tokio::test(flavor = "multi_thread")]
async fn each_is_told_once_however_many_there_are() {
    let database = TestDatabase::new().await;
    let opened = database.open().await;
    let dir = tempfile::tempdir().unwrap();
    let hourglass = Start::on(dir.path()).store(&database.uri()).start();
    let readings: Vec<_> = (0..2500)
        .flat_map(|n| {
            let reading = move |hour: i64| {
                let ts = 1_777_629_600 + hour * 3600;
                json!({ "sensorId": format!("S{n:04}"), "ts": ts, "temp": 1 })
            };
            [reading(0), reading(1)]
        })
        .collect();
    assert_eq!(hourglass.post(&readings.into()).await.0, 202);
    until_stored(&hourglass).await;
    assert!(hourglass.stop().0.success());
    let sensors = opened.collection::<Document>("sensors");
    sensors.delete_many(doc! {}).await.unwrap();
    let said = assert_tells(dir.path(), &database.uri(), true, &[]);
    for n in 0..2500 {
        let line = format!("sensor S{n:04}: has buckets, and no record");
        let told = said.lines().filter(|said| **said == line).count();
        assert_eq!(told, 1, "{line}");
    }
    assert!(said.contains("2500 records damaged"), "{said}");
}
