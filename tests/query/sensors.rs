//! The list of sensors, page by page, wherever they are known.

use serde_json::{Value, json};
use tempfile::TempDir;

use super::fixture::{OLD, open_hour, post, quiet, until_stored};
use crate::support::eventually::eventually;
use crate::support::hourglass::Hourglass;

/// An id as a parameter, as far as these tests need it.
fn escape(id: &str) -> String {
    id.replace('%', "%25")
        .replace('#', "%23")
        .replace('&', "%26")
}

/// Every page's ids, by `next`.
async fn pages(hourglass: &Hourglass, limit: usize) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut cursor = String::new();
    loop {
        let path = format!("/v1/sensors?limit={limit}{cursor}");
        let (status, answer) = hourglass.get(&path).await;
        assert_eq!(
            (status, &answer["complete"]),
            (200, &json!(true)),
            "{answer}"
        );
        let sensors = answer["sensors"].as_array().unwrap();
        let id = |sensor: &Value| sensor["sensorId"].as_str().unwrap().to_owned();
        pages.push(sensors.iter().map(id).collect());
        match answer["next"].as_str() {
            Some(next) => cursor = format!("&cursor={}", escape(next)),
            None => return pages,
        }
        assert!(pages.len() < 100, "it never ends");
    }
}

fn batch(sensors: &[String], ts: i64) -> Value {
    let reading = |id: &String| json!({ "sensorId": id, "ts": ts, "temp": 1 });
    sensors.iter().map(reading).collect()
}

#[tokio::test]
async fn sensors_of_the_store_and_of_the_buffer_are_one_list() {
    let dir = TempDir::new().unwrap();
    let start = quiet(&dir);
    let hourglass = start.start();
    let name = |n: usize| format!("S{n:02}");
    let mut stored: Vec<String> = (0..30).filter(|n| n % 3 == 0).map(name).collect();
    stored.extend(["A&b", "a#1", "a%26b", "é"].map(str::to_owned));
    post(&hourglass, &batch(&stored, OLD)).await;
    until_stored(&hourglass, stored.len(), 0).await;
    assert!(hourglass.stop().0.success());

    // Those are in the store alone now; these in the buffer alone, and one in
    // both.
    let hourglass = start.start();
    eventually("it is ready", async || {
        (hourglass.get("/readyz").await.0 == 200).then_some(())
    })
    .await;
    let mut buffered: Vec<String> = (0..30).filter(|n| n % 3 == 1).map(name).collect();
    buffered.extend(["0", "~", "S00"].map(str::to_owned));
    post(&hourglass, &batch(&buffered, open_hour())).await;
    until_stored(&hourglass, 0, buffered.len()).await;

    let mut all: Vec<String> = stored.into_iter().chain(buffered).collect();
    all.sort_unstable();
    all.dedup();
    for limit in [1, 2, 7, all.len() - 1, all.len(), all.len() + 1] {
        let pages = pages(&hourglass, limit).await;
        assert_eq!(pages.len(), all.len().div_ceil(limit), "limit {limit}");
        assert_eq!(pages.concat(), all, "limit {limit}");
    }
    let (_, page) = hourglass.get("/v1/sensors?cursor=S28").await;
    assert_eq!(page["sensors"][0]["sensorId"], "a#1");
    let (_, page) = hourglass.get("/v1/sensors?cursor=%F0%9F%8C%A1").await;
    assert_eq!(
        (&page["sensors"], &page["next"]),
        (&json!([]), &Value::Null)
    );
}

#[tokio::test]
async fn a_sensor_is_last_heard_of_at_receipt_even_of_a_duplicate() {
    let dir = TempDir::new().unwrap();
    let start = quiet(&dir);
    let hourglass = start.start();
    let seen = async |hourglass: &Hourglass| {
        let (_, page) = hourglass.get("/v1/sensors").await;
        let seen = page["sensors"][0]["lastSeen"].as_str().unwrap();
        seen.parse::<jiff::Timestamp>().unwrap()
    };
    let batch = batch(&["S1".to_owned()], OLD);
    let mut last = jiff::Timestamp::now();
    for _ in 0..3 {
        post(&hourglass, &batch).await;
        let now = seen(&hourglass).await;
        assert!(now > last, "{now} {last}");
        last = now;
    }
    assert!(hourglass.stop().0.success());
    let hourglass = start.start();
    assert_eq!(seen(&hourglass).await, last);
}
