//! JSON, NDJSON and CSV, by Accept or by `format=`.

use reqwest::header::{ACCEPT, CONTENT_TYPE};
use serde_json::json;

use super::answers::{expect_problem, flushed, post};
use crate::support::hourglass::Hourglass;
use crate::support::site::{Site, each_store};

const PATH: &str = "/v1/sensors/S%2F1/readings";

async fn two_readings(hourglass: &Hourglass) {
    post(
        hourglass,
        &json!([
            { "sensorId": "S/1", "ts": "2026-05-01T10:00:00.5Z", "temp": 24.1, "a,b": -0.5 },
            { "sensorId": "S/1", "ts": "2026-05-01T10:00:01Z", "temp": 1e300, "say \"x\"": 1e-7 },
        ]),
    )
    .await;
}

const JSON: &str = concat!(
    r#"{"sensorId":"S/1","readings":["#,
    r#"{"ts":"2026-05-01T10:00:00.5Z","measures":{"a,b":-0.5,"temp":24.1}},"#,
    r#"{"ts":"2026-05-01T10:00:01Z","measures":{"say \"x\"":1e-7,"temp":1e+300}}"#,
    r#"],"next":null,"complete":true}"#,
);

const NDJSON: &str = concat!(
    r#"{"sensorId":"S/1","ts":"2026-05-01T10:00:00.5Z","measures":{"a,b":-0.5,"temp":24.1}}"#,
    "\n",
    r#"{"sensorId":"S/1","ts":"2026-05-01T10:00:01Z","measures":{"say \"x\"":1e-7,"temp":1e+300}}"#,
    "\n",
);

const CSV: &str = concat!(
    "ts,\"a,b\",\"say \"\"x\"\"\",temp\r\n",
    "2026-05-01T10:00:00.5Z,-0.5,,24.1\r\n",
    "2026-05-01T10:00:01Z,,1e-7,1e300\r\n",
);

/// Status, content type and text of an answer.
async fn ask(hourglass: &Hourglass, query: &str, accept: Option<&str>) -> (u16, String, String) {
    let mut request = hourglass
        .http()
        .get(hourglass.url(&format!("{PATH}?{query}")));
    if let Some(accept) = accept {
        request = request.header(ACCEPT, accept);
    }
    let response = request.send().await.unwrap();
    let content_type = response.headers()[CONTENT_TYPE]
        .to_str()
        .unwrap()
        .to_owned();
    assert_eq!(response.headers()["hourglass-complete"], "true");
    let status = response.status().as_u16();
    (status, content_type, response.text().await.unwrap())
}

#[tokio::test]
async fn each_format_says_the_same_in_its_own_way() {
    let site = Site::embedded().await;
    let hourglass = site.start().start();
    two_readings(&hourglass).await;
    for _ in ["buffered or under way", "stored"] {
        for (format, content_type, text) in [
            ("json", "application/json", JSON),
            ("ndjson", "application/x-ndjson", NDJSON),
            ("csv", "text/csv; charset=utf-8", CSV),
        ] {
            let answer = ask(&hourglass, &format!("format={format}"), None).await;
            assert_eq!(answer, (200, content_type.into(), text.into()));
        }
        flushed(&hourglass).await;
    }
}

#[tokio::test]
async fn accept_decides_and_the_parameter_overrides_it() {
    let site = Site::embedded().await;
    let hourglass = site.start().start();
    two_readings(&hourglass).await;
    for (accept, text) in [
        (None, JSON),
        (Some(""), JSON),
        (Some("*/*"), JSON),
        (Some("application/json"), JSON),
        (Some("application/*;q=0.5"), JSON),
        (Some("text/html, application/xhtml+xml, */*;q=0.8"), JSON),
        (Some("application/x-ndjson"), NDJSON),
        (Some("Application/NDJSON; charset=utf-8"), NDJSON),
        (Some("text/csv"), CSV),
        (Some("text/*"), CSV),
        (Some("image/png, text/csv;header=present, */*"), CSV),
    ] {
        assert_eq!(ask(&hourglass, "", accept).await.2, text, "{accept:?}");
        let overridden = ask(&hourglass, "format=ndjson", accept).await.2;
        assert_eq!(overridden, NDJSON, "{accept:?}");
    }
    let request = hourglass.http().get(hourglass.url(PATH));
    let detail = "none of `image/png, text/html` can be had; ask for application/json, \
                  application/x-ndjson or text/csv";
    let request = request.header(ACCEPT, "image/png, text/html");
    expect_problem(request, 406, "not_acceptable", detail).await;
}

#[tokio::test]
async fn nothing_is_an_empty_answer_in_each_format() {
    let site = Site::embedded().await;
    let hourglass = site.start().start();
    for (format, text) in [
        (
            "json",
            r#"{"sensorId":"S/1","readings":[],"next":null,"complete":true}"#,
        ),
        ("ndjson", ""),
        ("csv", "ts\r\n"),
        ("csv&measure=temp", "ts,temp\r\n"),
    ] {
        let answer = ask(&hourglass, &format!("format={format}"), None).await;
        assert_eq!((answer.0, &*answer.2), (200, text), "{format}");
    }
}

#[tokio::test]
async fn an_ndjson_answer_can_be_posted_and_changes_nothing() {
    let site = Site::embedded().await;
    let hourglass = site.start().start();
    two_readings(&hourglass).await;
    let (_, _, lines) = ask(&hourglass, "format=ndjson", None).await;
    let (status, answer) = hourglass.post_as("application/x-ndjson", lines).await;
    assert_eq!((status, &answer["accepted"]), (202, &json!(2)), "{answer}");
    assert_eq!(ask(&hourglass, "", None).await.2, JSON);
    assert_eq!(
        hourglass.metric("hourglass_values_duplicate_total").await,
        4.0
    );
    // The other way it comes to a service that knows nothing.
    let elsewhere = Site::embedded().await;
    let other = elsewhere.start().start();
    let (status, _) = other.post_as("application/x-ndjson", NDJSON).await;
    assert_eq!(status, 202);
    assert_eq!(ask(&other, "format=csv", None).await.2, CSV);
}

#[tokio::test]
async fn values_come_back_bit_for_bit_in_each_format() {
    for site in each_store().await {
        let hourglass = site.start().start();
        let values = [
            0.1,
            -0.0,
            5e-324,
            f64::MIN_POSITIVE,
            1.0 / 3.0,
            9_007_199_254_740_992.0,
            123_456_789.123_456_79,
            -1e300,
        ];
        let readings = values.iter().enumerate().map(|(second, value)| {
            let ts = format!("2026-05-01T10:00:{second:02}Z");
            json!({ "sensorId": "S/1", "ts": ts, "x": value })
        });
        post(&hourglass, &readings.collect()).await;
        let bits: Vec<u64> = values.iter().map(|value| value.to_bits()).collect();
        for _ in ["buffered or under way", "stored"] {
            // As text: the library that tests read JSON with rounds.
            let (_, _, json) = ask(&hourglass, "", None).await;
            let told = json.split("\"x\":").skip(1);
            let told: Vec<u64> = told
                .map(|rest| {
                    rest.split('}')
                        .next()
                        .unwrap()
                        .parse::<f64>()
                        .unwrap()
                        .to_bits()
                })
                .collect();
            assert_eq!(told, bits);
            let (_, _, csv) = ask(&hourglass, "format=csv", None).await;
            let told: Vec<u64> = csv
                .lines()
                .skip(1)
                .map(|line| {
                    line.split_once(',')
                        .unwrap()
                        .1
                        .parse::<f64>()
                        .unwrap()
                        .to_bits()
                })
                .collect();
            assert_eq!(told, bits);
            flushed(&hourglass).await;
        }
    }
}

#[tokio::test]
async fn a_measure_named_as_the_time_has_a_column_of_its_own() {
    let site = Site::embedded().await;
    let hourglass = site.start().start();
    let reading =
        json!({ "sensorId": "S/1", "ts": "2026-05-01T10:00:00Z", "measures": { "ts": 2 } });
    post(&hourglass, &reading).await;
    let path = format!("{PATH}?format=csv");
    let (_, csv) = hourglass.get_text(&path).await;
    assert_eq!(csv, "ts,measures.ts\r\n2026-05-01T10:00:00Z,2.0\r\n");
}
