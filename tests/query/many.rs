//! Many sensors in one request: the same answers as one by one, in the order
//! asked for.

use serde_json::{Value, json};

use super::answers::{at, expect_problem, flushed, from_now, get, post};
use crate::support::hourglass::Hourglass;
use crate::support::site::{Site, each_store};

const RANGE: &str = "from=2026-05-01T10:00:00Z&to=2026-05-01T13:00:00Z";

async fn get_one(hourglass: &Hourglass, id: &str, what: &str) -> Value {
    let mut answer = get(hourglass, &format!("/v1/sensors/{id}/{what}")).await;
    answer.as_object_mut().unwrap().remove("complete");
    answer
}

#[tokio::test]
async fn many_sensors_are_answered_as_one_by_one() {
    for site in each_store().await {
        let hourglass = site.start().start();
        let ids = ["S1", "a/b", "a|b", "50%", "only the buffer", "nobody"];
        let reading =
            |id: &str, n: u32| json!({ "sensorId": id, "ts": at(n * 600), "temp": n, "n": 1 });
        let stored = ids[..4]
            .iter()
            .flat_map(|id| (0..20).map(move |n| reading(id, n)));
        post(&hourglass, &stored.collect()).await;
        flushed(&hourglass).await;
        let buffered = json!([
            { "sensorId": ids[4], "ts": from_now(200), "temp": 7 },
            { "sensorId": "S1", "ts": from_now(200), "temp": 8 },
        ]);
        post(&hourglass, &buffered).await;
        let asked = [
            "nobody",
            "only+the+buffer",
            "50%25",
            "S1",
            "a/b",
            "S1",
            "a%7Cb",
        ];
        let asked = asked.map(|id| format!("sensor={id}")).join("&");
        let order = [
            "nobody",
            "only%20the%20buffer",
            "50%25",
            "S1",
            "a%2Fb",
            "a%7Cb",
        ];

        let mut expected = Vec::new();
        for id in order {
            expected.push(get_one(&hourglass, id, "latest").await);
        }
        let answer = get(&hourglass, &format!("/v1/latest?{asked}")).await;
        assert_eq!(answer, json!({ "sensors": expected, "complete": true }));
        assert_eq!(answer["sensors"][0]["latest"], Value::Null);
        assert_eq!(answer["sensors"][1]["latest"]["measures"]["temp"], 7.0);

        for range in [RANGE, "from=2026-05-01T11:30:00Z"] {
            let mut expected = Vec::new();
            for id in order {
                expected.push(get_one(&hourglass, id, &format!("hourly?{range}")).await);
            }
            let answer = get(&hourglass, &format!("/v1/hourly?{asked}&{range}")).await;
            assert_eq!(answer, json!({ "sensors": expected, "complete": true }));
        }
    }
}

#[tokio::test]
async fn an_hour_says_count_sum_average_least_and_most_of_each_measure() {
    for site in each_store().await {
        let hourglass = site.start().start();
        post(
            &hourglass,
            &json!([
                { "sensorId": "S1", "ts": at(0), "temp": 24.5, "hum": 40 },
                { "sensorId": "S1", "ts": at(1), "temp": -3.5 },
            ]),
        )
        .await;
        flushed(&hourglass).await;
        post(
            &hourglass,
            &json!({ "sensorId": "S1", "ts": at(2), "temp": 9 }),
        )
        .await;
        let expected = json!([{
            "sensorId": "S1",
            "hours": [{
                "hour": "2026-05-01T10:00:00Z",
                "count": 3,
                "measures": {
                    "temp": { "count": 3, "sum": 30.0, "avg": 10.0, "min": -3.5, "max": 24.5 },
                    "hum": { "count": 1, "sum": 40.0, "avg": 40.0, "min": 40.0, "max": 40.0 },
                },
            }],
        }]);
        for _ in ["buffered or under way", "stored"] {
            let answer = get(&hourglass, &format!("/v1/hourly?sensor=S1&{RANGE}")).await;
            assert_eq!(answer["sensors"], expected);
            flushed(&hourglass).await;
        }
    }
}

#[tokio::test]
async fn more_than_one_answer_may_hold_is_refused_with_the_bound() {
    let site = Site::embedded().await;
    let start = site.start().set("QUERY__SENSORS_MAX", "3");
    let hourglass = start.set("QUERY__HOURS_MAX", "48").start();
    let get = |path: &str| hourglass.http().get(hourglass.url(path));
    let detail = "4 sensors are more than the 3 that one request may name (query.sensors_max); \
                  ask in several requests";
    for path in ["/v1/latest?", "/v1/hourly?from=-1h&"] {
        let path = format!("{path}sensor=a&sensor=b&sensor=c&sensor=d");
        expect_problem(get(&path), 400, "invalid_parameter", detail).await;
    }
    let detail = "2 sensors over 25 hours are 50 hours, more than 48 (query.hours_max); ask for \
                  less at once";
    let path = "/v1/hourly?sensor=a&sensor=b&from=2026-05-01T10:00:00Z&to=2026-05-02T11:00:00Z";
    expect_problem(get(path), 400, "invalid_parameter", detail).await;
    // Naming a sensor again asks for no more, and hours to come do not count.
    for path in [
        "/v1/latest?sensor=a&sensor=b&sensor=a&sensor=c",
        "/v1/hourly?sensor=a&sensor=b&from=2026-05-01T10:00:00Z&to=2026-05-02T10:00:00Z",
        "/v1/hourly?sensor=a&from=-24h&to=9999-12-31T23:59:59Z",
        "/v1/hourly?sensor=a&from=9000-01-01T00:00:00Z",
    ] {
        assert_eq!(get(path).send().await.unwrap().status(), 200, "{path}");
    }
}
