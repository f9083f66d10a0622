//! C09: a document that cannot be found stands in the place of a bucket's next
//! part. It is told and tried again with pauses, not without end.

use mongodb::bson::{Document, doc};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::builders::{hours, post, until_stored};
use crate::support::eventually::eventually;
use crate::support::hourglass::Start;
use crate::support::mongod::TestDatabase;

#[tokio::test]
async fn c09_a_hidden_next_part_is_told_and_tried_again_with_pauses() {
    let database = TestDatabase::new().await;
    let buckets = database.open().await.collection::<Document>("buckets");
    let next = doc! { "_id": "huge|2026-05-01T10#1", "sensorId": "huge", "hour": "ten" };
    buckets.insert_one(&next).await.unwrap();
    let dir = TempDir::new().unwrap();
    let hourglass = Start::on(dir.path())
        .store(&database.uri())
        .set("STORE__PART_BYTES_MAX", "64KiB")
        .set("FLUSH__RETRY_MAX", "100ms")
        .start();
    let batch: Value = (0..3600)
        .map(|n| json!({ "sensorId": "huge", "ts": 1_777_629_600 + n, "temp": n }))
        .collect();
    post(&hourglass, &batch.to_string()).await;
    let set_aside = async || hourglass.metric("hourglass_flush_set_aside_total").await;
    eventually("it is set aside again and again", async || {
        (set_aside().await >= 5.0).then_some(())
    })
    .await;
    // Closing, making, and once to find out that the first is done.
    let fenced = hourglass.metric("hourglass_flush_fenced_total").await;
    let most = 3.0 * set_aside().await + 3.0;
    assert!(fenced <= most, "{fenced} fenced, at most {most}");
    let log = hourglass.log();
    let told = log.iter().find(|line| line.contains("huge|2026-05-01T10"));
    assert!(told.is_some_and(|line| line.contains("cannot be found")));
    assert_eq!(hours(&hourglass, "huge").await[0]["count"], 3600);

    let key = doc! { "_id": "huge|2026-05-01T10#1" };
    let found = buckets.find_one_and_delete(key).await.unwrap();
    assert_eq!(found, Some(next), "nothing was written over");
    until_stored(&hourglass).await;
    assert_eq!(hours(&hourglass, "huge").await[0]["count"], 3600);
}
