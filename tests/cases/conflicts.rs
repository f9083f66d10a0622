//! C03, C04: what collides at one instant is counted, kept and shown; nothing
//! replaces or swallows a value in silence.

use serde_json::{Value, json};

use super::builders::{on_each_store, post, readings, until_ready, until_stored};
use crate::support::hourglass::Hourglass;

fn body(ts: &str, temp: f64) -> String {
    json!({ "sensorId": "S1", "ts": ts, "temp": temp }).to_string()
}

/// Instants and values of `S1`.
async fn stored(hourglass: &Hourglass) -> Vec<(String, f64)> {
    let pair = |reading: &Value| {
        let ts = reading["ts"].as_str().unwrap().to_owned();
        (ts, reading["measures"]["temp"].as_f64().unwrap())
    };
    readings(hourglass, "S1").await.iter().map(pair).collect()
}

/// The newest conflict without its time of receipt, and how many there are.
async fn conflicts(hourglass: &Hourglass) -> (Value, usize) {
    let (status, mut answer) = hourglass.get("/v1/conflicts").await;
    assert_eq!(status, 200);
    let list = answer["conflicts"].as_array_mut().unwrap();
    let count = list.len();
    let mut newest = list.swap_remove(0);
    let received_at = newest.as_object_mut().unwrap().remove("receivedAt");
    assert!(received_at.is_some());
    (newest, count)
}

#[tokio::test]
async fn c03_another_value_for_an_instant_is_a_conflict_that_is_shown() {
    on_each_store(async |start| {
        let ts = "2026-05-01T10:00:00Z";
        let shown = |refused: f64| {
            json!({ "sensorId": "S1", "ts": ts, "measure": "temp", "kept": 1.5, "refused": refused })
        };
        let hourglass = start.start();
        post(&hourglass, &body(ts, 1.5)).await;
        post(&hourglass, &body(ts, 2.5)).await;
        assert_eq!(conflicts(&hourglass).await, (shown(2.5), 1));
        until_stored(&hourglass).await;
        post(&hourglass, &body(ts, 3.5)).await;
        assert_eq!(conflicts(&hourglass).await, (shown(3.5), 2));
        let counted = hourglass.metric("hourglass_values_conflict_total").await;
        assert_eq!(counted, 2.0);
        assert_eq!(stored(&hourglass).await, [(ts.to_owned(), 1.5)]);
        assert!(hourglass.stop().0.success());

        // What is stored is not in memory any more: the fence finds it.
        let hourglass = start.start();
        until_ready(&hourglass).await;
        post(&hourglass, &body(ts, 4.5)).await;
        assert_eq!(stored(&hourglass).await, [(ts.to_owned(), 1.5)]);
        until_stored(&hourglass).await;
        assert_eq!(conflicts(&hourglass).await, (shown(4.5), 1));
        let counted = hourglass.metric("hourglass_values_conflict_total").await;
        assert_eq!(counted, 1.0);
        assert_eq!(stored(&hourglass).await, [(ts.to_owned(), 1.5)]);
    })
    .await;
}

#[tokio::test]
async fn c04_microseconds_are_kept_and_what_is_finer_shows_as_a_conflict() {
    on_each_store(async |start| {
        let hourglass = start.start();
        let micros = |n: u32| format!("2026-05-01T10:00:00.{n:06}Z");
        for n in 1..=3 {
            post(&hourglass, &body(&micros(n), f64::from(n))).await;
        }
        // Cut off to .000001 and .000002: the same value, and another one.
        post(&hourglass, &body("2026-05-01T10:00:00.000001999Z", 1.0)).await;
        post(&hourglass, &body("2026-05-01T10:00:00.000002001Z", 7.0)).await;
        let expected: Vec<_> = (1..=3).map(|n| (micros(n), f64::from(n))).collect();
        assert_eq!(stored(&hourglass).await, expected);
        let (conflict, count) = conflicts(&hourglass).await;
        assert_eq!((&conflict["ts"], count), (&json!(micros(2)), 1));
        assert_eq!(conflict["refused"], 7.0);
        let duplicates = hourglass.metric("hourglass_values_duplicate_total").await;
        assert_eq!(duplicates, 1.0);

        until_stored(&hourglass).await;
        assert!(hourglass.stop().0.success());
        let hourglass = start.start();
        until_ready(&hourglass).await;
        assert_eq!(stored(&hourglass).await, expected);
    })
    .await;
}
