//! C06: one number has one value, however it is written.

use serde_json::json;

use super::builders::{hours, on_each_store, post, readings, until_ready, until_stored};

#[tokio::test]
async fn c06_an_integer_and_a_float_of_one_value_are_duplicates() {
    on_each_store(async |start| {
        let body = |value: &str| {
            format!(r#"{{"sensorId":"S1","ts":"2026-05-01T10:00:00Z","temp":{value}}}"#)
        };
        let hourglass = start.start();
        for value in ["5", "5.0", "5e0"] {
            post(&hourglass, &body(value)).await;
        }
        until_stored(&hourglass).await;
        for value in ["0.5E1", "50e-1", "5"] {
            post(&hourglass, &body(value)).await;
        }
        let duplicates = hourglass.metric("hourglass_values_duplicate_total").await;
        assert_eq!(duplicates, 5.0);
        assert!(hourglass.stop().0.success());

        // What is stored is not in memory any more.
        let hourglass = start.start();
        until_ready(&hourglass).await;
        for value in ["5.000", "5"] {
            post(&hourglass, &body(value)).await;
        }
        until_stored(&hourglass).await;
        for (metric, values) in [("duplicate", 2.0), ("conflict", 0.0), ("stored", 0.0)] {
            let metric = format!("hourglass_values_{metric}_total");
            assert_eq!(hourglass.metric(&metric).await, values, "{metric}");
        }
        let reading = json!({ "ts": "2026-05-01T10:00:00Z", "measures": { "temp": 5.0 } });
        assert_eq!(readings(&hourglass, "S1").await, [reading]);
        assert_eq!(hours(&hourglass, "S1").await[0]["count"], 1);
    })
    .await;
}
