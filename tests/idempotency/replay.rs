//! What a device without a clock sees: the first answer again, and one reading.

use serde_json::json;
use tempfile::TempDir;

use super::requests::{Answer, count, post, post_with};
use crate::support::hourglass::{Hourglass, Start};

fn started() -> (TempDir, Hourglass) {
    let dir = tempfile::tempdir().unwrap();
    let hourglass = Start::on(dir.path()).start();
    (dir, hourglass)
}

/// Readings without a time: stamped anew each time they are taken.
const TIMELESS: [&str; 3] = [
    r#"{"sensorId":"S1","temp":24.5}"#,
    r#"{"sensorId":"S1","ageMs":4200,"temp":24.5}"#,
    r#"[{"sensorId":"S1","temp":1},{"sensorId":"S1","temp":2},{"sensorId":"S1","temp":"warm"}]"#,
];

#[tokio::test]
async fn a_retry_with_its_key_gets_the_first_answer_and_stores_nothing() {
    for body in TIMELESS {
        let (_dir, hourglass) = started();
        let first = post(&hourglass, "k", body).await;
        assert_eq!((first.status, first.is_replayed), (202, false), "{first:?}");
        let stored = count(&hourglass, "S1").await;
        for _ in 0..3 {
            assert_eq!(post(&hourglass, "k", body).await, first.again());
        }
        assert_eq!(count(&hourglass, "S1").await, stored);
        let received = body.matches("sensorId").count() as f64;
        for (metric, value) in [
            ("hourglass_items_received_total", received),
            ("hourglass_items_accepted_total", stored as f64),
            ("hourglass_values_duplicate_total", 0.0),
            ("hourglass_idempotent_replays_total", 3.0),
            ("hourglass_idempotency_keys", 1.0),
        ] {
            assert_eq!(hourglass.metric(metric).await, value, "{metric}");
        }
        let other = post(&hourglass, "another", body).await;
        assert_eq!((other.status, other.is_replayed), (202, false));
        assert_eq!(count(&hourglass, "S1").await, 2 * stored);
    }
}

/// What the key is for.
#[tokio::test]
async fn without_a_key_a_retry_of_readings_without_a_time_is_stored_again() {
    for body in TIMELESS {
        let (_dir, hourglass) = started();
        assert_eq!(post_with(&hourglass, &[], body).await.status, 202);
        let stored = count(&hourglass, "S1").await;
        assert!(!post_with(&hourglass, &[], body).await.is_replayed);
        assert_eq!(count(&hourglass, "S1").await, 2 * stored);
    }
}

#[tokio::test]
async fn another_body_with_the_key_is_refused_and_takes_nothing_from_the_first() {
    let (_dir, hourglass) = started();
    let body = TIMELESS[0];
    let first = post(&hourglass, "k", body).await;
    let other = post(&hourglass, "k", r#"{"sensorId":"S1","temp":24.6}"#).await;
    assert_eq!((other.status, other.is_replayed), (422, false));
    assert_eq!(other.code(), "idempotency_key_reused");
    assert_eq!(post(&hourglass, "k", body).await, first.again());
    assert_eq!(count(&hourglass, "S1").await, 1);
    let refused = "hourglass_requests_refused_total{reason=\"key_reused\"}";
    assert_eq!(hourglass.metric(refused).await, 1.0);

    // The same bytes with numeric times read in another unit mean something else.
    let url = hourglass.url("/v1/readings?unit=s");
    let request = hourglass.http().post(url).header("idempotency-key", "k");
    let request = request.header("content-type", "application/json");
    let other = Answer::of(request.body(body).send().await.unwrap()).await;
    assert_eq!(other.code(), "idempotency_key_reused");
}

#[tokio::test]
async fn the_same_readings_compressed_are_the_same_request() {
    let (_dir, hourglass) = started();
    let body = TIMELESS[0];
    let first = post(&hourglass, "k", body).await;
    let compressed = zip(body.as_bytes());
    let request = hourglass.http().post(hourglass.url("/v1/readings"));
    let request = request
        .header("content-type", "application/json")
        .header("content-encoding", "gzip")
        .header("idempotency-key", "k");
    let again = Answer::of(request.body(compressed).send().await.unwrap()).await;
    assert_eq!(again, first.again());
    assert_eq!(count(&hourglass, "S1").await, 1);
}

/// `bytes` as gzip, stored as they are.
fn zip(bytes: &[u8]) -> Vec<u8> {
    let mut zipped = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 1];
    let length = u16::try_from(bytes.len()).unwrap();
    zipped.extend(length.to_le_bytes());
    zipped.extend((!length).to_le_bytes());
    zipped.extend(bytes);
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
        }
    }
    zipped.extend((!crc).to_le_bytes());
    zipped.extend(u32::from(length).to_le_bytes());
    zipped
}

#[tokio::test]
async fn what_was_refused_item_by_item_or_held_none_is_answered_again_too() {
    let (_dir, hourglass) = started();
    let bad = r#"[{"temp":1},{"sensorId":"S1","temp":"warm"},7]"#;
    for (key, body, status) in [("bad", bad, 422), ("none", "[]", 202)] {
        let first = post(&hourglass, key, body).await;
        assert_eq!((first.status, first.is_replayed), (status, false));
        assert_eq!(post(&hourglass, key, body).await, first.again());
    }
    assert_eq!(
        hourglass.metric("hourglass_items_received_total").await,
        3.0
    );
}

#[tokio::test]
async fn what_is_refused_as_a_whole_is_not_remembered() {
    let (_dir, hourglass) = started();
    for body in ["{", "", "7"] {
        for _ in 0..2 {
            let refused = post(&hourglass, "k", body).await;
            assert_eq!((refused.status, refused.is_replayed), (400, false));
        }
    }
    let taken = post(&hourglass, "k", TIMELESS[0]).await;
    assert_eq!((taken.status, taken.is_replayed), (202, false));
}

#[tokio::test]
async fn keys_against_the_rules_are_refused_before_anything_is_taken() {
    let (_dir, hourglass) = started();
    let long = "k".repeat(256);
    let cases: [&[(&str, &str)]; 4] = [
        &[("idempotency-key", "")],
        &[("idempotency-key", &long)],
        &[("idempotency-key", "schlüssel")],
        &[("idempotency-key", "a"), ("idempotency-key", "a")],
    ];
    for headers in cases {
        let refused = post_with(&hourglass, headers, TIMELESS[0]).await;
        assert_eq!(refused.status, 400, "{headers:?}");
        assert_eq!(refused.code(), "invalid_idempotency_key");
    }
    assert_eq!(count(&hourglass, "S1").await, 0);
    for key in [
        "k",
        &"k".repeat(255),
        "\"8e03978e-40d5-43dd-bc93-6894a57f9324\"",
    ] {
        let taken = post(&hourglass, key, TIMELESS[0]).await;
        assert_eq!((taken.status, taken.is_replayed), (202, false));
    }
}

#[tokio::test]
async fn at_the_bound_the_oldest_key_is_forgotten_and_counted() {
    let dir = tempfile::tempdir().unwrap();
    let start = Start::on(dir.path()).set("INGEST__IDEMPOTENCY_KEYS_MAX", "3");
    let hourglass = start.start();
    for number in 0..5 {
        post(&hourglass, &format!("k{number}"), TIMELESS[0]).await;
    }
    let forgotten = "hourglass_idempotency_keys_forgotten_total";
    assert_eq!(hourglass.metric(forgotten).await, 2.0);
    assert!(post(&hourglass, "k2", TIMELESS[0]).await.is_replayed);
    assert!(!post(&hourglass, "k1", TIMELESS[0]).await.is_replayed);
}

#[tokio::test]
async fn web_pages_may_send_the_key_and_see_that_an_answer_is_an_earlier_one() {
    let dir = tempfile::tempdir().unwrap();
    let start = Start::on(dir.path()).set("SERVER__CORS_ORIGINS", "http://dash.example");
    let hourglass = start.start();
    let url = hourglass.url("/v1/readings");
    let ask = hourglass.http().request(reqwest::Method::OPTIONS, &url);
    let ask = ask
        .header("origin", "http://dash.example")
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "idempotency-key");
    let allowed = ask.send().await.unwrap();
    let allowed = allowed.headers()["access-control-allow-headers"]
        .to_str()
        .unwrap()
        .to_owned();
    assert!(allowed.contains("idempotency-key"), "{allowed}");
    let request = hourglass
        .http()
        .post(&url)
        .header("origin", "http://dash.example");
    let request = request.header("content-type", "application/json");
    let answer = request.body(json!([]).to_string()).send().await.unwrap();
    let exposed = answer.headers()["access-control-expose-headers"]
        .to_str()
        .unwrap()
        .to_owned();
    assert!(exposed.contains("idempotency-replayed"), "{exposed}");
}
