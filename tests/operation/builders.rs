//! Readings to post, and what the service says of them.

use std::process::{Command, Output};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::hourglass::Hourglass;

/// The hour of all readings of these tests; closed long ago, so that it is due
/// at once.
pub(crate) const HOUR: &str = "2026-05-01T10:00:00Z";

/// Readings of `sensor` at the given seconds of [`HOUR`].
pub(crate) fn readings(sensor: &str, seconds: std::ops::Range<u32>) -> Value {
    let at = |s: u32| format!("2026-05-01T10:{:02}:{:02}Z", s / 60, s % 60);
    let reading = |s: u32| json!({ "sensorId": sensor, "ts": at(s), "temp": f64::from(s) / 8.0 });
    seconds.map(reading).collect()
}

/// Posts readings that must be accepted.
pub(crate) async fn post(hourglass: &Hourglass, sensor: &str, seconds: std::ops::Range<u32>) {
    let (status, answer) = hourglass.post(&readings(sensor, seconds.clone())).await;
    assert_eq!(
        (status, &answer["accepted"]),
        (202, &json!(seconds.len())),
        "{answer}"
    );
}

/// The hourly answer of [`HOUR`].
pub(crate) async fn hourly(hourglass: &Hourglass, sensor: &str) -> Value {
    let path = format!("/v1/sensors/{sensor}/hourly?from={HOUR}&to=2026-05-01T11:00:00Z");
    let (status, answer) = hourglass.get(&path).await;
    assert_eq!(status, 200, "{answer}");
    answer
}

/// Readings of the sensor, by the hourly answer.
pub(crate) async fn count(hourglass: &Hourglass, sensor: &str) -> u64 {
    let answer = hourly(hourglass, sensor).await;
    answer["hours"][0]["count"].as_u64().unwrap_or(0)
}

/// Waits until what a start found in the journal is in every query.
pub(crate) async fn until_recovered(hourglass: &Hourglass) {
    until(|| async { hourglass.metric("hourglass_applier_lag_records").await == 0.0 }).await;
    assert_eq!(hourglass.metric("hourglass_applier_lag_bytes").await, 0.0);
}

/// Asks until the answer does; at most a minute.
pub(crate) async fn until<F: Future<Output = bool>>(ask: impl Fn() -> F) {
    let asking = async {
        let mut pause = tokio::time::interval(Duration::from_millis(20));
        loop {
            pause.tick().await;
            if ask().await {
                return;
            }
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(60), asking).await;
    assert!(in_time.is_ok(), "it never came to that");
}

/// Waits until `/readyz` says that the store is so.
pub(crate) async fn until_store_is(hourglass: &Hourglass, how: &str) {
    until(|| async { hourglass.get("/readyz").await.1["store"] == how }).await;
}

/// Waits until the store holds everything.
pub(crate) async fn until_stored(hourglass: &Hourglass) {
    until(|| async { hourglass.metric("hourglass_values_pending").await == 0.0 }).await;
}

/// Runs a command to its end: exit code, standard output, standard error.
pub(crate) fn run(command: &mut Command) -> (Option<i32>, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = command
        .stderr(std::process::Stdio::piped())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

/// Whether a line of the log contains `part`.
pub(crate) fn says(log: &[String], part: &str) -> bool {
    log.iter().any(|line| line.contains(part))
}
