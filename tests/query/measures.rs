//! `measure=`: only these measures, and only readings that have one of them.

use serde_json::{Value, json};

use super::answers::{at, flushed, get, post, readings};
use crate::support::site::{Site, each_store};

#[tokio::test]
async fn only_the_measures_asked_for_come_back() {
    for site in each_store().await {
        let hourglass = site.start().start();
        post(
            &hourglass,
            &json!([
                { "sensorId": "S1", "ts": at(0), "temp": 1, "hum": 2, "co2": 3 },
                { "sensorId": "S1", "ts": at(1), "hum": 4 },
                { "sensorId": "S1", "ts": at(2), "co2": 5 },
                { "sensorId": "S1", "ts": at(3), "temp": 6 },
            ]),
        )
        .await;
        for _ in ["buffered or under way", "stored"] {
            for (query, expected) in [
                (
                    "measure=temp",
                    json!([[at(0), { "temp": 1.0 }], [at(3), { "temp": 6.0 }]]),
                ),
                (
                    "measure=temp&measure=hum",
                    json!([
                        [at(0), { "temp": 1.0, "hum": 2.0 }],
                        [at(1), { "hum": 4.0 }],
                        [at(3), { "temp": 6.0 }],
                    ]),
                ),
                (
                    "measure=co2&measure=co2&order=desc",
                    json!([[at(2), { "co2": 5.0 }], [at(0), { "co2": 3.0 }]]),
                ),
                ("measure=Temp", json!([])),
                (
                    "measure=nothing&measure=temp&limit=1",
                    json!([[at(0), { "temp": 1.0 }]]),
                ),
            ] {
                let path = format!("/v1/sensors/S1/readings?{query}");
                let told = readings(&get(&hourglass, &path).await);
                assert_eq!(json!(told), expected, "{query}");
            }
            flushed(&hourglass).await;
        }
    }
}

#[tokio::test]
async fn csv_has_a_column_for_each_measure_asked_for_once() {
    let site = Site::embedded().await;
    let hourglass = site.start().start();
    post(
        &hourglass,
        &json!({ "sensorId": "S1", "ts": at(0), "temp": 1, "hum": 2 }),
    )
    .await;
    for (query, text) in [
        ("measure=temp", format!("ts,temp\r\n{},1.0\r\n", at(0))),
        (
            "measure=temp&measure=temp",
            format!("ts,temp\r\n{},1.0\r\n", at(0)),
        ),
        (
            "measure=none&measure=hum",
            format!("ts,none,hum\r\n{},,2.0\r\n", at(0)),
        ),
        ("measure=none", "ts,none\r\n".to_owned()),
    ] {
        let path = format!("/v1/sensors/S1/readings?format=csv&{query}");
        assert_eq!(hourglass.get_text(&path).await, (200, text), "{query}");
    }
}

/// The columns are those of the range, not of the sensor.
#[tokio::test]
async fn csv_has_the_columns_of_the_hours_asked_for() {
    let site = Site::embedded().await;
    let hourglass = site.start().start();
    post(
        &hourglass,
        &json!([
            { "sensorId": "S1", "ts": at(0), "temp": 1 },
            { "sensorId": "S1", "ts": at(3600), "hum": 2 },
        ]),
    )
    .await;
    for (query, text) in [
        (
            "to=2026-05-01T11:00:00Z",
            format!("ts,temp\r\n{},1.0\r\n", at(0)),
        ),
        (
            "from=2026-05-01T11:00:00Z",
            format!("ts,hum\r\n{},2.0\r\n", at(3600)),
        ),
        (
            "",
            format!("ts,hum,temp\r\n{},,1.0\r\n{},2.0,\r\n", at(0), at(3600)),
        ),
    ] {
        let path = format!("/v1/sensors/S1/readings?format=csv&{query}");
        assert_eq!(hourglass.get_text(&path).await, (200, text), "{query}");
    }
}

/// A measure that comes while the answer is made has its column, or its reading
/// is not in the answer: never a row without its value.
#[tokio::test]
async fn csv_has_a_column_for_each_value_while_measures_are_added() {
    let site = Site::embedded().await;
    let hourglass = site.start().start();
    let adding = async {
        for n in 0..300 {
            let mut reading = json!({ "sensorId": "S1", "ts": at(n) });
            reading[format!("m{n}")] = json!(1);
            post(&hourglass, &reading).await;
        }
    };
    let reading = async {
        loop {
            let path = "/v1/sensors/S1/readings?format=csv";
            let (status, text) = hourglass.get_text(path).await;
            assert_eq!(status, 200);
            for row in text.lines().skip(1) {
                assert!(row.contains(",1.0"), "{row} of\n{text}");
            }
        }
    };
    tokio::select! {
        () = adding => {}
        () = reading => {}
    }
    let (_, text) = hourglass
        .get_text("/v1/sensors/S1/readings?format=csv")
        .await;
    assert_eq!(text.matches("1.0").count(), 300);
}

#[tokio::test]
async fn names_that_urls_must_escape_are_found() {
    for site in each_store().await {
        let hourglass = site.start().start();
        let names = ["a b", "a+b", "a&b=c", "50%", "a.b", "$x", "é", "%41", "A"];
        let all: serde_json::Map<String, Value> = (1..)
            .zip(names)
            .map(|(value, name)| (name.to_owned(), json!(f64::from(value))))
            .collect();
        post(
            &hourglass,
            &json!({ "sensorId": "S1", "ts": at(0), "measures": all }),
        )
        .await;
        for _ in ["buffered or under way", "stored"] {
            for name in names {
                let url = hourglass.url("/v1/sensors/S1/readings");
                let url = reqwest::Url::parse_with_params(&url, [("measure", name)]).unwrap();
                let response = hourglass.http().get(url).send().await.unwrap();
                let answer: Value = response.json().await.unwrap();
                assert_eq!(
                    answer["readings"][0]["measures"],
                    json!({ name: all[name] })
                );
            }
            flushed(&hourglass).await;
        }
    }
}
