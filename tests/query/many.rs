//! Many sensors in one request get what each gets alone.

use serde_json::{Value, json};
use tempfile::TempDir;

use super::fixture::{OLD, open_hour, post, quiet, until_stored};

/// Stored only, buffered only, both, and unknown.
const SENSORS: [&str; 4] = ["both", "stored", "unknown", "buffered"];

#[tokio::test]
async fn many_sensors_in_one_request_get_what_each_gets_alone() {
    let dir = TempDir::new().unwrap();
    let hourglass = quiet(&dir).start();
    let open = open_hour();
    let mut batch = Vec::new();
    for n in 0..10 {
        for (sensor, start) in [
            ("stored", OLD),
            ("both", OLD),
            ("both", open),
            ("buffered", open),
        ] {
            let ts = start + n * 60;
            batch.push(json!({ "sensorId": sensor, "ts": ts, "temp": n, "n": ts }));
        }
    }
    post(&hourglass, &batch.into()).await;
    until_stored(&hourglass, 40, 40).await;

    let named = SENSORS.map(|sensor| format!("sensor={sensor}")).join("&");
    let (status, latest) = hourglass.get(&format!("/v1/latest?{named}")).await;
    assert_eq!(status, 200, "{latest}");
    let range = "from=2026-05-01T00:00:00Z";
    let (status, hourly) = hourglass.get(&format!("/v1/hourly?{named}&{range}")).await;
    assert_eq!(status, 200, "{hourly}");
    for (at, sensor) in SENSORS.into_iter().enumerate() {
        for (many, alone) in [
            (&latest, format!("/v1/sensors/{sensor}/latest")),
            (&hourly, format!("/v1/sensors/{sensor}/hourly?{range}")),
        ] {
            assert_eq!(many["complete"], true);
            let (_, mut alone) = hourglass.get(&alone).await;
            alone.as_object_mut().unwrap().remove("complete");
            assert_eq!(many["sensors"][at], alone);
            assert_eq!(alone["sensorId"], sensor);
        }
    }
    let hours = |at: usize| hourly["sensors"][at]["hours"].as_array().unwrap().len();
    assert_eq!([hours(0), hours(1), hours(2), hours(3)], [2, 1, 0, 1]);
    let newest = |at: usize| latest["sensors"][at]["latest"]["measures"]["n"].clone();
    let last = |start: i64| json!((start + 540) as f64);
    assert_eq!(
        [newest(0), newest(1), newest(2), newest(3)],
        [last(open), last(OLD), Value::Null, last(open)]
    );
    let hour = &hourly["sensors"][1]["hours"][0];
    assert_eq!(hour["hour"], "2026-05-01T10:00:00Z");
    assert_eq!(
        hour["measures"]["temp"],
        json!({ "count": 10, "sum": 45.0, "avg": 4.5, "min": 0.0, "max": 9.0 })
    );
}

#[tokio::test]
async fn a_sensor_named_twice_is_answered_once() {
    let dir = TempDir::new().unwrap();
    let hourglass = quiet(&dir).start();
    post(
        &hourglass,
        &json!({ "sensorId": "a b", "ts": OLD, "temp": 1 }),
    )
    .await;
    let (_, answer) = hourglass
        .get("/v1/latest?sensor=a%20b&sensor=c&sensor=a+b")
        .await;
    let list = answer["sensors"].as_array().unwrap();
    let ids: Vec<&Value> = list.iter().map(|sensor| &sensor["sensorId"]).collect();
    assert_eq!(ids, ["a b", "c"]);
    assert_eq!(list[0]["latest"]["measures"]["temp"], 1.0);
}
