//! I4, I8: while the store is frozen and the applier lags, readings are taken
//! and queries say that they may miss some; afterwards they miss none.

use serde_json::{Value, json};

use super::builders::{count, hourly, post, until, until_store_is, until_stored};
use crate::support::hourglass::Start;
use crate::support::mongod::Mongod;

#[tokio::test]
async fn an_outage_that_outgrows_memory_is_taken_told_and_made_good() {
    let dir = tempfile::tempdir().unwrap();
    let mut mongod = Mongod::new();
    mongod.start().await;
    let hourglass = Start::on(dir.path())
        .store(&mongod.uri_of("away"))
        .set("STORE__CONNECT_TIMEOUT", "300ms")
        .set("BUFFER__BYTES_MAX", "1MiB")
        .start();
    post(&hourglass, "before", 0..100).await;
    until_stored(&hourglass).await;

    mongod.freeze();
    let sensor = |number: u32| format!("S{number}");
    for number in 0..40 {
        post(&hourglass, &sensor(number), 0..3600).await;
    }
    let (status, ready) = hourglass.get("/readyz").await;
    assert_eq!(
        (status, &ready["complete"]),
        (200, &json!(false)),
        "{ready}"
    );
    assert!(hourglass.metric("hourglass_applier_lag_records").await > 0.0);
    assert!(hourglass.metric("hourglass_applier_lag_bytes").await > 0.0);
    mongod.kill();
    let answer = hourly(&hourglass, "S39").await;
    assert_eq!(answer["complete"], false, "{answer}");
    assert_eq!(answer["incompleteReason"], "store_unavailable");

    mongod.start().await;
    until_stored(&hourglass).await;
    until(|| async { hourly(&hourglass, "S0").await["complete"] == true }).await;
    assert_eq!(count(&hourglass, "before").await, 100);
    for number in 0..40 {
        assert_eq!(count(&hourglass, &sensor(number)).await, 3600);
    }
    assert_eq!(
        hourglass.metric("hourglass_values_stored_total").await,
        144_100.0
    );
    assert!(hourglass.stop().0.success());
}

#[tokio::test]
async fn a_store_that_was_never_there_is_told_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let hourglass = Start::on(dir.path())
        .store("mongodb://127.0.0.1:9/hourglass?replicaSet=none")
        .set("STORE__CONNECT_TIMEOUT", "200ms")
        .set("SHUTDOWN__GRACE", "0s")
        .start();
    // Nothing was sent, so nothing is flushed.
    until(|| async {
        let (status, ready) = hourglass.get("/readyz").await;
        assert_eq!(status, 200, "{ready}");
        ready["store"] == "down" && ready["complete"] == false
    })
    .await;
    assert_eq!(hourglass.metric("hourglass_store_up").await, 0.0);
}

#[tokio::test]
async fn a_frozen_store_is_told_before_anything_is_flushed_and_up_when_it_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let mut mongod = Mongod::new();
    mongod.start().await;
    let hourglass = Start::on(dir.path()).store(&mongod.uri_of("away")).start();
    post(&hourglass, "before", 0..100).await;
    until_stored(&hourglass).await;
    let (_, ready) = hourglass.get("/readyz").await;
    assert_eq!(
        (&ready["store"], &ready["storeDownSince"]),
        (&json!("up"), &Value::Null)
    );

    mongod.freeze();
    // Nothing waits: no flush finds it out.
    until_store_is(&hourglass, "down").await;
    let (status, ready) = hourglass.get("/readyz").await;
    assert_eq!(
        (status, &ready["complete"]),
        (200, &json!(false)),
        "{ready}"
    );
    let since = ready["storeDownSince"].as_str().unwrap().to_owned();
    assert!(since.ends_with('Z'), "{since}");
    assert_eq!(hourglass.metric("hourglass_store_up").await, 0.0);
    assert!(hourglass.metric("hourglass_store_down_seconds").await > 0.0);
    post(&hourglass, "during", 0..100).await;
    until(|| async { hourglass.metric("hourglass_oldest_unflushed_seconds").await > 0.0 }).await;
    let (_, ready) = hourglass.get("/readyz").await;
    assert_eq!(ready["storeDownSince"], since, "{ready}");

    mongod.thaw();
    until_store_is(&hourglass, "up").await;
    until_stored(&hourglass).await;
    let (_, ready) = hourglass.get("/readyz").await;
    assert_eq!(
        (&ready["store"], &ready["storeDownSince"]),
        (&json!("up"), &Value::Null)
    );
    assert_eq!(ready["complete"], true, "{ready}");
    assert_eq!(hourglass.metric("hourglass_store_down_seconds").await, 0.0);
    assert_eq!(count(&hourglass, "during").await, 100);
    let (status, log) = hourglass.stop();
    assert!(status.success());
    let said = |part: &str| log.iter().filter(|line| line.contains(part)).count();
    assert_eq!(said("the store counts as down"), 1, "{log:#?}");
    assert_eq!(said("the store answers again"), 1, "{log:#?}");
}
