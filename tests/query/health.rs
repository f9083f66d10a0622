//! `/livez` and `/readyz`: the process, and whether it takes readings.

use serde_json::{Value, json};
use tempfile::TempDir;

use super::fixture::OLD;
use crate::support::eventually::eventually;
use crate::support::hourglass::Start;
use crate::support::mongod::Mongod;

#[tokio::test]
async fn a_service_is_live_and_ready_once_it_has_its_journal() {
    let dir = TempDir::new().unwrap();
    let hourglass = Start::on(dir.path()).start();
    assert_eq!(hourglass.get_text("/livez").await, (200, "ok\n".to_owned()));
    let ready = eventually("it is ready", async || {
        let (status, answer) = hourglass.get("/readyz").await;
        assert_eq!(answer["ready"], status == 200, "{answer}");
        (status == 200).then_some(answer)
    })
    .await;
    let expected = json!({ "ready": true, "journal": "writing", "store": "up", "complete": true });
    assert_eq!(ready, expected);
}

#[tokio::test]
async fn a_store_that_is_away_is_said_and_makes_it_no_less_ready() {
    let dir = TempDir::new().unwrap();
    let mut mongod = Mongod::new();
    let hourglass = Start::on(dir.path())
        .store(&mongod.uri_of("health"))
        .set("STORE__CONNECT_TIMEOUT", "200ms")
        .start();
    let reading = json!({ "sensorId": "S1", "ts": OLD, "temp": 1 });
    assert_eq!(hourglass.post(&reading).await.0, 202);
    let store = async || {
        let (status, answer) = hourglass.get("/readyz").await;
        assert_eq!((status, &answer["journal"]), (200, &json!("writing")));
        answer["store"].clone()
    };
    eventually("the outage is noticed", async || {
        (store().await == "down").then_some(())
    })
    .await;
    // What is in the buffer is answered, and that it may not be all.
    let (status, answer) = hourglass.get("/v1/sensors/S1/readings").await;
    assert_eq!((status, &answer["complete"]), (200, &json!(false)));
    assert_eq!(answer["incompleteReason"], "store_unavailable");
    assert_eq!(answer["readings"].as_array().map(Vec::len), Some(1));
    for path in [
        "/v1/sensors",
        "/v1/latest?sensor=S1",
        "/v1/hourly?sensor=S1&from=2026-05-01T00:00:00Z",
    ] {
        let (status, answer) = hourglass.get(path).await;
        assert_eq!(
            (status, &answer["complete"]),
            (200, &json!(false)),
            "{answer}"
        );
        assert_ne!(answer["sensors"], Value::Array(Vec::new()));
    }
    mongod.start().await;
    eventually("it comes back", async || {
        (store().await == "up").then_some(())
    })
    .await;
    let (_, answer) = hourglass.get("/v1/sensors/S1/readings").await;
    assert_eq!(answer["complete"], true, "{answer}");
}
