//! The cap on distinct sensors.

use serde_json::json;
use tempfile::TempDir;

use crate::support::hourglass::Start;

#[tokio::test]
async fn new_sensors_are_refused_at_the_cap_and_known_ones_are_not_over_restarts() {
    let dir = TempDir::new().unwrap();
    let start = Start::on(dir.path());
    let hourglass = start.start();
    let known = json!([
        {"sensorId": "a", "ts": "2026-05-01T10:00:00Z", "temp": 1},
        {"sensorId": "b", "ts": "2026-05-01T10:00:00Z", "temp": 1},
        {"sensorId": "c", "ts": "2026-05-01T10:00:00Z", "temp": 1},
    ]);
    assert_eq!(hourglass.post(&known).await.1["accepted"], 3);
    let (status, _) = hourglass.stop();
    assert!(status.success());

    let hourglass = start.set("INGEST__SENSORS_MAX", "2").start();
    // Until the store was asked, nothing is refused; that takes a moment.
    let mut tries = 0;
    let refused = loop {
        let at = format!("2026-05-01T{:02}:{:02}:00Z", 11 + tries / 60, tries % 60);
        let mut batch = json!([{"sensorId": format!("new-{tries}"), "ts": at, "temp": 2}]);
        for known in ["a", "b", "c"] {
            let item = json!({"sensorId": known, "ts": at, "temp": 2});
            batch.as_array_mut().unwrap().push(item);
        }
        let (status, answer) = hourglass.post(&batch).await;
        assert_eq!(status, 202, "{answer}");
        if answer["rejected"] == 1 {
            break answer;
        }
        tries += 1;
        assert!(tries < 700, "the cap never holds: {answer}");
    };
    assert_eq!(refused["accepted"], 3);
    assert_eq!(refused["errors"][0]["index"], 0);
    assert_eq!(refused["errors"][0]["code"], "too_many_sensors");
    assert_eq!(refused["errors"][0]["field"], "sensorId");
}
