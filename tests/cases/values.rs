//! C11, C26: a value that is no number costs its own item or field, is told,
//! and is never stored as another.

use serde_json::{Value, json};
use tempfile::TempDir;

use super::builders::readings;
use crate::support::hourglass::{Hourglass, Start};

async fn values(hourglass: &Hourglass, sensor: &str) -> Vec<Value> {
    let readings = readings(hourglass, sensor).await;
    let measures = |reading: &Value| reading["measures"].clone();
    readings.iter().map(measures).collect()
}

#[tokio::test]
async fn c11_an_infinite_value_costs_its_item_and_no_other() {
    let dir = TempDir::new().unwrap();
    let hourglass = Start::on(dir.path()).start();
    for (at, infinite) in ["1e999", "-1e999", "1e301"].into_iter().enumerate() {
        let sensor = format!("S{at}");
        let item = |second: u32, value: &str| {
            format!(
                r#"{{"sensorId":"{sensor}","ts":"2026-05-01T10:00:0{second}Z","temp":{value}}}"#
            )
        };
        let body = format!("[{},{},{}]", item(0, "1"), item(1, infinite), item(2, "2"));
        let (status, answer) = hourglass.post_as("application/json", body).await;
        assert_eq!(status, 202, "{answer}");
        assert_eq!(
            (&answer["accepted"], &answer["rejected"]),
            (&json!(2), &json!(1))
        );
        let error = &answer["errors"][0];
        assert_eq!(
            (&error["index"], &error["field"]),
            (&json!(1), &json!("temp"))
        );
        assert_eq!(error["code"], "not_finite");
        assert_eq!(answer["rejectedByCode"], json!({ "not_finite": 1 }));
        assert_eq!(
            values(&hourglass, &sensor).await,
            [json!({ "temp": 1.0 }), json!({ "temp": 2.0 })]
        );
    }
    let alone = r#"{"sensorId":"S9","ts":"2026-05-01T10:00:00Z","temp":1e999}"#;
    let (status, answer) = hourglass.post_as("application/json", alone).await;
    assert_eq!(status, 422, "{answer}");
    assert!(values(&hourglass, "S9").await.is_empty());
}

#[tokio::test]
async fn c11_an_infinite_line_costs_its_line_and_no_other() {
    let dir = TempDir::new().unwrap();
    let hourglass = Start::on(dir.path()).start();
    let lines: Vec<String> = ["1", "Infinity", "NaN", "1e999", "2"]
        .iter()
        .enumerate()
        .map(|(second, value)| {
            format!(r#"{{"sensorId":"S1","ts":"2026-05-01T10:00:0{second}Z","temp":{value}}}"#)
        })
        .collect();
    let (status, answer) = hourglass
        .post_as("application/x-ndjson", lines.join("\n"))
        .await;
    assert_eq!(status, 202, "{answer}");
    let errors: Vec<_> = answer["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| {
            (
                error["line"].as_u64().unwrap(),
                error["code"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        errors,
        [(2, "invalid_json"), (3, "invalid_json"), (4, "not_finite")]
    );
    assert_eq!(
        values(&hourglass, "S1").await,
        [json!({ "temp": 1.0 }), json!({ "temp": 2.0 })]
    );
}

#[tokio::test]
async fn c26_text_is_skipped_and_counted_and_never_a_number() {
    let dir = TempDir::new().unwrap();
    let hourglass = Start::on(dir.path()).start();
    let at = |second: u32| format!("2026-05-01T10:00:0{second}Z");
    let batch = json!([
        { "sensorId": "S1", "ts": at(0), "temp": "24.1" },
        { "sensorId": "S1", "ts": at(1), "temp": "on", "humidity": 40 },
        { "sensorId": "S1", "ts": at(2), "measures": { "temp": "", "humidity": "0" } },
        { "sensorId": "S1", "ts": at(3), "temp": 25 },
    ]);
    let (status, answer) = hourglass.post(&batch).await;
    assert_eq!(status, 202, "{answer}");
    assert_eq!(answer["accepted"], 2);
    assert_eq!(answer["rejectedByCode"], json!({ "no_measures": 2 }));
    assert_eq!(answer["errors"][1]["index"], 2);
    assert_eq!(
        values(&hourglass, "S1").await,
        [json!({ "humidity": 40.0 }), json!({ "temp": 25.0 })]
    );
    let skipped = hourglass
        .metric("hourglass_text_fields_skipped_total")
        .await;
    assert_eq!(skipped, 4.0);
}
