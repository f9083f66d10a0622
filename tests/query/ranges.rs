//! `from` and `to`: half-open, open, empty, relative, in every form.

use serde_json::json;

use super::answers::{at, flushed, from_now, get, instants, post};
use crate::support::site::{Site, each_store};

#[tokio::test]
async fn a_range_takes_its_beginning_and_leaves_its_end() {
    for site in each_store().await {
        let hourglass = site.start().start();
        let times = [
            "2026-05-01T10:00:00Z",
            "2026-05-01T10:00:00.000001Z",
            "2026-05-01T10:59:59.999999Z",
            "2026-05-01T11:00:00Z",
        ];
        let all: Vec<_> = times
            .iter()
            .map(|ts| json!({ "sensorId": "S1", "ts": ts, "temp": 1 }))
            .collect();
        post(&hourglass, &json!(all)).await;
        for _ in ["buffered or under way", "stored"] {
            for (from, to, inside) in [
                (times[0], times[3], &times[..3]),
                (times[0], times[0], &[]),
                (times[0], times[1], &times[..1]),
                (times[1], times[3], &times[1..3]),
                (times[3], "2026-05-01T11:00:00.000001Z", &times[3..]),
                ("2026-05-01T10:00:00.000002Z", times[2], &[]),
            ] {
                let path = format!("/v1/sensors/S1/readings?from={from}&to={to}");
                assert_eq!(instants(&get(&hourglass, &path).await), inside, "{path}");
                let path = format!("{path}&order=desc");
                let backwards: Vec<_> = inside.iter().rev().copied().collect();
                assert_eq!(instants(&get(&hourglass, &path).await), backwards, "{path}");
            }
            flushed(&hourglass).await;
        }
    }
}

#[tokio::test]
async fn an_hour_is_answered_whole_where_the_range_touches_it() {
    let site = Site::embedded().await;
    let hourglass = site.start().start();
    let readings: Vec<_> = [0, 1800, 3600, 7200]
        .map(|second| json!({ "sensorId": "S1", "ts": at(second), "temp": second }))
        .into();
    post(&hourglass, &json!(readings)).await;
    for (from, to, hours) in [
        ("2026-05-01T10:00:00Z", "2026-05-01T11:00:00Z", &[10][..]),
        ("2026-05-01T10:15:00Z", "2026-05-01T10:16:00Z", &[10]),
        (
            "2026-05-01T10:59:59.999999Z",
            "2026-05-01T11:00:00.000001Z",
            &[10, 11],
        ),
        ("2026-05-01T11:00:00Z", "2026-05-02T00:00:00Z", &[11, 12]),
        ("2026-05-01T10:15:00Z", "2026-05-01T10:15:00Z", &[]),
        ("2026-05-01T13:00:00Z", "2026-05-02T00:00:00Z", &[]),
    ] {
        let path = format!("/v1/sensors/S1/hourly?from={from}&to={to}");
        let answer = get(&hourglass, &path).await;
        let told = answer["hours"].as_array().unwrap().iter();
        let told: Vec<_> = told.map(|hour| hour["hour"].clone()).collect();
        let expected: Vec<_> = hours
            .iter()
            .map(|hour| json!(format!("2026-05-01T{hour}:00:00Z")))
            .collect();
        assert_eq!(told, expected, "{path}");
    }
}

#[tokio::test]
async fn open_ends_and_the_ends_of_the_calendar_take_everything() {
    for site in each_store().await {
        let hourglass = site.start().start();
        post(
            &hourglass,
            &json!([
                { "sensorId": "S1", "ts": "2000-01-01T00:00:00Z", "temp": 1 },
                { "sensorId": "S1", "ts": from_now(240), "temp": 2 },
            ]),
        )
        .await;
        for range in [
            "",
            "from=2000-01-01T00:00:00Z",
            "to=9999-12-31T23:59:59Z",
            "from=0001-01-01T00:00:00Z&to=9999-12-31T23:59:59.999999%2B00:00",
            "from=0000-01-01T00:00:00Z",
            "from=-0&to=99999999999",
        ] {
            let readings = get(&hourglass, &format!("/v1/sensors/S1/readings?{range}")).await;
            assert_eq!(instants(&readings).len(), 2, "{range}: {readings}");
            let hourly = get(&hourglass, &format!("/v1/sensors/S1/hourly?{range}")).await;
            assert_eq!(hourly["hours"].as_array().unwrap().len(), 2, "{range}");
        }
    }
}

#[tokio::test]
async fn one_instant_is_named_in_every_form() {
    let site = Site::embedded().await;
    let hourglass = site.start().start();
    post(
        &hourglass,
        &json!({ "sensorId": "S1", "ts": "2026-05-01T10:00:00Z", "temp": 1 }),
    )
    .await;
    for form in [
        "2026-05-01T10:00:00Z",
        "2026-05-01t10:00:00.000000999z",
        "2026-05-01T12:00:00%2B02:00",
        // An offset's plus that was not encoded arrives as a space.
        "2026-05-01T12:00:00+02:00",
        "1777629600",
        "1777629600.0000009",
        "1777629600000",
        "1777629600000000",
        "1777629600000000000",
    ] {
        let path = format!("/v1/sensors/S1/readings?from={form}&to=2026-05-01T10:00:00.000001Z");
        assert_eq!(instants(&get(&hourglass, &path).await).len(), 1, "{form}");
        let path = format!("/v1/sensors/S1/readings?to={form}");
        assert_eq!(instants(&get(&hourglass, &path).await).len(), 0, "{form}");
    }
}

#[tokio::test]
async fn now_and_times_before_now_are_counted_from_the_request() {
    let site = Site::embedded().await;
    let hourglass = site.start().start();
    let hour = 3_600_000;
    post(
        &hourglass,
        &json!([
            { "sensorId": "S1", "ageMs": 0, "temp": 0 },
            { "sensorId": "S1", "ageMs": 25 * hour, "temp": 25 },
            { "sensorId": "S1", "ageMs": 8 * 24 * hour, "temp": 192 },
            { "sensorId": "S1", "ts": from_now(240), "temp": -1 },
        ]),
    )
    .await;
    for (range, temps) in [
        ("from=-24h", &[0.0, -1.0][..]),
        ("from=-24h&to=now", &[0.0]),
        ("from=-1d&to=now", &[0.0]),
        ("from=-1440m&to=now", &[0.0]),
        ("from=-86400s&to=now", &[0.0]),
        ("from=-26h&to=now", &[25.0, 0.0]),
        ("from=-1w&to=-24h", &[25.0]),
        ("from=-2w&to=-1w", &[192.0]),
        ("from=now", &[-1.0]),
        ("to=-3w", &[]),
        ("from=now&to=now", &[]),
    ] {
        let path = format!("/v1/sensors/S1/readings?{range}");
        let answer = get(&hourglass, &path).await;
        let told = answer["readings"].as_array().unwrap().iter();
        let told: Vec<_> = told
            .map(|r| r["measures"]["temp"].as_f64().unwrap())
            .collect();
        assert_eq!(told, temps, "{range}");
    }
}

#[tokio::test]
async fn a_sensor_that_nobody_heard_of_has_empty_lists() {
    let site = Site::embedded().await;
    let hourglass = site.start().start();
    assert_eq!(
        get(&hourglass, "/v1/sensors/nobody/readings").await,
        json!({ "sensorId": "nobody", "readings": [], "next": null, "complete": true })
    );
    assert_eq!(
        get(&hourglass, "/v1/sensors/nobody/hourly").await,
        json!({ "sensorId": "nobody", "hours": [], "complete": true })
    );
    assert_eq!(
        get(&hourglass, "/v1/sensors/nobody/latest").await,
        json!({ "sensorId": "nobody", "latest": null, "complete": true })
    );
    assert_eq!(
        get(&hourglass, "/v1/sensors").await,
        json!({ "sensors": [], "next": null, "complete": true })
    );
}
