//! A bucket that MongoDB cannot take (somebody damaged its document) blocks no
//! other sensor; once it is mended its readings go in.

use mongodb::bson::{Document, doc};

use super::builders::{count, post, says, until, until_stored};
use crate::support::hourglass::Start;
use crate::support::mongod::TestDatabase;

#[tokio::test]
async fn a_damaged_document_holds_up_no_other_sensor() {
    let database = TestDatabase::new().await;
    let buckets = database.open().await.collection::<Document>("buckets");
    let hour = mongodb::bson::DateTime::from_millis(1_777_629_600_000);
    let damaged = doc! {
        "_id": "bad|2026-05-01T10", "sensorId": "bad", "hour": hour, "part": 0,
        "rev": 1_i64, "by": 1_i64, "count": 1, "readings": "nonsense", "computed": {},
    };
    buckets.insert_one(damaged).await.unwrap();

    let dir = tempfile::tempdir().unwrap();
    let hourglass = Start::on(dir.path())
        .store(&database.uri())
        .set("FLUSH__IN_FLIGHT_MAX", "1")
        .set("FLUSH__RETRY_MAX", "200ms")
        .start();
    for round in 0..5 {
        let seconds = round * 20..round * 20 + 20;
        post(&hourglass, "bad", seconds.clone()).await;
        for sensor in ["S1", "S2"] {
            post(&hourglass, sensor, seconds.clone()).await;
        }
    }
    until(|| async { hourglass.metric("hourglass_values_stored_total").await == 200.0 }).await;
    for sensor in ["S1", "S2"] {
        assert_eq!(count(&hourglass, sensor).await, 100);
    }
    until(|| async { hourglass.metric("hourglass_flush_set_aside_total").await > 2.0 }).await;
    let log = hourglass.log();
    let told = log
        .iter()
        .filter(|line| line.contains("the store fails for one bucket"));
    assert_eq!(told.count(), 1, "{log:#?}");
    assert_eq!(hourglass.get("/readyz").await.1["store"], "up");

    buckets
        .delete_one(doc! { "_id": "bad|2026-05-01T10" })
        .await
        .unwrap();
    until_stored(&hourglass).await;
    assert_eq!(count(&hourglass, "bad").await, 100);
    let (status, log) = hourglass.stop();
    assert!(status.success());
    assert!(says(&log, "everything accepted is in the store"));
}
