//! The page of a sensor: what is said of it and its newest readings, wherever
//! they are.

use serde_json::{Value, json};

use super::answers::{at, expect_problem, flushed, from_now, get, post, put, readings};
use crate::support::hourglass::{Hourglass, alone};
use crate::support::site::each_store;

/// The newest readings of its page.
async fn recent(hourglass: &Hourglass) -> Vec<(String, Value)> {
    let page = get(hourglass, "/v1/sensors/S1").await;
    readings(&json!({ "readings": page["recent"] }))
}

/// The newest 20 readings of the range.
async fn newest(hourglass: &Hourglass) -> Vec<(String, Value)> {
    readings(&get(hourglass, "/v1/sensors/S1/readings?order=desc&limit=20").await)
}

#[tokio::test]
async fn its_newest_readings_are_those_of_the_range_at_every_moment() {
    for site in each_store().await {
        let start = site.start();
        let hourglass = start.start();
        let reading = |n: u32| json!({ "sensorId": "S1", "ts": at(n * 400), "temp": n });
        // Over several hours, in no order, more than the page has.
        for chunk in [
            [20, 3, 11, 29, 0, 8],
            [25, 24, 23, 22, 21, 4],
            [1, 2, 5, 6, 7, 9],
        ] {
            post(&hourglass, &chunk.map(reading).into_iter().collect()).await;
            assert_eq!(recent(&hourglass).await, newest(&hourglass).await);
            flushed(&hourglass).await;
            assert_eq!(recent(&hourglass).await, newest(&hourglass).await);
        }
        let late = json!([
            { "sensorId": "S1", "ts": at(29 * 400), "hum": 7 },
            { "sensorId": "S1", "ts": at(10 * 400), "temp": 10 },
            { "sensorId": "S1", "ts": from_now(240), "temp": 99 },
            { "sensorId": "S1", "ts": at(25 * 400), "temp": 1000 },
            { "sensorId": "S1", "ts": at(26 * 400), "temp": 26 },
            { "sensorId": "S1", "ts": at(27 * 400), "temp": 27 },
        ]);
        post(&hourglass, &late).await;
        let expected = newest(&hourglass).await;
        assert_eq!(expected.len(), 20);
        let both = (at(29 * 400), json!({ "hum": 7.0, "temp": 29.0 }));
        assert_eq!(expected[1], both);
        assert_eq!(recent(&hourglass).await, expected);
        let hourglass = site.restart_from_the_store(hourglass, &start);
        assert_eq!(recent(&hourglass).await, expected);
    }
}

#[tokio::test]
async fn it_shows_what_is_said_what_is_sent_and_the_version() {
    for site in each_store().await {
        let hourglass = site.start().start();
        let plant = json!({ "name": "Plant", "city": "Bern" });
        put(&hourglass, "/v1/sites/plant", &plant).await;
        let said = json!({
            "name": "Boiler", "model": "SHT31", "units": { "temp": "°C" }, "site": "plant",
            "attributes": { "room": "5" }, "rawRetention": "9000d",
        });
        put(&hourglass, "/v1/sensors/S1", &said).await;
        let line = "m,sensor=S1,room=4b,fw=2.1 temp=1 1777629605".to_owned();
        assert_eq!(hourglass.post_as("text/plain", line).await.0, 202);
        for _ in ["buffered", "stored"] {
            let mut page = get(&hourglass, "/v1/sensors/S1").await;
            let members = page.as_object_mut().unwrap();
            let seen = members.remove("lastSeen").unwrap();
            assert!(seen.as_str().unwrap().parse::<jiff::Timestamp>().is_ok());
            let expected = json!({
                "sensorId": "S1", "name": "Boiler", "model": "SHT31", "units": { "temp": "°C" },
                "site": { "id": "plant", "name": "Plant", "city": "Bern" },
                "attributes": { "room": "5", "fw": "2.1" }, "attributesSet": ["room"],
                "rawRetention": "9000d",
                "recent": [{ "ts": at(5), "measures": { "temp": 1.0 } }], "complete": true,
            });
            assert_eq!(page, expected);
            flushed(&hourglass).await;
        }
        // What was got may be put again, and nothing is another's then.
        let page = get(&hourglass, "/v1/sensors/S1").await;
        put(&hourglass, "/v1/sensors/S1", &page).await;
        assert_eq!(get(&hourglass, "/v1/sensors/S1").await, page);
        let url = hourglass.url("/v1/sensors/S1");
        let got = hourglass.http().get(&url).send().await.unwrap();
        // What readings change does not change the version.
        let tag = got.headers()["etag"].clone();
        let change = |tag| {
            let request = hourglass.http().put(&url).header("if-match", tag);
            let request = request.header("content-type", "application/json");
            request.body("{}").send()
        };
        assert_eq!(change(tag.clone()).await.unwrap().status(), 200);
        assert_eq!(change(tag).await.unwrap().status(), 412);
    }
}

#[tokio::test]
async fn one_that_only_the_buffer_knows_has_a_page_and_an_unknown_one_has_none() {
    let (_dir, hourglass) = alone();
    let request = hourglass.http().get(hourglass.url("/v1/sensors/S1"));
    let detail = "there is no sensor `S1`: nothing was received from it, nor was it set up";
    expect_problem(request, 404, "unknown_sensor", detail).await;
    let ahead = from_now(240);
    post(
        &hourglass,
        &json!({ "sensorId": "S1", "ts": ahead, "temp": 1 }),
    )
    .await;
    let expected = [(ahead, json!({ "temp": 1.0 }))];
    assert_eq!(recent(&hourglass).await, expected);
    // Set up and never heard of.
    put(&hourglass, "/v1/sensors/S2", &json!({ "name": "x" })).await;
    let expected = json!({
        "sensorId": "S2", "name": "x", "attributes": {}, "attributesSet": [], "lastSeen": null,
        "recent": [], "complete": true,
    });
    assert_eq!(get(&hourglass, "/v1/sensors/S2").await, expected);
    let latest = json!({ "sensorId": "S2", "latest": null, "complete": true });
    assert_eq!(get(&hourglass, "/v1/sensors/S2/latest").await, latest);
}
