//! C24: a reading is stamped once, before the journal, and never again.

use serde_json::Value;

use super::builders::{on_each_store, post, readings, until_ready, until_stored};
use crate::support::hourglass::Hourglass;

/// What devices without a clock send.
const ITEMS: &str = r#"[
    {"sensorId":"S1","temp":1},
    {"sensorId":"S1","temp":2},
    {"sensorId":"S2","ageMs":1500,"temp":3}
]"#;

async fn all(hourglass: &Hourglass) -> Vec<Value> {
    let mut all = readings(hourglass, "S1").await;
    all.extend(readings(hourglass, "S2").await);
    all
}

#[tokio::test]
async fn c24_a_replay_after_a_kill_stores_the_same_instant_once() {
    on_each_store(async |start| {
        let mut hourglass = start.start();
        post(&hourglass, ITEMS).await;
        let stamped = all(&hourglass).await;
        let values: Vec<&Value> = stamped.iter().map(|r| &r["measures"]["temp"]).collect();
        assert_eq!(values, [1.0, 2.0, 3.0]);
        for _ in 0..2 {
            hourglass.kill_9();
            hourglass = start.start();
            until_ready(&hourglass).await;
            assert_eq!(all(&hourglass).await, stamped);
        }
        assert!(hourglass.stop().0.success());

        // From the store alone, and when it is sent again as it was stored.
        let hourglass = start.set("FLUSH__AGE_MAX", "100ms").start();
        until_ready(&hourglass).await;
        assert_eq!(all(&hourglass).await, stamped);
        let again = stamped[0]["ts"].as_str().unwrap();
        let item = format!(r#"{{"sensorId":"S1","ts":"{again}","temp":1}}"#);
        post(&hourglass, &item).await;
        until_stored(&hourglass).await;
        assert_eq!(all(&hourglass).await, stamped);
    })
    .await;
}
