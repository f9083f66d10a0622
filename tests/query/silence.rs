//! The count of silent sensors on `/metrics`: at a start, once the journal of the
//! run before is in the buffer.

use serde_json::json;

use super::answers::{at, flushed, from_now, get, post, put};
use crate::support::eventually::eventually;
use crate::support::hourglass::Hourglass;
use crate::support::site::each_store;

async fn silent_for_a_second(hourglass: &Hourglass, sensors: usize) {
    eventually("they are silent for a second", async || {
        let page = get(hourglass, "/v1/sensors?silent_for=1s").await;
        (page["sensors"].as_array().unwrap().len() == sensors).then_some(())
    })
    .await;
}

async fn counted(hourglass: &Hourglass, silent: f64) {
    eventually("the silent ones are counted", async || {
        let samples = hourglass.samples().await;
        (samples.get("hourglass_sensors_silent") == Some(&silent)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn silent_sensors_are_counted_in_the_store_and_in_the_buffer() {
    for site in each_store().await {
        let start = site.start().set("REGISTRY__SILENT_AFTER", "1s");
        let hourglass = start.start();
        put(&hourglass, "/v1/sensors/S0", &json!({})).await;
        let reading = |id: &str, ts| json!({ "sensorId": id, "ts": ts, "temp": 1 });
        post(
            &hourglass,
            &json!([reading("S1", at(0)), reading("S2", at(0))]),
        )
        .await;
        flushed(&hourglass).await;
        // One more that the store is not told of.
        post(&hourglass, &reading("S3", from_now(240))).await;
        silent_for_a_second(&hourglass, 3).await;
        hourglass.kill_9();
        let hourglass = start.start();
        counted(&hourglass, 3.0).await;
        let patient = site.start().set("REGISTRY__SILENT_AFTER", "24h");
        let (status, _) = hourglass.stop();
        assert!(status.success());
        let hourglass = patient.start();
        counted(&hourglass, 0.0).await;
    }
}
