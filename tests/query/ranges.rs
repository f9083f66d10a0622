//! Ranges are half-open, whatever form their ends have.

use serde_json::{Value, json};
use tempfile::TempDir;

use super::fixture::{OLD, Site, post, quiet};

#[tokio::test]
async fn a_range_begins_with_its_start_and_ends_before_its_end() {
    let site = Site::start().await;
    let all = &site.instants;
    assert_eq!(site.instants("").await, *all);
    // Every pair of instants, both ends being readings themselves.
    for from in (0..all.len()).step_by(3) {
        for to in from..all.len() {
            let query = format!("?from={}&to={}", all[from], all[to]);
            assert_eq!(site.instants(&query).await, all[from..to], "{query}");
        }
    }
    for at in 0..all.len() {
        assert_eq!(
            site.instants(&format!("?from={}", all[at])).await,
            all[at..]
        );
        assert_eq!(site.instants(&format!("?to={}", all[at])).await, all[..at]);
    }
}

#[tokio::test]
async fn hours_are_those_that_the_range_touches() {
    let site = Site::start().await;
    let hours = async |from: &str, to: &str| -> Vec<String> {
        let path = format!("/v1/sensors/S1/hourly?from={from}&to={to}");
        let (status, answer) = site.hourglass.get(&path).await;
        assert_eq!(status, 200, "{answer}");
        let hours = answer["hours"].as_array().unwrap();
        let hour = |hour: &Value| hour["hour"].as_str().unwrap()[11..13].to_owned();
        hours.iter().map(hour).collect()
    };
    let at = |time: &str| format!("2026-05-01T{time}Z");
    for (from, to, expected) in [
        ("10:00:00", "11:00:00", &["10"][..]),
        ("10:00:00", "11:00:00.000001", &["10", "11"]),
        ("10:59:59.999999", "12:30:00", &["10", "11", "12"]),
        ("11:00:00", "11:00:00", &[]),
        ("13:00:00", "14:00:00", &[]),
        ("09:00:00", "10:00:00", &[]),
    ] {
        assert_eq!(hours(&at(from), &at(to)).await, expected, "{from} {to}");
    }
}

#[tokio::test]
async fn ends_are_rfc_3339_numbers_of_any_unit_now_or_so_long_ago() {
    let site = Site::start().await;
    let (second, all) = (OLD + 3600, &site.instants);
    for from in [
        format!("{second}"),
        format!("{second}.0"),
        format!("{second}000"),
        format!("{second}000000"),
        format!("{second}000000000"),
        "2026-05-01T11:00:00Z".to_owned(),
        "2026-05-01T13:00:00%2B02:00".to_owned(),
        "2026-05-01T13:00:00+02:00".to_owned(),
        "2026-05-01T11:00:00.000000999Z".to_owned(),
    ] {
        assert_eq!(
            site.instants(&format!("?from={from}")).await,
            all[7..],
            "{from}"
        );
        assert_eq!(
            site.instants(&format!("?to={from}")).await,
            all[..7],
            "{from}"
        );
    }
    assert_eq!(site.instants("?to=now").await, all[..21]);
    assert_eq!(site.instants("?from=now").await, all[21..]);
}

#[tokio::test]
async fn a_relative_start_counts_back_from_now() {
    let dir = TempDir::new().unwrap();
    let hourglass = quiet(&dir).start();
    let minutes = |count: i64| count * 60_000;
    let ages = [
        0,
        minutes(30),
        minutes(90),
        minutes(25 * 60),
        minutes(8 * 24 * 60),
    ];
    let item = |age: &i64| json!({ "sensorId": "S1", "ageMs": age, "temp": age });
    post(&hourglass, &ages.iter().map(item).collect()).await;
    for (from, count) in [
        ("-60s", 1),
        ("-31m", 2),
        ("-1h", 2),
        ("-24h", 3),
        ("-2d", 4),
        ("-1w", 4),
        ("-2w", 5),
    ] {
        let path = format!("/v1/sensors/S1/readings?from={from}&to=now");
        let (_, answer) = hourglass.get(&path).await;
        assert_eq!(
            answer["readings"].as_array().unwrap().len(),
            count,
            "{from}"
        );
    }
    let (_, answer) = hourglass.get("/v1/sensors/S1/readings?to=-24h").await;
    assert_eq!(answer["readings"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn an_unknown_sensor_and_an_empty_range_give_empty_lists() {
    let site = Site::start().await;
    let (status, answer) = site.hourglass.get("/v1/sensors/S2/readings").await;
    let empty = json!({ "sensorId": "S2", "readings": [], "next": null, "complete": true });
    assert_eq!((status, answer), (200, empty));
    let (status, answer) = site.hourglass.get("/v1/sensors/S2/hourly").await;
    let empty = json!({ "sensorId": "S2", "hours": [], "complete": true });
    assert_eq!((status, answer), (200, empty));
    let (status, answer) = site.hourglass.get("/v1/sensors/S2/latest").await;
    let empty = json!({ "sensorId": "S2", "latest": null, "complete": true });
    assert_eq!((status, answer), (200, empty));
    for (format, empty) in [("ndjson", ""), ("csv", "ts\r\n")] {
        let path = format!("/v1/sensors/S2/readings?format={format}");
        assert_eq!(
            site.hourglass.get_text(&path).await,
            (200, empty.to_owned())
        );
    }
    let at = &site.instants[3];
    assert!(
        site.instants(&format!("?from={at}&to={at}"))
            .await
            .is_empty()
    );
    assert!(
        site.instants("?from=2026-05-02T00:00:00Z&to=2026-05-03T00:00:00Z")
            .await
            .is_empty()
    );
}
