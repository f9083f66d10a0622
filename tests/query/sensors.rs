//! `/v1/sensors`: all of them, by id, wherever their readings are.

use serde_json::{Value, json};

use super::answers::{at, expect_problem, flushed, from_now, get, post};
use crate::support::hourglass::Hourglass;
use crate::support::site::{Site, each_store};

/// The ids of all pages of `limit`.
async fn ids_by_page(hourglass: &Hourglass, limit: usize) -> Vec<Vec<String>> {
    let url = hourglass.url("/v1/sensors");
    let mut pages = Vec::new();
    let mut cursor = None;
    loop {
        let mut query = vec![("limit", limit.to_string())];
        query.extend(cursor.map(|cursor| ("cursor", cursor)));
        let url = reqwest::Url::parse_with_params(&url, query).unwrap();
        let page: Value = hourglass
            .http()
            .get(url)
            .send()
            .await
            .unwrap()
            .json()
            .await
            .unwrap();
        let sensors = page["sensors"].as_array().unwrap().iter();
        let ids = sensors.map(|sensor| sensor["sensorId"].as_str().unwrap().to_owned());
        pages.push(ids.collect::<Vec<_>>());
        cursor = page["next"].as_str().map(str::to_owned);
        if cursor.is_none() {
            return pages;
        }
    }
}

#[tokio::test]
async fn pages_list_the_sensors_of_store_and_buffer_once_each_by_id() {
    for site in each_store().await {
        let hourglass = site.start().start();
        let stored = [
            "S1", "S10", "S2", "a b", "a&b=c", "a+b", "é", "%41", "#", "S/3",
        ];
        let buffered = ["S1", "S11", "A", "zz", "🌡", "a|b"];
        let reading = |id: &&str, ts: &str| json!({ "sensorId": id, "ts": ts, "temp": 1 });
        post(
            &hourglass,
            &stored.iter().map(|id| reading(id, &at(0))).collect(),
        )
        .await;
        flushed(&hourglass).await;
        let ahead = from_now(240);
        post(
            &hourglass,
            &buffered.iter().map(|id| reading(id, &ahead)).collect(),
        )
        .await;
        let mut ids: Vec<&str> = stored.iter().chain(&buffered[1..]).copied().collect();
        ids.sort_unstable();
        for limit in [1, 2, 7, ids.len() - 1, ids.len(), 10_000] {
            let pages = ids_by_page(&hourglass, limit).await;
            assert_eq!(pages.concat(), ids, "by {limit}");
            assert_eq!(pages.len(), ids.len().div_ceil(limit), "by {limit}");
        }
    }
}

#[tokio::test]
async fn a_sensor_was_last_seen_when_its_reading_was_received() {
    for site in each_store().await {
        let hourglass = site.start().start();
        let last_seen = async || {
            let answer = get(&hourglass, "/v1/sensors").await;
            let text = answer["sensors"][0]["lastSeen"].as_str().unwrap();
            text.parse::<jiff::Timestamp>().unwrap()
        };
        let mut seen = Vec::new();
        // The last of them is a copy: it was heard of all the same.
        for second in [500, 400, 400] {
            let before = jiff::Timestamp::now();
            post(
                &hourglass,
                &json!({ "sensorId": "S1", "ts": at(second), "temp": 1 }),
            )
            .await;
            let after = jiff::Timestamp::now();
            let told = last_seen().await;
            // It is told to the millisecond.
            assert!(before.as_millisecond() <= told.as_millisecond() && told <= after);
            flushed(&hourglass).await;
            seen.push(told);
        }
        assert!(seen.is_sorted());
        let (status, _) = hourglass.stop();
        assert!(status.success());
        let hourglass = site.start().start();
        let answer = get(&hourglass, "/v1/sensors").await;
        let text = answer["sensors"][0]["lastSeen"].as_str().unwrap();
        assert_eq!(text.parse::<jiff::Timestamp>().unwrap(), seen[2]);
    }
}

#[tokio::test]
async fn a_bad_cursor_or_limit_is_told() {
    let site = Site::embedded().await;
    let hourglass = site.start().start();
    for (query, detail) in [
        (
            "cursor=",
            "`cursor` is what `next` of the page before says: a sensor id must not be blank",
        ),
        (
            "cursor=a%00",
            "`cursor` is what `next` of the page before says: a sensor id must not contain \
             control characters",
        ),
        ("limit=0", "`limit` is a whole number from 1 on, not `0`"),
        ("limit=-1", "`limit` is a whole number from 1 on, not `-1`"),
        (
            "from=now",
            "the parameter `from` is unknown; known here are limit, cursor, site, silent_for, \
             attr.KEY, attr_prefix.KEY, attr_min.KEY, attr_max.KEY",
        ),
    ] {
        let request = hourglass
            .http()
            .get(hourglass.url(&format!("/v1/sensors?{query}")));
        expect_problem(request, 400, "invalid_parameter", detail).await;
    }
}
