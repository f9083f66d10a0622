//! `dry_run=true` says how a body would be read, and does nothing else.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::answers::{expect_problem, expect_unharmed, started};
use crate::support::eventually::eventually;
use crate::support::hourglass::{Hourglass, Start};

async fn dry(hourglass: &Hourglass, query: &str, body: &str) -> Value {
    let url = hourglass.url(&format!("/v1/readings?dry_run=true&{query}"));
    let request = hourglass.http().post(url).body(body.to_owned());
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    response.json().await.unwrap()
}

#[tokio::test]
async fn every_format_shows_what_would_be_taken() {
    let (_dir, hourglass) = started();
    for (query, body) in [
        (
            "format=json",
            r#"[{"sensorId":"S1","ts":"2026-05-01T10:00:00Z","temp":1.5,"n":"x"},{},
                {"sensorId":"S2","temp":2}]"#,
        ),
        (
            "format=ndjson",
            "{\"sensorId\":\"S1\",\"ts\":1777629600,\"temp\":1.5,\"n\":\"x\"}\n{}\n\
             {\"sensorId\":\"S2\",\"temp\":2}",
        ),
        (
            "format=csv",
            "sensor,ts,temp,n\nS1,2026-05-01 10:00:00,1.5,x\n,,,\nS2,,2,\n",
        ),
    ] {
        let answer = dry(&hourglass, query, body).await;
        assert_eq!(answer["dryRun"], true, "{answer}");
        assert_eq!(answer["accepted"], 2, "{answer}");
        assert_eq!(answer["rejected"], 1, "{answer}");
        assert_eq!(answer["rejectedByCode"], json!({"missing_sensor_id": 1}));
        assert_eq!(answer["errors"][0]["index"], 1);
        assert_eq!(answer["textFieldsSkipped"], 1);
        let first = json!({
            "index": 0, "sensorId": "S1", "ts": "2026-05-01T10:00:00Z", "stamped": false,
            "measures": {"temp": 1.5},
        });
        assert_eq!(answer["readings"][0], first, "{query}");
        let second = &answer["readings"][1];
        assert_eq!(second["index"], 2);
        assert_eq!(second["stamped"], true);
        assert_eq!(second["measures"], json!({"temp": 2.0}));
    }
    let lines = "weather,sensor=S1,room=4b temp=1.5,n=\"x\" 1777629600000000000\nm,host=h x=2i\n";
    let answer = dry(&hourglass, "format=line&unit=ns", lines).await;
    assert_eq!(answer["readings"][0]["measurement"], "weather");
    assert_eq!(answer["readings"][0]["attributes"], json!({"room": "4b"}));
    assert_eq!(answer["readings"][1]["sensorId"], "m,host=h");
    assert_eq!(answer["readings"][1]["stamped"], true);
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn nothing_is_stored_or_counted() {
    let (_dir, hourglass) = started();
    let body = r#"[{"sensorId":"S1","temp":1,"n":"x"},{"temp":1}]"#;
    let counts = async || {
        let (_, page) = hourglass.get_text("/metrics").await;
        let counted = |line: &&str| {
            let names = [
                "hourglass_items",
                "hourglass_values",
                "hourglass_text",
                // Not those that are silent, which are counted by and by.
                "hourglass_sensors ",
            ];
            names.iter().any(|name| line.starts_with(name))
        };
        page.lines()
            .filter(counted)
            .map(str::to_owned)
            .collect::<BTreeSet<_>>()
    };
    let before = counts().await;
    assert!(before.len() > 10, "{before:?}");
    dry(&hourglass, "format=json", body).await;
    let url = hourglass.url("/v1/readings?dry_run=true&format=json");
    let request = hourglass.http().post(&url).body("[");
    expect_problem(request, 400, "invalid_json", &[]).await;
    let coded = hourglass.http().post(&url).header("content-encoding", "br");
    expect_problem(coded.body("[]"), 415, "unsupported_encoding", &[]).await;
    // A key is for what is stored.
    for temp in [1, 2] {
        let keyed = hourglass.http().post(&url).header("idempotency-key", "k");
        let body = format!(r#"{{"sensorId":"S1","temp":{temp}}}"#);
        assert_eq!(keyed.body(body).send().await.unwrap().status(), 200);
    }
    assert_eq!(counts().await, before);
    let (_, sensors) = hourglass.get("/v1/sensors").await;
    assert_eq!(sensors["sensors"], json!([]));
    let (_, latest) = hourglass.get("/v1/sensors/S1/latest").await;
    assert_eq!(latest["latest"], Value::Null);
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn caps_are_told_and_no_place_is_taken() {
    let dir = tempfile::tempdir().unwrap();
    let hourglass = Start::on(dir.path())
        .set("INGEST__SENSORS_MAX", "2")
        .start();
    let three = r#"[{"sensorId":"A","t":1},{"sensorId":"B","t":1},{"sensorId":"C","t":1}]"#;
    let refused = async || {
        let answer = dry(&hourglass, "format=json", three).await;
        let by_code = &answer["rejectedByCode"];
        (*by_code == json!({"too_many_sensors": 1})).then_some(answer)
    };
    let answer = eventually("the store was asked which sensors there are", refused).await;
    assert_eq!(answer["accepted"], 2, "{answer}");
    assert!(refused().await.is_some());
    let measures: Vec<String> = (0..5)
        .map(|body| {
            let fields: Vec<String> = (0..250)
                .map(|n| format!("\"m{}\":1", body * 250 + n))
                .collect();
            format!("{{\"sensorId\":\"D\",{}}}", fields.join(","))
        })
        .collect();
    for _ in 0..2 {
        let body = format!("[{}]", measures.join(","));
        let answer = dry(&hourglass, "format=json", &body).await;
        assert_eq!(answer["rejectedByCode"], json!({"too_many_measures": 1}));
    }
    let taken = r#"[{"sensorId":"D","n":1},{"sensorId":"E","n":1}]"#;
    let (status, answer) = hourglass.post_as("application/json", taken).await;
    assert_eq!((status, &answer["rejected"]), (202, &json!(0)), "{answer}");
}

#[tokio::test]
async fn the_first_hundred_readings_are_shown_and_all_are_counted() {
    let (_dir, hourglass) = started();
    let rows: String = (0..50_000)
        .map(|n| format!("{},{n}\n", 1_700_000_000 + n))
        .collect();
    let body = format!("ts,temp\n{rows}");
    let answer = dry(&hourglass, "format=csv&sensorId=S1", &body).await;
    assert_eq!(answer["accepted"], 50_000);
    let shown = answer["readings"].as_array().unwrap();
    assert_eq!(shown.len(), 100);
    assert_eq!(shown[99]["measures"]["temp"], 99.0);
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn a_dry_run_is_asked_for_by_true_or_false() {
    let (_dir, hourglass) = started();
    for format in ["json", "csv"] {
        let url = hourglass.url(&format!("/v1/readings?format={format}&dry_run=1"));
        let request = hourglass.http().post(url).body("[]");
        let parts = ["`dry_run` is true or false"];
        expect_problem(request, 400, "invalid_parameter", &parts).await;
    }
    let url = hourglass.url("/v1/readings?format=json&dry_run=false");
    let item = r#"{"sensorId":"S1","temp":1}"#;
    let response = hourglass.http().post(url).body(item).send().await.unwrap();
    assert_eq!(response.status(), 202);
    let (_, latest) = hourglass.get("/v1/sensors/S1/latest").await;
    assert_eq!(latest["latest"]["measures"]["temp"], 1.0);
}
