//! Totals of a site by hour: those of its sensors together, wherever their
//! readings are.

use serde_json::{Value, json};

use super::answers::{at, expect_problem, flushed, from_now, get, post, put};
use crate::support::hourglass::Start;
use crate::support::site::each_store;

const RANGE: &str = "from=2026-05-01T10:00:00Z&to=2026-05-01T13:00:00Z";

#[tokio::test]
async fn the_sensors_of_a_site_are_added_up_by_hour() {
    for site in each_store().await {
        let start = site.start();
        let hourglass = start.start();
        for id in ["plant", "other"] {
            put(&hourglass, &format!("/v1/sites/{id}"), &json!({})).await;
        }
        for (id, at_site) in [("S1", "plant"), ("S2", "plant"), ("S3", "other")] {
            let body = json!({ "site": at_site });
            put(&hourglass, &format!("/v1/sensors/{id}"), &body).await;
        }
        // At the site, and never heard of.
        put(&hourglass, "/v1/sensors/S4", &json!({ "site": "plant" })).await;
        let reading = |id: &str, second: u32, temp: i32| json!({ "sensorId": id, "ts": at(second), "temp": temp });
        let stored = json!([
            reading("S1", 10, 1),
            reading("S1", 20, 2),
            reading("S1", 3600, 5),
            reading("S2", 10, 4),
            reading("S3", 10, 1000),
        ]);
        post(&hourglass, &stored).await;
        flushed(&hourglass).await;
        // Late ones, one of them a copy.
        let late = json!([reading("S2", 30, -1), reading("S1", 10, 1)]);
        post(&hourglass, &late).await;
        let expected = json!({
            "siteId": "plant",
            "sensors": 3,
            "hours": [
                {
                    "hour": at(0), "sensors": 2, "count": 4,
                    "measures": {
                        "temp": { "count": 4, "sum": 6.0, "avg": 1.5, "min": -1.0, "max": 4.0 },
                    },
                },
                {
                    "hour": at(3600), "sensors": 1, "count": 1,
                    "measures": {
                        "temp": { "count": 1, "sum": 5.0, "avg": 5.0, "min": 5.0, "max": 5.0 },
                    },
                },
            ],
            "complete": true,
        });
        let path = format!("/v1/sites/plant/hourly?{RANGE}");
        assert_eq!(get(&hourglass, &path).await, expected);
        flushed(&hourglass).await;
        assert_eq!(get(&hourglass, &path).await, expected);
        let hourglass = site.restart_from_the_store(hourglass, &start);
        assert_eq!(get(&hourglass, &path).await, expected);
        let later = "/v1/sites/plant/hourly?from=2026-05-02T00:00:00Z&to=2026-05-02T00:00:00Z";
        let empty = json!({ "siteId": "plant", "sensors": 3, "hours": [], "complete": true });
        assert_eq!(get(&hourglass, later).await, empty);
    }
}

#[tokio::test]
async fn a_range_without_an_end_ends_where_readings_may_end() {
    let dir = tempfile::tempdir().unwrap();
    let start = Start::on(dir.path()).set("QUERY__HOURS_MAX", "10");
    let hourglass = start.start();
    put(&hourglass, "/v1/sites/plant", &json!({})).await;
    put(&hourglass, "/v1/sensors/S1", &json!({ "site": "plant" })).await;
    let now = json!({ "sensorId": "S1", "ts": from_now(0), "temp": 1 });
    post(&hourglass, &now).await;
    let answer = get(&hourglass, "/v1/sites/plant/hourly?from=-1h").await;
    let hours = answer["hours"].as_array().unwrap();
    let counts = hours.iter().map(|hour| hour["count"].as_u64().unwrap());
    assert_eq!(counts.sum::<u64>(), 1);
    for (query, status, code, detail) in [
        ("from=-8h&to=now", 200, "", Value::Null),
        (
            "from=2026-05-01T00:00:00Z&to=2026-05-01T11:00:00Z",
            400,
            "invalid_parameter",
            "more than 0 sensors over 11 hours are more hours than 10 (query.hours_max); ask for a \
             shorter range"
                .into(),
        ),
        (
            "",
            400,
            "invalid_parameter",
            "say `from` when asking for many sensors: ?from=-24h".into(),
        ),
    ] {
        let path = format!("/v1/sites/plant/hourly?{query}");
        if status == 200 {
            get(&hourglass, &path).await;
            continue;
        }
        let request = hourglass.http().get(hourglass.url(&path));
        expect_problem(request, status, code, detail.as_str().unwrap()).await;
    }
    let request = hourglass
        .http()
        .get(hourglass.url("/v1/sites/nowhere/hourly?from=-1h"));
    expect_problem(request, 404, "unknown_site", "there is no site `nowhere`").await;
}
