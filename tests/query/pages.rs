//! `limit`, `cursor` and `order`: pages join to the whole, without a gap and
//! without a repetition.

use std::collections::BTreeSet;

use mongodb::bson::{Document, doc};
use serde_json::{Value, json};

use super::answers::{at, flushed, from_now, get, instants, post, readings};
use crate::support::hourglass::Hourglass;
use crate::support::site::{Site, each_store};

/// Follows `next` to the end: the pages.
async fn pages(hourglass: &Hourglass, path: &str) -> Vec<Value> {
    let mut pages: Vec<Value> = Vec::new();
    loop {
        let next = pages.last().map(|page| page["next"].clone());
        let path = match next {
            None => path.to_owned(),
            Some(Value::String(next)) => format!("{path}&cursor={next}"),
            Some(_) => return pages,
        };
        pages.push(get(hourglass, &path).await);
    }
}

/// Readings in the store and in the buffer, some instants in both.
async fn stored_and_buffered(hourglass: &Hourglass) -> Vec<String> {
    let stored = (0..120).map(|n| at(n * 97 % 10_800));
    let mut times: Vec<String> = stored.collect();
    let reading = |ts: &String| json!({ "sensorId": "S1", "ts": ts, "temp": 1.5 });
    post(hourglass, &times.iter().map(reading).collect()).await;
    flushed(hourglass).await;
    let ahead: Vec<String> = (0..30).map(|n| from_now(60 + n * 5)).collect();
    post(hourglass, &ahead.iter().map(reading).collect()).await;
    // Another measure of instants that are stored, and a copy of some.
    let late = times.iter().step_by(7);
    let late = late.map(|ts| json!({ "sensorId": "S1", "ts": ts, "humidity": 40 }));
    post(hourglass, &late.collect()).await;
    post(hourglass, &times.iter().step_by(5).map(reading).collect()).await;
    times.extend(ahead);
    times.sort();
    times
}

#[tokio::test]
async fn pages_join_to_the_whole_in_both_orders() {
    for site in each_store().await {
        let hourglass = site.start().start();
        let mut times = stored_and_buffered(&hourglass).await;
        for order in ["asc", "desc"] {
            let path = format!("/v1/sensors/S1/readings?order={order}");
            let whole = get(&hourglass, &path).await;
            assert_eq!(whole["next"], Value::Null);
            assert_eq!(instants(&whole), times);
            for limit in [1, 7, 50, 149, 150, 151] {
                let pages = pages(&hourglass, &format!("{path}&limit={limit}")).await;
                let joined: Vec<_> = pages.iter().flat_map(readings).collect();
                assert_eq!(joined, readings(&whole), "{order} by {limit}");
                let sizes = pages.iter().map(|page| readings(page).len());
                assert!(sizes.clone().all(|size| size <= limit));
                assert_eq!(
                    sizes.len(),
                    times.len().div_ceil(limit),
                    "{order} by {limit}"
                );
            }
            times.reverse();
        }
    }
}

#[tokio::test]
async fn pages_stay_inside_their_range_and_keep_their_measures() {
    for site in each_store().await {
        let hourglass = site.start().start();
        stored_and_buffered(&hourglass).await;
        for order in ["asc", "desc"] {
            let path = format!(
                "/v1/sensors/S1/readings?measure=humidity&order={order}\
             &from=2026-05-01T10:10:00Z&to=2026-05-01T12:30:00Z"
            );
            let whole = get(&hourglass, &path).await;
            assert!(instants(&whole).len() > 10, "{whole}");
            let pages = pages(&hourglass, &format!("{path}&limit=4")).await;
            let joined: Vec<_> = pages.iter().flat_map(readings).collect();
            assert_eq!(joined, readings(&whole));
            assert!(
                joined
                    .iter()
                    .all(|(_, m)| *m == json!({ "humidity": 40.0 }))
            );
        }
    }
}

/// Late measures lie in other parts than their instants.
#[tokio::test]
async fn pages_join_over_the_parts_of_an_hour() {
    let site = Site::mongodb().await;
    let start = site.start().set("STORE__PART_BYTES_MAX", "64KiB");
    let hourglass = start.start();
    let ts = |n: u32| {
        format!(
            "2026-05-01T10:{:02}:{:02}.{}Z",
            n / 100 % 60,
            n % 60,
            1 + n / 60 % 9
        )
    };
    let times: BTreeSet<String> = (0..5000).map(ts).collect();
    let reading = |ts: &String| json!({ "sensorId": "S1", "ts": ts, "temp": 21.25 });
    post(&hourglass, &times.iter().rev().map(reading).collect()).await;
    flushed(&hourglass).await;
    let late = times.iter().step_by(3);
    let late = late.map(|ts| json!({ "sensorId": "S1", "ts": ts, "hum": 40 }));
    post(&hourglass, &late.collect()).await;
    flushed(&hourglass).await;
    let database = site.database().open().await;
    let parts = database.collection::<Document>("buckets");
    assert!(parts.count_documents(doc! {}).await.unwrap() > 2);

    let measures = |at: usize| match at % 3 {
        0 => json!({ "temp": 21.25, "hum": 40.0 }),
        _ => json!({ "temp": 21.25 }),
    };
    let expected = times.iter().enumerate();
    let mut expected: Vec<_> = expected
        .map(|(at, ts)| (ts.clone(), measures(at)))
        .collect();
    for order in ["asc", "desc"] {
        let path = format!("/v1/sensors/S1/readings?limit=999&order={order}");
        let pages = pages(&hourglass, &path).await;
        assert_eq!(
            pages.iter().flat_map(readings).collect::<Vec<_>>(),
            expected
        );
        expected.reverse();
    }
}

#[tokio::test]
async fn a_cursor_goes_on_though_readings_came_in_between() {
    let site = Site::embedded().await;
    let hourglass = site.start().start();
    let reading = |second| json!({ "sensorId": "S1", "ts": at(second), "temp": second });
    post(&hourglass, &(0..10).map(|n| reading(n * 10)).collect()).await;
    let path = "/v1/sensors/S1/readings?limit=5";
    let first = get(&hourglass, path).await;
    let cursor = first["next"].as_str().unwrap();
    assert_eq!(cursor, at(40));
    // One before the cursor and one behind it.
    post(&hourglass, &json!([reading(5), reading(45)])).await;
    let second = get(&hourglass, &format!("{path}&cursor={cursor}")).await;
    let expected: Vec<_> = [45, 50, 60, 70, 80].into_iter().map(at).collect();
    assert_eq!(instants(&second), expected);
    // Behind the end and before the beginning there is nothing.
    for query in [
        "cursor=2026-05-02T00:00:00Z",
        "order=desc&cursor=2026-04-30T00:00:00Z",
    ] {
        let answer = get(&hourglass, &format!("/v1/sensors/S1/readings?{query}")).await;
        assert_eq!(instants(&answer), [""; 0], "{query}");
    }
}

#[tokio::test]
async fn only_json_has_a_limit_of_its_own() {
    let site = Site::embedded().await;
    let hourglass = site.start().set("QUERY__LIMIT_DEFAULT", "10").start();
    let reading = |second: u32| json!({ "sensorId": "S1", "ts": at(second * 60), "temp": 1 });
    post(&hourglass, &(0..100).map(reading).collect()).await;
    let path = "/v1/sensors/S1/readings";
    let answer = get(&hourglass, path).await;
    assert_eq!(instants(&answer).len(), 10);
    assert_eq!(answer["next"], at(9 * 60));
    let answer = get(&hourglass, &format!("{path}?limit=99")).await;
    assert_eq!(
        (instants(&answer).len(), &answer["next"]),
        (99, &json!(at(98 * 60)))
    );
    for (format, head) in [("ndjson", 0), ("csv", 1)] {
        for (limit, lines) in [("", 100), ("&limit=3", 3)] {
            let path = format!("{path}?format={format}{limit}");
            let (status, text) = hourglass.get_text(&path).await;
            assert_eq!(
                (status, text.lines().count()),
                (200, head + lines),
                "{path}"
            );
        }
    }
}
