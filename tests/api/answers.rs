//! What an answer says, and what holds of a process after whatever was sent.

use std::fmt::Write;

use reqwest::RequestBuilder;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::hourglass::{Hourglass, Start};

/// A process with the default settings, and the directory it works on.
pub(super) fn started() -> (TempDir, Hourglass) {
    let dir = TempDir::new().unwrap();
    let hourglass = Start::on(dir.path()).start();
    (dir, hourglass)
}

/// A request that posts `body` as JSON.
pub(super) fn json_post(hourglass: &Hourglass, body: impl Into<reqwest::Body>) -> RequestBuilder {
    let request = hourglass.http().post(hourglass.url("/v1/readings"));
    request
        .header("content-type", "application/json")
        .body(body)
}

/// Sends `request`, which must be answered with a problem of this status and
/// code whose detail has all of `parts`.
pub(super) async fn expect_problem(
    request: RequestBuilder,
    status: u16,
    code: &str,
    parts: &[&str],
) {
    let response = request.send().await.unwrap();
    let told = response.status().as_u16();
    let content_type = response.headers().get("content-type").cloned();
    let text = response.text().await.unwrap();
    assert_eq!(told, status, "{text}");
    assert_eq!(content_type.unwrap(), "application/problem+json", "{text}");
    let problem: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(problem["status"], status, "{text}");
    assert_eq!(problem["code"], code, "{text}");
    assert_eq!(problem["type"], "about:blank", "{text}");
    assert!(!problem["title"].as_str().unwrap().is_empty(), "{text}");
    expect_parts(&problem["detail"], parts);
}

/// Posts `item` alone: it must be refused with 422 and this code.
pub(super) async fn expect_refused(
    hourglass: &Hourglass,
    item: &str,
    code: &str,
    field: Option<&str>,
    parts: &[&str],
) {
    let answer = hourglass.post_as("application/json", item.to_owned()).await;
    let (status, answer) = answer;
    assert_eq!(status, 422, "{item}: {answer}");
    assert_eq!(answer["accepted"], 0, "{item}: {answer}");
    assert_eq!(answer["rejected"], 1, "{item}: {answer}");
    assert_eq!(answer["rejectedByCode"][code], 1, "{item}: {answer}");
    assert_eq!(answer["errors"].as_array().unwrap().len(), 1, "{answer}");
    let error = &answer["errors"][0];
    assert_eq!(error["index"], 0, "{item}: {answer}");
    assert_eq!(error["code"], code, "{item}: {answer}");
    assert_eq!(error["field"].as_str(), field, "{item}: {answer}");
    expect_parts(&error["detail"], parts);
}

fn expect_parts(detail: &Value, parts: &[&str]) {
    let detail = detail.as_str().unwrap();
    for part in parts {
        assert!(detail.contains(part), "`{part}` is not in: {detail}");
    }
}

/// The process still takes and shows readings, nothing panicked, and its
/// ledger of items balances.
pub(super) async fn expect_unharmed(hourglass: &Hourglass) {
    let ts = "2026-06-01T00:00:00Z";
    let reading = serde_json::json!({"sensorId": "still here", "ts": ts, "temp": 1});
    assert_eq!(hourglass.post(&reading).await.1["accepted"], 1);
    let (_, answer) = hourglass.get("/v1/sensors/still%20here/latest").await;
    assert_eq!(answer["latest"]["ts"], ts, "{answer}");

    let (_, page) = hourglass.get("/metrics").await;
    let page = page.as_str().unwrap();
    let sum = |name: &str| -> f64 {
        let samples = page.lines().filter_map(|line| line.rsplit_once(' '));
        let named = samples.filter(|(sample, _)| sample.split('{').next() == Some(name));
        named.map(|(_, value)| value.parse::<f64>().unwrap()).sum()
    };
    let received = sum("hourglass_items_received_total");
    let accepted = sum("hourglass_items_accepted_total");
    let rejected = sum("hourglass_items_rejected_total");
    let refused = sum("hourglass_items_refused_total");
    assert!(accepted >= 1.0, "{page}");
    assert_eq!(received, accepted + rejected + refused, "{page}");
    assert_eq!(sum("hourglass_http_body_bytes"), 0.0, "{page}");
    let log = hourglass.log();
    assert!(
        !log.iter().any(|line| line.contains("panicked")),
        "{log:#?}"
    );
}

/// `text` with every byte percent-encoded, as a path or a parameter takes it.
pub(super) fn percent_encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        write!(encoded, "%{byte:02X}").unwrap();
    }
    encoded
}
