//! C14: success means queryable, wherever a flush stands.

use serde_json::{Value, json};

use super::builders::{hours, on_each_store, readings};
use crate::support::hourglass::Hourglass;

/// Flushes that the readings are to be seen across.
const FLUSHES: usize = 4;
/// Rounds after which a test without flushes fails.
const ROUNDS_MAX: u32 = 100_000;

fn named(round: u32) -> String {
    format!("N{round:06}")
}

/// Every form of query shows what was posted up to `round`.
async fn assert_visible(hourglass: &Hourglass, round: u32) {
    let newest = json!({ "temp": f64::from(round) });
    let all = readings(hourglass, "S1").await;
    assert_eq!(all.len(), round as usize + 1);
    assert_eq!(all[round as usize]["measures"], newest);

    let hours = hours(hourglass, "S1").await;
    let count: u64 = hours
        .iter()
        .map(|hour| hour["count"].as_u64().unwrap())
        .sum();
    assert_eq!(count, u64::from(round) + 1);
    let max = &hours.last().unwrap()["measures"]["temp"]["max"];
    assert_eq!(*max, f64::from(round));

    let path = format!("/v1/latest?sensor=S1&sensor={}", named(round));
    let (_, latest) = hourglass.get(&path).await;
    for sensor in 0..2 {
        let latest = &latest["sensors"][sensor]["latest"];
        assert_eq!(latest["measures"], newest, "round {round}");
    }
    let after = round.checked_sub(1).map_or("M".to_owned(), named);
    let path = format!("/v1/sensors?limit=1&cursor={after}");
    let (_, page) = hourglass.get(&path).await;
    assert_eq!(page["sensors"][0]["sensorId"], named(round));
    assert_eq!(page["complete"], true, "{page}");
}

#[tokio::test]
async fn c14_what_was_accepted_is_in_the_next_query_in_mid_flush_too() {
    on_each_store(async |start| {
        let hourglass = start.set("FLUSH__AGE_MAX", "100ms").start();
        let mut stored = vec![0.0];
        let mut round = 0;
        while stored.len() <= FLUSHES {
            // The instants of some minutes, into an hour that is due at once.
            let millis = 1_777_629_600_000_u64 + u64::from(round) * 7;
            let batch: Value = ["S1".to_owned(), named(round)]
                .map(|sensor| json!({ "sensorId": sensor, "ts": millis, "temp": round }))
                .into_iter()
                .collect();
            let (status, answer) = hourglass.post(&batch).await;
            assert_eq!(status, 202, "{answer}");
            assert_visible(&hourglass, round).await;
            let now = hourglass.metric("hourglass_values_stored_total").await;
            if stored.last() != Some(&now) {
                stored.push(now);
            }
            round += 1;
            assert!(round < ROUNDS_MAX, "nothing is ever flushed");
        }
    })
    .await;
}
