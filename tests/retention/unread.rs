//! Records of sensors that cannot be read: nothing of these sensors goes, and the
//! others go as ever, on both stores.

use mongodb::bson::{Document, doc};
use serde_json::json;

use super::builders::{items, post, until_metric, until_stored};
use crate::support::hourglass::{Hourglass, Start};
use crate::support::mongod::TestDatabase;
use crate::verify::raw_store::RawStore;

const HOURS: &str = "hourglass_retention_dropped_buckets_total{tier=\"hours\"}";
const READINGS: &str = "hourglass_retention_dropped_buckets_total{tier=\"readings\"}";
const INCOMPLETE: &str = "hourglass_retention_passes_total{outcome=\"incomplete\"}";
const COMPLETE: &str = "hourglass_retention_passes_total{outcome=\"complete\"}";
const BROKEN: &str = "hourglass_retention_passes_total{outcome=\"broken\"}";

/// Far enough from both cutoffs that a change of the hour in mid-test changes
/// nothing.
const AGO: [i64; 4] = [90, 40, 12, 0];

/// The hour that is being filled goes to the store at once, too.
fn soon(start: Start) -> Start {
    start.set("FLUSH__AGE_MAX", "100ms")
}

/// What is 80 hours old goes, and readings of 20 hours.
fn keeping(start: Start) -> Start {
    let start = soon(start).set("RETENTION__HOURS", "80h");
    start.set("RETENTION__READINGS", "20h")
}

async fn fill(start: Start) {
    let server = soon(start).start();
    for sensor in ["S1", "S2", "S3"] {
        post(&server, &items(sensor, &AGO)).await;
    }
    until_stored(&server).await;
    assert!(server.stop().0.success());
}

async fn hours(server: &Hourglass, sensor: &str) -> usize {
    let (status, answer) = server.get(&format!("/v1/sensors/{sensor}/hourly")).await;
    assert_eq!(status, 200, "{answer}");
    answer["hours"].as_array().unwrap().len()
}

/// `named`: the records that the log names.
async fn assert_goes_on_without(start: Start, named: &[&str]) {
    let server = keeping(start).start();
    until_metric(&server, INCOMPLETE, 1.0).await;
    assert_eq!(server.metric(HOURS).await, 2.0);
    assert_eq!(server.metric(READINGS).await, 2.0);
    assert_eq!(hours(&server, "S2").await, 4);
    // As nobody knows how long it is kept, it is taken.
    let (_, answer) = server.post(&items("S2", &[85])).await;
    assert_eq!(answer["accepted"], json!(1), "{answer}");
    let (_, answer) = server.post(&items("S1", &[85])).await;
    assert_eq!(answer["accepted"], json!(0), "{answer}");
    let (status, answer) = server.get("/v1/retention").await;
    assert_eq!((status, &answer["whole"]), (200, &json!(false)));
    assert_eq!(server.metric(BROKEN).await, 0.0);
    let (status, log) = server.stop();
    assert!(status.success(), "{log:#?}");
    let told = |part: &&String| part.contains("is left to the next pass");
    let told: Vec<&String> = log.iter().filter(told).collect();
    assert_eq!(told.len(), named.len(), "{log:#?}");
    for name in named {
        let names = told.iter().filter(|line| line.contains(name));
        assert_eq!(names.count(), 1, "{name}: {log:#?}");
    }
    assert!(told.iter().all(|line| line.contains("WARN")), "{told:#?}");
}

async fn assert_goes_too(start: Start) {
    let server = keeping(start).start();
    until_metric(&server, COMPLETE, 1.0).await;
    assert_eq!(server.metric(HOURS).await, 2.0, "with the late one");
    assert_eq!(server.metric(READINGS).await, 1.0);
    assert!(server.stop().0.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_goes_on_without_them_in_mongodb() {
    let database = TestDatabase::new().await;
    let dir = tempfile::tempdir().unwrap();
    let start = || Start::on(dir.path()).store(&database.uri());
    fill(start()).await;
    let sensors = database.open().await.collection::<Document>("sensors");
    let of = doc! { "_id": "S2" };
    let unread = doc! { "$set": { "attrs": "x" } };
    sensors.update_one(of.clone(), unread).await.unwrap();
    for id in [doc! { "_id": 7 }, doc! { "_id": "\u{1}" }] {
        sensors.insert_one(id).await.unwrap();
    }
    assert_goes_on_without(start(), &["retention: S2", "u{1}", "sensor \\\"\\\" in"]).await;
    let mended = doc! { "$unset": { "attrs": "" } };
    sensors.update_one(of, mended).await.unwrap();
    for id in [doc! { "_id": 7 }, doc! { "_id": "\u{1}" }] {
        sensors.delete_one(id).await.unwrap();
    }
    assert_goes_too(start()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_goes_on_without_them_in_the_embedded_store() {
    let dir = tempfile::tempdir().unwrap();
    let start = || Start::on(dir.path());
    fill(start()).await;
    let store = RawStore::in_data(dir.path());
    let record = store.get("sensors", b"S2");
    store.edit("sensors", b"S2", |record| record[0] = 9);
    // Behind all others, and without an id to go on behind.
    store.put("sensors", b"\xff", b"strange");
    store.close();
    assert_goes_on_without(start(), &["retention: S2", "retention: a record"]).await;
    let store = RawStore::in_data(dir.path());
    store.put("sensors", b"S2", &record);
    store.remove("sensors", b"\xff");
    store.close();
    assert_goes_too(start()).await;
}
