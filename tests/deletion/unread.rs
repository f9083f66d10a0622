//! A deletion of a sensor whose record cannot be read waits for it, and says so.

use mongodb::bson::{Document, doc};
use serde_json::json;

use super::readings::{counts, post_hours, recent, stored};
use crate::support::eventually::eventually;
use crate::support::hourglass::Start;
use crate::support::mongod::TestDatabase;

#[tokio::test(flavor = "multi_thread")]
async fn it_is_told_once_and_done_once_the_record_is_mended() {
    let database = TestDatabase::new().await;
    let dir = tempfile::tempdir().unwrap();
    let hourglass = Start::on(dir.path())
        .store(&database.uri())
        .set("LOG__FILTER", "info,hourglass::deletion=debug")
        .set("FLUSH__RETRY_MAX", "200ms")
        .start();
    for sensor in ["S1", "S2"] {
        post_hours(&hourglass, sensor, 2).await;
    }
    stored(&hourglass).await;
    let sensors = database.open().await.collection::<Document>("sensors");
    let of = doc! { "_id": "S1" };
    let unread = doc! { "$set": { "attrs": "x" } };
    sensors.update_one(of.clone(), unread).await.unwrap();
    let url = "/v1/sensors/S1/readings?from=2026-05-01T10:30:00Z&to=2026-05-02T00:00:00Z";
    let request = hourglass.http().delete(hourglass.url(url));
    let asked = tokio::spawn(async move { request.send().await.unwrap() });
    let waits = "a deletion waits for the store";
    eventually("it was tried again and again", async || {
        let tries = hourglass.log();
        let tries = tries.iter().filter(|line| line.contains(waits));
        (tries.count() > 2).then_some(())
    })
    .await;
    let mended = doc! { "$unset": { "attrs": "" } };
    sensors.update_one(of, mended).await.unwrap();
    let answer = asked.await.unwrap();
    assert_eq!(answer.status(), 200);
    let answer: serde_json::Value = answer.json().await.unwrap();
    assert_eq!(answer["deleted"], json!({ "readings": 90, "buckets": 2 }));
    assert_eq!(counts(&hourglass, "S1").await, [30]);
    assert_eq!(recent(&hourglass, "S1").await.first(), Some(&29));
    assert_eq!(counts(&hourglass, "S2").await, [60, 60]);
    let (status, log) = hourglass.stop();
    assert!(status.success());
    let told = |line: &&String| line.contains("wait for a sensor to be mended");
    let told: Vec<&String> = log.iter().filter(told).collect();
    assert_eq!(told.len(), 1, "{log:#?}");
    for part in ["WARN", "\"sensor\":\"S1\"", "attrs is no list"] {
        assert!(told[0].contains(part), "{part}: {told:#?}");
    }
}
