//! What these tests post, and what they read of the answers.

use reqwest::RequestBuilder;
use serde_json::{Value, json};

use crate::support::eventually::eventually;
use crate::support::hourglass::Hourglass;

/// Posts readings that must all be accepted.
pub(super) async fn post(hourglass: &Hourglass, readings: &Value) {
    let (status, answer) = hourglass.post(readings).await;
    let items = readings.as_array().map_or(1, Vec::len);
    assert_eq!(
        (status, &answer["accepted"]),
        (202, &json!(items)),
        "{answer}"
    );
}

/// Puts a record of the registry.
pub(super) async fn put(hourglass: &Hourglass, path: &str, body: &Value) {
    let request = hourglass.http().put(hourglass.url(path));
    let request = request.header("content-type", "application/json");
    let response = request.body(body.to_string()).send().await.unwrap();
    let status = response.status();
    let text = response.text().await.unwrap();
    assert!(status.is_success(), "{path}: {status} {text}");
}

/// Gets `path`, which must be answered with 200 and completely.
pub(super) async fn get(hourglass: &Hourglass, path: &str) -> Value {
    let (status, answer) = hourglass.get(path).await;
    assert_eq!(status, 200, "{path}: {answer}");
    assert_eq!(answer["complete"], true, "{path}: {answer}");
    answer
}

/// The readings of an answer as (ts, measures).
pub(super) fn readings(answer: &Value) -> Vec<(String, Value)> {
    let readings = answer["readings"].as_array().unwrap().iter();
    let reading = |reading: &Value| {
        let ts = reading["ts"].as_str().unwrap().to_owned();
        (ts, reading["measures"].clone())
    };
    readings.map(reading).collect()
}

/// The instants of an answer.
pub(super) fn instants(answer: &Value) -> Vec<String> {
    readings(answer).into_iter().map(|(ts, _)| ts).collect()
}

/// Waits until the store holds everything accepted.
pub(super) async fn flushed(hourglass: &Hourglass) {
    eventually("everything is stored", async || {
        let pending = hourglass.metric("hourglass_values_pending").await;
        (pending == 0.0).then_some(())
    })
    .await;
}

/// `2026-05-01T10:mm:ssZ` of a second of that hour, or of a later one.
pub(super) fn at(second: u32) -> String {
    let (hour, minute) = (10 + second / 3600, second / 60 % 60);
    format!("2026-05-01T{hour:02}:{minute:02}:{:02}Z", second % 60)
}

/// An instant so many seconds from now, on a whole second. One that is ahead
/// stays in the buffer: its hour is not over.
pub(super) fn from_now(seconds: i64) -> String {
    let now = jiff::Timestamp::now().as_second();
    jiff::Timestamp::from_second(now + seconds)
        .unwrap()
        .to_string()
}

/// Sends a request that must be answered by a problem, all of it as written.
pub(super) async fn expect_problem(request: RequestBuilder, status: u16, code: &str, detail: &str) {
    let response = request.send().await.unwrap();
    assert_eq!(
        response.headers()["content-type"],
        "application/problem+json"
    );
    let told_status = response.status();
    let text = response.text().await.unwrap();
    let problem: Value = serde_json::from_str(&text).unwrap();
    let expected = json!({
        "type": "about:blank",
        "title": told_status.canonical_reason(),
        "status": status,
        "code": code,
        "detail": detail,
    });
    assert_eq!(problem, expected);
    assert_eq!(told_status.as_u16(), status);
}
