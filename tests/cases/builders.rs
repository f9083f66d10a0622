//! Readings to post, and what the service says of them.

use serde_json::Value;
use tempfile::TempDir;

use crate::support::eventually::eventually;
use crate::support::hourglass::{Hourglass, Start};
use crate::support::mongod::TestDatabase;

/// Runs `claim` with a fresh service on each store.
pub(super) async fn on_each_store(claim: impl AsyncFn(Start)) {
    let dir = TempDir::new().unwrap();
    claim(Start::on(dir.path())).await;
    let database = TestDatabase::new().await;
    let dir = TempDir::new().unwrap();
    claim(Start::on(dir.path()).store(&database.uri())).await;
}

/// Posts a JSON body as it stands, of which everything must be accepted.
pub(super) async fn post(hourglass: &Hourglass, body: &str) {
    let (status, answer) = hourglass.post_as("application/json", body.to_owned()).await;
    assert_eq!(status, 202, "{answer}");
    assert_eq!(answer["rejected"], 0, "{answer}");
}

/// An id as a segment of a path or as a parameter.
pub(super) fn percent(id: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    id.bytes().map(encode).collect()
}

/// Everything of a sensor, oldest first.
pub(super) async fn readings(hourglass: &Hourglass, sensor: &str) -> Vec<Value> {
    let path = format!("/v1/sensors/{}/readings?limit=100000", percent(sensor));
    let (status, answer) = hourglass.get(&path).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["complete"], true, "{answer}");
    assert_eq!(answer["next"], Value::Null);
    answer["readings"].as_array().unwrap().clone()
}

/// The hours of a sensor.
pub(super) async fn hours(hourglass: &Hourglass, sensor: &str) -> Vec<Value> {
    let path = format!("/v1/sensors/{}/hourly", percent(sensor));
    let (status, answer) = hourglass.get(&path).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["complete"], true, "{answer}");
    answer["hours"].as_array().unwrap().clone()
}

/// Waits until the store holds everything.
pub(super) async fn until_stored(hourglass: &Hourglass) {
    eventually("everything is stored", async || {
        let pending = hourglass.metric("hourglass_values_pending").await;
        (pending == 0.0).then_some(())
    })
    .await;
}

/// Waits until a start has everything of the journal in its answers.
pub(super) async fn until_ready(hourglass: &Hourglass) {
    eventually("it is ready", async || {
        let (status, answer) = hourglass.get("/readyz").await;
        (status == 200 && answer["complete"] == true).then_some(())
    })
    .await;
}
