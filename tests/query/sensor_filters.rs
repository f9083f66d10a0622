//! `/v1/sensors` with conditions: each alone and together, whatever of the
//! sensors is in the store and in the buffer.

use serde_json::{Value, json};

use super::answers::{at, expect_problem, flushed, from_now, get, put};
use crate::support::eventually::eventually;
use crate::support::hourglass::{Hourglass, alone};
use crate::support::site::each_store;

/// The ids that pass, all on one page, and the same by pages of one.
async fn ids(hourglass: &Hourglass, query: &[(&str, &str)]) -> Vec<String> {
    let whole = page(hourglass, query, None).await;
    assert_eq!(whole["next"], Value::Null);
    let mut joined = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let mut by_one = query.to_vec();
        by_one.push(("limit", "1"));
        let page = page(hourglass, &by_one, after.as_deref()).await;
        joined.extend(page["sensors"].as_array().unwrap().clone());
        after = page["next"].as_str().map(str::to_owned);
        if after.is_none() {
            break;
        }
    }
    assert_eq!(whole["sensors"], json!(joined), "{query:?}");
    let id = |sensor: &Value| sensor["sensorId"].as_str().unwrap().to_owned();
    joined.iter().map(id).collect()
}

async fn page(hourglass: &Hourglass, query: &[(&str, &str)], after: Option<&str>) -> Value {
    let cursor = after.map(|after| ("cursor", after));
    let pairs = query.iter().copied().chain(cursor);
    let url = reqwest::Url::parse_with_params(&hourglass.url("/v1/sensors"), pairs).unwrap();
    let path = format!("/v1/sensors?{}", url.query().unwrap_or_default());
    get(hourglass, &path).await
}

async fn post(hourglass: &Hourglass, line: &str, ts: &str) {
    let stamp = ts.parse::<jiff::Timestamp>().unwrap().as_second();
    let (status, answer) = hourglass
        .post_as("text/plain", format!("{line} {stamp}"))
        .await;
    assert_eq!((status, &answer["rejected"]), (202, &json!(0)), "{answer}");
}

/// Parameters of a list.
type Conditions = &'static [(&'static str, &'static str)];

#[tokio::test]
async fn each_condition_finds_those_in_the_store_and_those_in_the_buffer() {
    for site in each_store().await {
        let start = site.start();
        let hourglass = start.start();
        put(
            &hourglass,
            "/v1/sites/plant",
            &json!({ "name": "P", "city": "Bern" }),
        )
        .await;
        for (id, attributes) in [("S1", json!({ "a =.b": "x&y" })), ("S6", json!({}))] {
            let body = json!({ "site": "plant", "attributes": attributes });
            put(&hourglass, &format!("/v1/sensors/{id}"), &body).await;
        }
        let stored = at(5);
        post(&hourglass, "m,sensor=S1,fw=2.1,floor=1 temp=1", &stored).await;
        post(&hourglass, "m,sensor=S2,fw=2.10,floor=2 temp=1", &stored).await;
        post(&hourglass, "m,sensor=S3,fw=1.9,floor=x temp=1", &stored).await;
        flushed(&hourglass).await;
        let ahead = from_now(240);
        // One has a new firmware, one is new; the store knows neither.
        post(&hourglass, "m,sensor=S3,fw=2.1 temp=1", &ahead).await;
        post(&hourglass, "m,sensor=S4,fw=2.1,floor=10 temp=1", &ahead).await;
        let all: [(Conditions, &[&str]); 9] = [
            (&[("site", "plant")], &["S1", "S6"]),
            (&[("attr.fw", "2.1")], &["S1", "S3", "S4"]),
            (&[("attr_prefix.fw", "2.1")], &["S1", "S2", "S3", "S4"]),
            (&[("attr_min.floor", "2")], &["S2", "S4"]),
            (
                &[("attr_min.floor", "1"), ("attr_max.floor", "9.5")],
                &["S1", "S2"],
            ),
            (&[("attr.a =.b", "x&y")], &["S1"]),
            (&[("attr.fw", "1.9")], &[]),
            (&[("site", "plant"), ("attr.fw", "2.1")], &["S1"]),
            (&[("site", "elsewhere")], &[]),
        ];
        for (query, expected) in all {
            assert_eq!(ids(&hourglass, query).await, expected, "{query:?}");
        }
        let listed = page(&hourglass, &[("attr.a =.b", "x&y")], None).await;
        let sensor = &listed["sensors"][0];
        assert_eq!(
            sensor["site"],
            json!({ "id": "plant", "name": "P", "city": "Bern" })
        );
        let attributes = json!({ "a =.b": "x&y", "fw": "2.1", "floor": "1" });
        assert_eq!(sensor["attributes"], attributes);
        let hourglass = site.restart_from_the_store(hourglass, &start);
        for (query, expected) in all {
            assert_eq!(ids(&hourglass, query).await, expected, "{query:?}");
        }
    }
}

#[tokio::test]
async fn silent_ones_are_listed_by_when_they_were_last_heard_of() {
    for site in each_store().await {
        let start = site.start();
        let hourglass = start.start();
        // Set up, and never heard of: that is not silence.
        put(&hourglass, "/v1/sensors/S0", &json!({})).await;
        for id in ["S3", "S1", "S2"] {
            post(&hourglass, &format!("m,sensor={id} temp=1"), &at(5)).await;
            // The next one is heard of in another millisecond.
            let heard = jiff::Timestamp::now().as_millisecond();
            while jiff::Timestamp::now().as_millisecond() == heard {
                std::hint::spin_loop();
            }
        }
        let silent = [("silent_for", "1s")];
        let order = ["S3", "S1", "S2"];
        let listed = async |hourglass: &Hourglass, expected: &[&str]| {
            eventually("they are silent for a second", async || {
                let page = page(hourglass, &silent, None).await;
                let sensors = page["sensors"].as_array().unwrap();
                (sensors.len() == expected.len()).then_some(())
            })
            .await;
            assert_eq!(ids(hourglass, &silent).await, expected);
        };
        listed(&hourglass, &order).await;
        flushed(&hourglass).await;
        listed(&hourglass, &order).await;
        let hourglass = site.restart_from_the_store(hourglass, &start);
        listed(&hourglass, &order).await;
        assert_eq!(
            ids(&hourglass, &[("silent_for", "1d")]).await,
            [] as [&str; 0]
        );
        // What is heard now is in the buffer only, and not silent.
        post(&hourglass, "m,sensor=S1 temp=2", &from_now(240)).await;
        let page = page(&hourglass, &silent, None).await;
        let first = page["sensors"].as_array().unwrap();
        assert_eq!(first[0]["sensorId"], "S3");
        listed(&hourglass, &["S3", "S2", "S1"]).await;
    }
}

#[tokio::test]
async fn what_is_no_condition_is_told() {
    let (_dir, hourglass) = alone();
    for (query, detail) in [
        (
            "attr.k=",
            "`attr.k` says no attribute: a key stands behind the dot and a value behind the equals \
             sign, as attr.room=4",
        ),
        ("attr_min.k=high", "`attr_min.k` is a number, not `high`"),
        (
            "silent_for=15",
            "`silent_for` is a whole number above 0 with its unit (s, m, h, d, w), as 15m, not `15`",
        ),
        (
            "silent_for=15m&cursor=S1",
            "`cursor` is what `next` of the page before says: `S1` is of no list of silent sensors",
        ),
    ] {
        let request = hourglass
            .http()
            .get(hourglass.url(&format!("/v1/sensors?{query}")));
        expect_problem(request, 400, "invalid_parameter", detail).await;
    }
}
