//! Real answers to changes of the registry are as described.

use super::answers::Case;
use super::document;
use crate::support::hourglass::{Hourglass, Start};

const PATCH: &[(&str, &str)] = &[("content-type", "application/merge-patch+json")];
const LINES: &[(&str, &str)] = &[("content-type", "application/x-ndjson")];
const TABLE: &[(&str, &str)] = &[("content-type", "text/csv")];
const UNMATCHED: &[(&str, &str)] = &[
    ("content-type", "application/json"),
    ("if-match", "\"9-9\""),
];

const SITE: &str = r#"{"name":"Plant 1","city":"Bern","address":"Main Street 1","notes":"ring twice",
    "position":{"latitude":46.95,"longitude":7.44},"timeZone":"Europe/Zurich","retention":"forever",
    "contacts":[{"name":"Ada","role":"night","email":"a@b.example","phone":"1"}]}"#;

const SENSOR: &str = r#"{"name":"Boiler","model":"SHT31","units":{"temp":"°C"},"site":"S1",
    "attributes":{"room":"4b","floor":3},"retention":"400d","rawRetention":"30d"}"#;

fn put<'a>(path: &'a str, body: &'a str, status: u16) -> Case<'a> {
    Case {
        method: "put",
        path,
        query: "",
        headers: &[("content-type", "application/json")],
        body,
        status,
    }
}

fn patch<'a>(path: &'a str, body: &'a str, status: u16) -> Case<'a> {
    Case {
        method: "patch",
        headers: PATCH,
        ..put(path, body, status)
    }
}

fn get<'a>(path: &'a str, query: &'a str, status: u16) -> Case<'a> {
    Case {
        method: "get",
        query,
        headers: &[],
        ..put(path, "", status)
    }
}

async fn check(hourglass: &Hourglass, cases: impl IntoIterator<Item = Case<'_>>) {
    let document = document();
    for case in cases {
        case.check(hourglass, &document).await;
    }
}

#[tokio::test]
async fn changes_of_sensors_and_sites_are_answered_as_described() {
    let (site, sensor) = ("/v1/sites/{id}", "/v1/sensors/{id}");
    let dir = tempfile::tempdir().unwrap();
    let hourglass = Start::on(dir.path()).start();
    let large = format!("\"{}\"", "x".repeat(1 << 20));
    check(
        &hourglass,
        [
            get(site, "", 404),
            patch(site, "{}", 404),
            put(site, SITE, 201),
            put(site, SITE, 200),
            patch(site, r#"{"name":"Plant 2"}"#, 200),
            get(site, "", 200),
            get(site, "?x=1", 400),
            get("/v1/sites", "", 200),
            get("/v1/sites", "?limit=0", 400),
            put(site, r#"{"timeZone":"X"}"#, 422),
            put(site, "{", 400),
            Case {
                headers: PATCH,
                ..put(site, "{}", 415)
            },
            Case {
                headers: UNMATCHED,
                ..put(site, "{}", 412)
            },
            patch(sensor, "{}", 404),
            put(sensor, SENSOR, 201),
            put(sensor, SENSOR, 200),
            put(sensor, r#"{"site":"none"}"#, 422),
            put(sensor, &large, 413),
            patch(sensor, r#"{"attributes":{"room":null}}"#, 200),
            patch(sensor, r#"{"units":1}"#, 422),
            Case {
                headers: UNMATCHED,
                ..put(sensor, "{}", 412)
            },
            Case {
                headers: LINES,
                ..put("/v1/sensors", "{\"sensorId\":\"S2\"}\n{}\n", 200)
            },
            Case {
                headers: LINES,
                ..put("/v1/sensors", "{}\n", 422)
            },
            Case {
                headers: TABLE,
                ..put("/v1/sensors", "sensorId,attr.room\nS2,1\nS3,2,3\n", 200)
            },
            Case {
                headers: TABLE,
                ..put("/v1/sensors", "sensorId,x\nS2,1\n", 400)
            },
            put("/v1/sensors", "[]", 415),
        ],
    )
    .await;
}

#[tokio::test]
async fn without_the_store_they_are_refused_as_described() {
    let dir = tempfile::tempdir().unwrap();
    let hourglass = Start::on(dir.path())
        .store("mongodb://127.0.0.1:9/hourglass?replicaSet=none")
        .set("STORE__CONNECT_TIMEOUT", "200ms")
        .set("SHUTDOWN__GRACE", "0s")
        .start();
    check(
        &hourglass,
        [
            put("/v1/sites/{id}", SITE, 503),
            patch("/v1/sites/{id}", SITE, 503),
            get("/v1/sites/{id}", "", 503),
            get("/v1/sites", "", 503),
            put("/v1/sensors/{id}", "{}", 503),
            patch("/v1/sensors/{id}", "{}", 503),
            Case {
                headers: LINES,
                ..put("/v1/sensors", "{\"sensorId\":\"S2\"}\n", 503)
            },
        ],
    )
    .await;
}
