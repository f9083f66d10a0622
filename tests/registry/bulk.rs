//! A whole fleet in one body.

use std::fmt::Write;

use reqwest::Method;
use serde_json::json;

use super::builders::{change, put};
use crate::support::site::each_store;

#[tokio::test]
async fn a_fleet_of_2500_goes_in_and_bad_lines_cost_no_other() {
    for site in each_store().await {
        let hourglass = site.start().start();
        put(&hourglass, "/v1/sites/plant", &json!({ "name": "Plant" })).await;
        let mut table = String::from("sensorId,name,site,attr.room,unit.temp\n");
        for n in 0..2500 {
            writeln!(table, "S{n:04},Sensor {n},plant,{},°C", n % 7).unwrap();
        }
        table.push_str("bad,x,nowhere,1,\nS0000,Twice,plant,9,\n");
        let csv = [("content-type", "text/csv")];
        let answer = change(&hourglass, Method::PUT, "/v1/sensors", &csv, table).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.body["created"], 2500);
        assert_eq!(answer.body["updated"], 1);
        assert_eq!(answer.body["rejectedByCode"], json!({ "unknown_site": 1 }));
        assert_eq!(answer.body["errors"][0]["line"], 2502);

        let lines = "{\"sensorId\":\"S0001\",\"name\":\"New\"}\n{\"sensorId\":\"\"}\nno\n";
        let ndjson = [("content-type", "application/x-ndjson")];
        let answer = change(
            &hourglass,
            Method::PUT,
            "/v1/sensors",
            &ndjson,
            lines.into(),
        )
        .await;
        assert_eq!(answer.body["updated"], 1);
        assert_eq!(answer.body["rejected"], 2);
        let (_, page) = hourglass.get("/v1/sensors?limit=2").await;
        assert_eq!(page["sensors"][0]["attributes"], json!({ "room": "9" }));
        assert_eq!(page["sensors"][1]["attributes"], json!({}));
    }
}

#[tokio::test]
async fn a_body_of_which_nothing_is_taken_is_422() {
    let (_dir, hourglass) = crate::support::hourglass::alone();
    for (media, body, status, code) in [
        (
            "text/csv",
            "sensorId,nmae\nS1,x\n",
            400,
            "invalid_csv_header",
        ),
        ("text/csv", "", 400, "empty_body"),
        ("application/x-ndjson", "\n", 400, "empty_body"),
        ("application/json", "[]", 415, "unsupported_media_type"),
    ] {
        let headers = [("content-type", media)];
        let answer = change(
            &hourglass,
            Method::PUT,
            "/v1/sensors",
            &headers,
            body.into(),
        )
        .await;
        assert_eq!((answer.status, answer.code()), (status, code), "{body}");
    }
    let headers = [("content-type", "application/x-ndjson")];
    let answer = change(
        &hourglass,
        Method::PUT,
        "/v1/sensors",
        &headers,
        "{}".into(),
    )
    .await;
    assert_eq!(answer.status, 422);
    assert_eq!(answer.body["errors"][0]["code"], "missing_sensor_id");
}
