//! C15 to C18: a time is read exactly or refused with its reason; what has none
//! takes that of its receipt and nobody else's.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::builders::readings;
use crate::support::hourglass::{Hourglass, Start};

/// This machine's clock in microseconds since the epoch.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_micros()).unwrap()
}

fn micros(ts: &Value) -> i64 {
    let timestamp: jiff::Timestamp = ts.as_str().unwrap().parse().unwrap();
    timestamp.as_microsecond()
}

/// Posts one item that must be refused for its time: code and detail.
async fn refused(hourglass: &Hourglass, query: &str, item: &str) -> (String, String) {
    let request = hourglass
        .http()
        .post(hourglass.url(&format!("/v1/readings{query}")))
        .header("content-type", "application/json");
    let response = request.body(item.to_owned()).send().await.unwrap();
    assert_eq!(response.status(), 422, "{item}");
    let answer: Value = response.json().await.unwrap();
    let error = &answer["errors"][0];
    let text = |field: &str| error[field].as_str().unwrap().to_owned();
    (text("code"), text("detail"))
}

#[tokio::test]
async fn c15_a_time_beyond_its_unit_is_refused_and_never_another_date() {
    let dir = TempDir::new().unwrap();
    let hourglass = Start::on(dir.path()).start();
    for (query, ts, code) in [
        ("", "9223372036854775807", "too_far_in_future"),
        ("", "9223372036854775808", "too_far_in_future"),
        ("", "18446744073709551615", "too_far_in_future"),
        ("", "-9223372036854775808", "too_old"),
        ("", "1e30", "too_far_in_future"),
        ("", "-1e30", "too_old"),
        (
            "",
            "99999999999999999999999999999999999999",
            "too_far_in_future",
        ),
        ("?unit=s", "1777629600000", "too_far_in_future"),
        ("?unit=s", "9223372036854775807", "too_far_in_future"),
        ("?unit=ms", "9223372036854775807", "too_far_in_future"),
        ("?unit=us", "9223372036854775807", "too_far_in_future"),
        ("?unit=ns", "1777629600", "too_old"),
        ("?unit=s", "18446744075487180", "too_far_in_future"),
    ] {
        let item = format!(r#"{{"sensorId":"S1","ts":{ts},"temp":1}}"#);
        let (told, detail) = refused(&hourglass, query, &item).await;
        assert_eq!(told, code, "{ts} {query}: {detail}");
    }
    let item = r#"{"sensorId":"S1","ts":1777629600000,"temp":1}"#;
    let (_, detail) = refused(&hourglass, "?unit=s", item).await;
    assert!(detail.contains("did you mean unit=ms?"), "{detail}");
    assert!(readings(&hourglass, "S1").await.is_empty());
}

#[tokio::test]
async fn c16_an_item_without_a_time_takes_no_neighbours() {
    let dir = TempDir::new().unwrap();
    let hourglass = Start::on(dir.path()).start();
    let items = [
        r#"{"sensorId":"S1","ts":"2026-05-01T10:00:00Z","temp":1}"#,
        r#"{"sensorId":"S1","temp":2}"#,
        r#"{"sensorId":"S1","ts":"2026-05-01T11:00:00Z","temp":3}"#,
        r#"{"temp":4,"sensorId":"S1"}"#,
        r#"{"ts":"2026-05-01T12:00:00Z","temp":5}"#,
        r#"{"sensorId":"S2","ts":"nonsense","temp":6}"#,
        r#"{"sensorId":"S2","temp":7}"#,
    ];
    let array = format!("[{}]", items.join(","));
    for (form, body) in [
        ("application/json", array),
        (
            "application/x-ndjson",
            items.join("\n").replace("S1", "L1").replace("S2", "L2"),
        ),
    ] {
        let before = now();
        let (status, answer) = hourglass.post_as(form, body).await;
        let after = now();
        assert_eq!(status, 202, "{answer}");
        assert_eq!(
            answer["rejectedByCode"],
            json!({ "missing_sensor_id": 1, "invalid_time": 1 })
        );
        let (one, two) = match form {
            "application/json" => ("S1", "S2"),
            _ => ("L1", "L2"),
        };
        let readings_one = readings(&hourglass, one).await;
        let values: Vec<&Value> = readings_one
            .iter()
            .map(|r| &r["measures"]["temp"])
            .collect();
        assert_eq!(values, [1.0, 3.0, 2.0, 4.0]);
        let stamped = readings(&hourglass, two).await;
        assert_eq!(stamped.len(), 1);
        for reading in readings_one[2..].iter().chain(&stamped) {
            // Stamps of a process are a microsecond apart.
            let at = micros(&reading["ts"]);
            assert!((before..=after + 10).contains(&at), "{before} {at} {after}");
        }
    }
}

#[tokio::test]
async fn c17_a_device_without_a_clock_sends_an_age_or_nothing() {
    let dir = TempDir::new().unwrap();
    let hourglass = Start::on(dir.path()).start();
    for (sensor, field, age) in [
        ("none", "", 0),
        ("zero", r#""ageMs":0,"#, 0),
        ("some", r#""ageMs":4200,"#, 4_200_000),
        ("finer", r#""ageMs":0.25,"#, 250),
        ("days", r#""ageMs":864000000,"#, 864_000_000_000),
    ] {
        let item = format!(r#"{{"sensorId":"{sensor}",{field}"temp":1}}"#);
        let before = now();
        let (status, answer) = hourglass.post_as("application/json", item).await;
        let after = now();
        assert_eq!(status, 202, "{answer}");
        let server_time = micros(&answer["serverTime"]);
        assert!((before..=after + 10).contains(&server_time));
        let readings = readings(&hourglass, sensor).await;
        assert_eq!(readings.len(), 1);
        let received = micros(&readings[0]["ts"]) + age;
        assert!((before..=after + 10).contains(&received), "{sensor}");
    }
    for (item, code) in [
        (r#"{"sensorId":"S1","ageMs":-1,"temp":1}"#, "invalid_time"),
        (
            r#"{"sensorId":"S1","ageMs":"4200","temp":1}"#,
            "invalid_time",
        ),
        (r#"{"sensorId":"S1","ageMs":null,"temp":1}"#, "invalid_time"),
        (r#"{"sensorId":"S1","ageMs":1e18,"temp":1}"#, "too_old"),
        (
            r#"{"sensorId":"S1","ageMs":1,"ts":1777629600,"temp":1}"#,
            "invalid_time",
        ),
    ] {
        let (told, detail) = refused(&hourglass, "", item).await;
        assert_eq!(told, code, "{item}: {detail}");
    }
}

#[tokio::test]
async fn c18_a_far_future_time_is_refused_and_the_server_goes_on() {
    let dir = TempDir::new().unwrap();
    let hourglass = Start::on(dir.path()).start();
    let hour_ahead = format!("{}", now() + 3_600_000_000);
    for (ts, code) in [
        (r#""2262-04-11T23:47:17Z""#, "too_far_in_future"),
        (r#""9999-12-31T23:59:59.999999Z""#, "too_far_in_future"),
        (r#""9999-12-31T23:59:59-23:59""#, "too_far_in_future"),
        (hour_ahead.as_str(), "too_far_in_future"),
        (r#""0000-01-01T00:00:00Z""#, "too_old"),
        (r#""0001-01-01T00:00:00+23:59""#, "too_old"),
        (r#""1999-12-31T23:59:59.999999Z""#, "too_old"),
        (r#""10000-01-01T00:00:00Z""#, "invalid_time"),
    ] {
        let item = format!(r#"{{"sensorId":"S1","ts":{ts},"temp":1}}"#);
        let (told, detail) = refused(&hourglass, "", &item).await;
        assert_eq!(told, code, "{ts}: {detail}");
        let bound = match code {
            "too_old" => "ingest.min_time",
            "too_far_in_future" => "ingest.max_future",
            _ => "RFC 3339",
        };
        assert!(detail.contains(bound), "{detail}");
    }
    let within = [
        r#""2000-01-01T00:00:00Z""#.to_owned(),
        (now() + 240_000_000).to_string(),
    ];
    for ts in &within {
        let item = format!(r#"{{"sensorId":"S1","ts":{ts},"temp":1}}"#);
        let (status, answer) = hourglass.post_as("application/json", item).await;
        assert_eq!(status, 202, "{answer}");
    }
    assert_eq!(readings(&hourglass, "S1").await.len(), within.len());
    assert!(hourglass.stop().0.success());
}
