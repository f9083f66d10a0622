//! The newest reading: by its instant, with all its measures, wherever it is.

use serde_json::json;

use super::answers::{at, flushed, from_now, get, post};
use crate::support::site::each_store;

#[tokio::test]
async fn the_newest_is_that_of_the_latest_instant_not_of_the_latest_arrival() {
    for site in each_store().await {
        let hourglass = site.start().start();
        let newest = json!({
            "sensorId": "S1",
            "latest": { "ts": at(5000), "measures": { "temp": 2.0 } },
            "complete": true,
        });
        for (second, temp) in [(5000, 2), (10, 1), (4999, 3)] {
            post(
                &hourglass,
                &json!({ "sensorId": "S1", "ts": at(second), "temp": temp }),
            )
            .await;
            assert_eq!(get(&hourglass, "/v1/sensors/S1/latest").await, newest);
            flushed(&hourglass).await;
            assert_eq!(get(&hourglass, "/v1/sensors/S1/latest").await, newest);
        }
    }
}

#[tokio::test]
async fn the_newest_has_the_measures_that_came_apart() {
    for site in each_store().await {
        let hourglass = site.start().start();
        let path = "/v1/sensors/S1/latest";
        post(
            &hourglass,
            &json!({ "sensorId": "S1", "ts": at(0), "temp": 1 }),
        )
        .await;
        flushed(&hourglass).await;
        post(
            &hourglass,
            &json!({ "sensorId": "S1", "ts": at(0), "hum": 2 }),
        )
        .await;
        // Another value for what is there already does not replace it.
        post(
            &hourglass,
            &json!({ "sensorId": "S1", "ts": at(0), "temp": 9 }),
        )
        .await;
        let expected = json!({ "ts": at(0), "measures": { "temp": 1.0, "hum": 2.0 } });
        assert_eq!(get(&hourglass, path).await["latest"], expected);
        flushed(&hourglass).await;
        assert_eq!(get(&hourglass, path).await["latest"], expected);
    }
}

#[tokio::test]
async fn a_newer_one_in_the_buffer_hides_that_of_the_store_and_not_the_reverse() {
    for site in each_store().await {
        let hourglass = site.start().start();
        let path = "/v1/sensors/S1/latest";
        post(
            &hourglass,
            &json!({ "sensorId": "S1", "ts": at(0), "temp": 1 }),
        )
        .await;
        flushed(&hourglass).await;
        let ahead = from_now(240);
        post(
            &hourglass,
            &json!({ "sensorId": "S1", "ts": ahead, "temp": 2 }),
        )
        .await;
        let expected = json!({ "ts": ahead, "measures": { "temp": 2.0 } });
        assert_eq!(get(&hourglass, path).await["latest"], expected);
        // After a stop it comes from the store; what is older changes nothing.
        let (status, _) = hourglass.stop();
        assert!(status.success());
        let hourglass = site.start().start();
        post(
            &hourglass,
            &json!({ "sensorId": "S1", "ts": at(1), "temp": 3 }),
        )
        .await;
        assert_eq!(get(&hourglass, path).await["latest"], expected);
    }
}
