//! The bound of the buffer: a batch that does not fit makes room for itself.

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::eventually::eventually;
use crate::support::hourglass::Start;

/// Nothing is due by itself: the hour is open, and no reading is old enough.
#[tokio::test]
async fn a_batch_that_does_not_fit_has_what_is_in_its_way_flushed() {
    let dir = TempDir::new().unwrap();
    let hourglass = Start::on(dir.path())
        .set("BUFFER__BYTES_MAX", "1MiB")
        .set("FLUSH__AGE_MAX", "24h")
        .set("FLUSH__READINGS_MAX", "1000000")
        .start();
    let mut sensors = 0;
    while hourglass.metric("hourglass_buffer_bytes").await < 700e3 {
        let batch = sensors..sensors + 50;
        let batch: Value = batch
            .map(|n| json!({ "sensorId": format!("S{n}"), "temp": n }))
            .collect();
        assert_eq!(hourglass.post(&batch).await.0, 202);
        sensors += 50;
    }
    // Few values and much around them: memory is not short yet.
    assert!(hourglass.metric("hourglass_buffer_bytes").await < 900e3);
    assert_eq!(
        hourglass.metric("hourglass_values_pending").await,
        f64::from(sensors)
    );

    // Half a mebibyte in the buffer.
    let large: Value = (0..18_000)
        .map(|age| json!({ "sensorId": "large", "ageMs": age, "temp": age }))
        .collect();
    assert_eq!(hourglass.post(&large).await.0, 202);
    let applied = async || {
        let (_, ready) = hourglass.get("/readyz").await;
        (ready["complete"] == true).then_some(())
    };
    eventually("the large batch is in the buffer", applied).await;
    let (_, latest) = hourglass.get("/v1/sensors/large/latest").await;
    assert_eq!(latest["latest"]["measures"]["temp"], 0.0);
}
