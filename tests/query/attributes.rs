//! Attributes of sensors in `/v1/sensors`: the tags they sent, by key, the
//! newest first, in the buffer, in the store and over starts.

use serde_json::{Value, json};

use super::answers::{at, flushed, from_now, get};
use crate::support::eventually::eventually;
use crate::support::hourglass::Hourglass;
use crate::support::site::{Site, each_store};

async fn post(hourglass: &Hourglass, lines: &str) {
    let (status, answer) = hourglass.post_as("text/plain", lines.to_owned()).await;
    assert_eq!((status, &answer["rejected"]), (202, &json!(0)), "{answer}");
}

/// The time `at` in whole seconds, as lines have it.
fn seconds(at: &str) -> i64 {
    at.parse::<jiff::Timestamp>().unwrap().as_second()
}

/// Attributes by sensor.
async fn attributes(hourglass: &Hourglass) -> Value {
    let answer = get(hourglass, "/v1/sensors").await;
    let sensors = answer["sensors"].as_array().unwrap().iter();
    let pair = |sensor: &Value| {
        let id = sensor["sensorId"].as_str().unwrap().to_owned();
        (id, sensor["attributes"].clone())
    };
    Value::Object(sensors.map(pair).collect())
}

#[tokio::test]
async fn tags_are_attributes_at_once_and_after_a_start_from_the_store() {
    for site in each_store().await {
        let start = site.start();
        let hourglass = start.start();
        let stamp = seconds(&at(5));
        post(
            &hourglass,
            &format!("m,sensor=S1,room=4b,fw=1.0 temp=1 {stamp}"),
        )
        .await;
        post(&hourglass, &format!("m,sensor=S2,$a.b=$c temp=1 {stamp}")).await;
        let (status, _) = hourglass
            .post(&json!({ "sensorId": "S3", "ts": at(5), "temp": 1 }))
            .await;
        assert_eq!(status, 202);
        let mut expected = json!({
            "S1": { "fw": "1.0", "room": "4b" },
            "S2": { "$a.b": "$c" },
            "S3": {},
        });
        assert_eq!(attributes(&hourglass).await, expected);
        flushed(&hourglass).await;
        assert_eq!(attributes(&hourglass).await, expected);

        let hourglass = site.restart_from_the_store(hourglass, &start);
        assert_eq!(attributes(&hourglass).await, expected);

        // Another value and another key; what is not sent stays. One part is in
        // the store, the other in the buffer.
        let ahead = seconds(&from_now(240));
        post(
            &hourglass,
            &format!("m,sensor=S1,fw=1.1,rack=7 temp=2 {ahead}"),
        )
        .await;
        expected["S1"] = json!({ "fw": "1.1", "rack": "7", "room": "4b" });
        assert_eq!(attributes(&hourglass).await, expected);
        let hourglass = site.restart_from_the_store(hourglass, &start);
        assert_eq!(attributes(&hourglass).await, expected);
    }
}

#[tokio::test]
async fn a_duplicate_under_a_new_tag_tells_the_store_of_it() {
    for site in each_store().await {
        let start = site.start();
        let hourglass = start.start();
        let stamp = seconds(&at(5));
        for room in ["4b", "5c"] {
            post(
                &hourglass,
                &format!("m,sensor=S1,room={room} temp=1 {stamp}"),
            )
            .await;
            flushed(&hourglass).await;
        }
        let hourglass = site.restart_from_the_store(hourglass, &start);
        assert_eq!(
            attributes(&hourglass).await,
            json!({ "S1": { "room": "5c" } })
        );
    }
}

#[tokio::test]
async fn after_a_crash_the_journal_tells_them_again() {
    for site in each_store().await {
        let start = site.start().set("FLUSH__AGE_MAX", "1h");
        let hourglass = start.start();
        let ahead = seconds(&from_now(240));
        for fw in ["1.0", "1.1"] {
            post(&hourglass, &format!("m,sensor=S1,fw={fw} temp=1 {ahead}")).await;
        }
        hourglass.kill_9();
        let hourglass = start.start();
        eventually("it is ready", async || {
            let (status, answer) = hourglass.get("/readyz").await;
            (status == 200 && answer["complete"] == true).then_some(())
        })
        .await;
        let expected = json!({ "S1": { "fw": "1.1" } });
        assert_eq!(attributes(&hourglass).await, expected);
        let hourglass = site.restart_from_the_store(hourglass, &start);
        assert_eq!(attributes(&hourglass).await, expected);
    }
}

/// 70 tags, 10 to a line.
fn lines(value: &str, stamp: i64) -> String {
    let line = |first: usize| {
        let tags = (first..first + 10).map(|n| format!(",k{n:02}={value}"));
        let tags: String = tags.collect();
        format!("m,sensor=S1{tags} temp=1 {}\n", stamp + first as i64)
    };
    (0..70).step_by(10).map(line).collect()
}

#[tokio::test]
async fn at_64_attributes_no_reading_is_refused_and_known_ones_are_updated() {
    for site in each_store().await {
        let start = site.start();
        let hourglass = start.start();
        let stamp = seconds(&at(0));
        let mut refused = 0.0;
        for value in ["old", "new"] {
            post(&hourglass, &lines(value, stamp)).await;
            let attributes = attributes(&hourglass).await;
            let sensor = attributes["S1"].as_object().unwrap();
            assert_eq!(sensor.len(), 64);
            assert!(sensor.values().all(|told| told == value));
            assert_eq!(sensor.keys().next_back().unwrap(), "k63");
            refused += 6.0;
            let counted = hourglass.metric("hourglass_attributes_refused_total").await;
            assert_eq!(counted, refused);
        }
        flushed(&hourglass).await;
        let before = attributes(&hourglass).await;
        let hourglass = site.restart_from_the_store(hourglass, &start);
        assert_eq!(attributes(&hourglass).await, before);
        // The store keeps to it too: the process knows of none yet.
        post(
            &hourglass,
            &format!("m,sensor=S1,k00=newer,k99=x temp=1 {}", stamp + 99),
        )
        .await;
        let hourglass = site.restart_from_the_store(hourglass, &start);
        let after = attributes(&hourglass).await;
        let mut expected = before;
        expected["S1"]["k00"] = json!("newer");
        assert_eq!(after, expected);
    }
}

#[tokio::test]
async fn a_tag_beyond_its_bounds_costs_no_reading_and_is_counted() {
    let site = Site::embedded().await;
    let hourglass = site.start().start();
    let (long, stamp) = ("x".repeat(300), seconds(&at(5)));
    let lines = format!("m,sensor=S1,note={long},room=4b temp=1 {stamp}");
    post(&hourglass, &lines).await;
    let expected = json!({ "S1": { "room": "4b" } });
    assert_eq!(attributes(&hourglass).await, expected);
    let counted = hourglass.metric("hourglass_attributes_refused_total").await;
    assert_eq!(counted, 1.0);
}
