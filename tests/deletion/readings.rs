//! What a deletion takes away, and what it leaves.

use serde_json::{Value, json};

use crate::support::hourglass::Hourglass;
use crate::support::site::each_store;

pub(super) async fn delete(hourglass: &Hourglass, sensor: &str, query: &str) -> (u16, Value) {
    let path = format!("/v1/sensors/{sensor}/readings?{query}");
    let sent = hourglass.http().delete(hourglass.url(&path)).send().await;
    let response = sent.unwrap();
    let status = response.status().as_u16();
    (status, response.json().await.unwrap())
}

/// A reading a minute of `hours` hours from ten o'clock, the minute of the day as
/// its value.
pub(super) async fn post_hours(hourglass: &Hourglass, sensor: &str, hours: u32) {
    let readings: Vec<Value> = (0..hours * 60)
        .map(|minute| {
            let (hour, second) = (10 + minute / 60, minute % 60);
            let ts = format!("2026-05-01T{hour:02}:{second:02}:00Z");
            json!({ "sensorId": sensor, "ts": ts, "temp": minute })
        })
        .collect();
    let (status, answer) = hourglass.post(&readings.into()).await;
    assert_eq!(status, 202, "{answer}");
}

pub(super) async fn stored(hourglass: &Hourglass) {
    crate::support::eventually::eventually("everything is stored", async || {
        let pending = hourglass.metric("hourglass_values_pending").await;
        (pending == 0.0).then_some(())
    })
    .await;
}

/// Counts by hour.
pub(super) async fn counts(hourglass: &Hourglass, sensor: &str) -> Vec<u64> {
    let (_, answer) = hourglass.get(&format!("/v1/sensors/{sensor}/hourly")).await;
    let hours = answer["hours"].as_array().unwrap().iter();
    hours.map(|hour| hour["count"].as_u64().unwrap()).collect()
}

/// The newest readings on the sensor's page, their values.
pub(super) async fn recent(hourglass: &Hourglass, sensor: &str) -> Vec<u64> {
    let (_, page) = hourglass.get(&format!("/v1/sensors/{sensor}")).await;
    let recent = page["recent"].as_array().unwrap().iter();
    recent
        .map(|reading| reading["measures"]["temp"].as_f64().unwrap() as u64)
        .collect()
}

#[tokio::test]
async fn a_range_goes_from_buckets_computed_fields_and_newest_readings() {
    for site in each_store().await {
        let hourglass = site.start().start();
        for sensor in ["S1", "S2"] {
            post_hours(&hourglass, sensor, 3).await;
        }
        stored(&hourglass).await;
        let newest: Vec<u64> = (160..180).rev().collect();
        assert_eq!(recent(&hourglass, "S1").await, newest);
        let range = "from=2026-05-01T10:30:00Z&to=2026-05-01T12:50:00Z";
        let (status, answer) = delete(&hourglass, "S1", range).await;
        let expected = json!({
            "state": "done", "deleted": { "readings": 140, "buckets": 3 }, "hoursLeft": 0,
        });
        assert_eq!((status, answer), (200, expected));
        assert_eq!(counts(&hourglass, "S1").await, [30, 10]);
        assert_eq!(counts(&hourglass, "S2").await, [60, 60, 60]);
        let newest: Vec<u64> = (20..30).chain(170..180).rev().collect();
        assert_eq!(recent(&hourglass, "S1").await, newest);
        let (_, hourly) = hourglass.get("/v1/sensors/S1/hourly").await;
        let temp = &hourly["hours"][1]["measures"]["temp"];
        let sum = (170..180).sum::<u64>() as f64;
        assert_eq!((&temp["min"], &temp["sum"]), (&json!(170.0), &json!(sum)));
        // Again, and of what never was: nothing is there.
        for sensor in ["S1", "unknown"] {
            let (status, answer) = delete(&hourglass, sensor, range).await;
            assert_eq!((status, &answer["deleted"]["readings"]), (200, &json!(0)));
        }
        // The late measure and the corrected value come in as new.
        let corrected = json!([{ "sensorId": "S1", "ts": "2026-05-01T11:00:00Z", "temp": 999 }]);
        assert_eq!(hourglass.post(&corrected).await.0, 202);
        stored(&hourglass).await;
        assert_eq!(counts(&hourglass, "S1").await, [30, 1, 10]);
        assert_eq!(
            hourglass.metric("hourglass_values_conflict_total").await,
            0.0
        );
        let (_, log) = hourglass.stop();
        let drained = |line: &String| line.contains("everything accepted is in the store");
        assert!(log.iter().any(drained), "{log:#?}");
    }
}

#[tokio::test]
async fn what_waits_goes_too_and_what_comes_later_stays() {
    for site in each_store().await {
        let hourglass = site.start().set("FLUSH__AGE_MAX", "1h").start();
        // An hour that is being filled is not flushed before its time.
        let now = jiff::Timestamp::now().as_second();
        let at = |second: i64| {
            jiff::Timestamp::from_second(now - second)
                .unwrap()
                .to_string()
        };
        let reading = |second, temp| json!({ "sensorId": "S1", "ts": at(second), "temp": temp });
        let readings: Vec<Value> = (0..10).map(|second| reading(second, second)).collect();
        assert_eq!(hourglass.post(&readings.into()).await.0, 202);
        let range = format!("from={}&to={}", at(7), at(2));
        let (status, answer) = delete(&hourglass, "S1", &range).await;
        assert_eq!((status, &answer["deleted"]["readings"]), (200, &json!(5)));
        assert_eq!(recent(&hourglass, "S1").await, [0, 1, 2, 8, 9]);
        assert_eq!(hourglass.post(&json!([reading(5, 55)])).await.0, 202);
        assert_eq!(recent(&hourglass, "S1").await, [0, 1, 2, 55, 8, 9]);
        assert_eq!(
            hourglass.metric("hourglass_values_deleted_total").await,
            5.0
        );
    }
}

#[tokio::test]
async fn both_ends_must_be_said() {
    let (_dir, hourglass) = crate::support::hourglass::alone();
    for query in [
        "",
        "from=2026-05-01T10:00:00Z",
        "to=now",
        "from=now&to=-1h",
        "all=true",
    ] {
        let (status, answer) = delete(&hourglass, "S1", query).await;
        assert_eq!(
            (status, &answer["code"]),
            (400, &json!("invalid_parameter")),
            "{query}"
        );
    }
}
