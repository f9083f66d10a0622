//! A store that is away: nothing is answered that it does not have, and a rename
//! goes on once it is back.

use reqwest::Method;
use serde_json::{Value, json};

use super::builders::{change, patch, put};
use crate::support::eventually::eventually;
use crate::support::hourglass::Start;
use crate::support::mongod::Mongod;

#[tokio::test]
async fn without_the_store_every_change_is_503_and_a_rename_is_finished_afterwards() {
    let dir = tempfile::tempdir().unwrap();
    let mut mongod = Mongod::new();
    mongod.start().await;
    let start = Start::on(dir.path())
        .store(&mongod.uri_of("away"))
        .set("STORE__CONNECT_TIMEOUT", "300ms")
        .set("REGISTRY__COPIES_BATCH", "1");
    let hourglass = start.start();
    put(&hourglass, "/v1/sites/plant", &json!({ "name": "Old" })).await;
    let lines: String = (0..600)
        .map(|n| format!("{{\"sensorId\":\"S{n}\",\"site\":\"plant\"}}\n"))
        .collect();
    let headers = [("content-type", "application/x-ndjson")];
    let answer = change(
        &hourglass,
        Method::PUT,
        "/v1/sensors",
        &headers,
        lines.clone(),
    )
    .await;
    assert_eq!(answer.body["created"], 600);

    let request = hourglass
        .http()
        .patch(hourglass.url("/v1/sites/plant"))
        .header("content-type", "application/merge-patch+json")
        .body("{\"name\":\"New\"}");
    let renaming = tokio::spawn(async move { request.send().await.unwrap() });
    eventually("some copies are rewritten", async || {
        let (_, plant) = hourglass.get("/v1/sites/plant").await;
        plant["copies"]["done"].as_u64().filter(|done| *done > 0)
    })
    .await;
    mongod.kill();
    // The site has its name; what is left of its copies is told.
    let renamed = renaming.await.unwrap();
    assert_eq!(renamed.status(), 202);
    let renamed: Value = renamed.json().await.unwrap();
    assert_eq!(
        (&renamed["name"], &renamed["copies"]["state"]),
        (&json!("New"), &json!("rewriting"))
    );

    for answer in [
        put(&hourglass, "/v1/sensors/S1", &json!({})).await,
        patch(&hourglass, "/v1/sensors/S1", &json!({})).await,
        put(&hourglass, "/v1/sites/plant", &json!({})).await,
        change(&hourglass, Method::PUT, "/v1/sensors", &headers, lines).await,
    ] {
        assert_eq!((answer.status, answer.code()), (503, "store_unavailable"));
        assert!(answer.retry_after.is_some());
    }

    mongod.start().await;
    eventually("the copies are current", async || {
        let (_, plant) = hourglass.get("/v1/sites/plant").await;
        (plant["copies"]["state"] == "current").then_some(())
    })
    .await;
    let (_, page) = hourglass.get("/v1/sensors?limit=1000").await;
    let sensors = page["sensors"].as_array().unwrap();
    assert_eq!(sensors.len(), 600);
    for sensor in sensors {
        assert_eq!(sensor["site"]["name"], "New", "{sensor}");
    }
    assert!(hourglass.stop().0.success());
}
