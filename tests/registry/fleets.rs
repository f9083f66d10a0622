//! Lists of sensors that are large, hostile or say one thing twice.

use std::fmt::Write;

use reqwest::Method;
use serde_json::json;

use super::builders::{Answer, change, put};
use crate::support::hourglass::{Hourglass, alone};
use crate::support::site::each_store;

async fn send(hourglass: &Hourglass, lines: String) -> Answer {
    let headers = [("content-type", "application/x-ndjson")];
    change(hourglass, Method::PUT, "/v1/sensors", &headers, lines).await
}

#[tokio::test]
async fn of_a_sensor_that_stands_there_often_the_last_line_stays() {
    for site in each_store().await {
        let hourglass = site.start().start();
        let mut lines = String::new();
        for n in 0..3000 {
            writeln!(lines, r#"{{"sensorId":"S{}","name":"name {n}"}}"#, n % 2).unwrap();
        }
        // The last of S1 is a bad one, and the one before it stays.
        lines.push_str(r#"{"sensorId":"S1","site":"nowhere"}"#);
        let answer = send(&hourglass, lines).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let counts =
            ["created", "updated", "rejected"].map(|key| answer.body[key].as_u64().unwrap());
        assert_eq!(counts, [2, 2998, 1]);
        assert_eq!(answer.body["errors"][0]["index"], 3000);
        for (id, name) in [("S0", "name 2998"), ("S1", "name 2999")] {
            let (_, page) = hourglass.get(&format!("/v1/sensors/{id}")).await;
            assert_eq!(page["name"], name);
        }
    }
}

#[tokio::test]
async fn every_bad_line_is_counted_and_the_first_hundred_are_told_in_order() {
    let (_dir, hourglass) = alone();
    let mut lines = String::new();
    for n in 0..60_000 {
        lines.push_str(match n % 3 {
            0 => "{}\n",
            1 => "{\"sensorId\":\"S1\",\"site\":\"x\"}\n",
            _ => "{\"sensorId\":\n",
        });
    }
    let answer = send(&hourglass, lines).await;
    assert_eq!(answer.status, 422);
    assert_eq!(answer.body["rejected"], 60_000);
    let by_code =
        json!({ "missing_sensor_id": 20_000, "unknown_site": 20_000, "invalid_json": 20_000 });
    assert_eq!(answer.body["rejectedByCode"], by_code);
    let told = answer.body["errors"].as_array().unwrap();
    let indexes: Vec<u64> = told
        .iter()
        .map(|told| told["index"].as_u64().unwrap())
        .collect();
    assert_eq!(indexes, (0..100).collect::<Vec<u64>>());
    assert_eq!(told[1]["field"], "site");
}

#[tokio::test]
async fn beyond_the_cap_new_sensors_of_a_list_are_refused_and_known_ones_are_not() {
    let dir = tempfile::tempdir().unwrap();
    let start = crate::support::hourglass::Start::on(dir.path()).set("INGEST__SENSORS_MAX", "2");
    let hourglass = start.start();
    put(&hourglass, "/v1/sensors/S1", &json!({})).await;
    put(&hourglass, "/v1/sensors/S2", &json!({})).await;
    crate::support::eventually::eventually("the cap holds", async || {
        let answer = put(&hourglass, "/v1/sensors/S3", &json!({})).await;
        (answer.code() == "too_many_sensors").then_some(())
    })
    .await;
    let (_, before) = hourglass.get("/v1/sensors").await;
    let lines = "{\"sensorId\":\"S1\",\"name\":\"a\"}\n{\"sensorId\":\"S9\"}\n\
                 {\"sensorId\":\"S2\",\"name\":\"b\"}\n{\"sensorId\":\"S9\"}\n";
    let answer = send(&hourglass, lines.to_owned()).await;
    assert_eq!((answer.status, &answer.body["updated"]), (200, &json!(2)));
    assert_eq!(
        answer.body["rejectedByCode"],
        json!({ "too_many_sensors": 2 })
    );
    let (_, after) = hourglass.get("/v1/sensors").await;
    let count = |page: &serde_json::Value| page["sensors"].as_array().unwrap().len();
    assert_eq!(count(&before), count(&after));
}

#[tokio::test]
async fn a_gzipped_table_from_a_spreadsheet_is_taken() {
    let (_dir, hourglass) = alone();
    let table = "\u{feff}sensorId,name,attr.room\r\nS 1,\"Boiler, flow\",4b\r\n\r\nS2,,\r\n";
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut gzip, table.as_bytes()).unwrap();
    let request = hourglass
        .http()
        .put(hourglass.url("/v1/sensors"))
        .header("content-type", "text/csv; charset=utf-8")
        .header("content-encoding", "gzip")
        .body(gzip.finish().unwrap());
    let answer: serde_json::Value = request.send().await.unwrap().json().await.unwrap();
    assert_eq!(
        (&answer["created"], &answer["rejected"]),
        (&json!(2), &json!(0)),
        "{answer}"
    );
    let (_, page) = hourglass.get("/v1/sensors/S%201").await;
    assert_eq!(
        (&page["name"], &page["attributes"]),
        (&json!("Boiler, flow"), &json!({ "room": "4b" }))
    );
}
