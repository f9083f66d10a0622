//! The whole service with short keeps, on both stores.

use std::process::Command;

use serde_json::{Value, json};

use super::builders::{hours_ago, items, post, until_metric, until_stored};
use crate::support::hourglass::{Hourglass, Start};
use crate::support::site::Site;

const HOURS: &str = "hourglass_retention_dropped_buckets_total{tier=\"hours\"}";
const READINGS: &str = "hourglass_retention_dropped_buckets_total{tier=\"readings\"}";

/// Far enough from both cutoffs that a change of the hour in mid-test changes
/// nothing.
const AGO: [i64; 6] = [90, 70, 40, 12, 3, 0];

/// The hour that is being filled goes to the store at once, too.
fn start(site: &Site) -> Start {
    site.start().set("FLUSH__AGE_MAX", "100ms")
}

async fn get(server: &Hourglass, path: &str) -> Value {
    let (status, answer) = server.get(path).await;
    assert_eq!(status, 200, "{answer}");
    answer
}

/// `hourglass verify`: its last word.
fn verify(start: &Start) -> String {
    let serve = start.command();
    let mut command = Command::new(serve.get_program());
    let mut arguments = serve.get_args();
    command.arg("verify");
    while let Some(argument) = arguments.next() {
        if argument == "--data-dir" || argument == "--store" {
            command.arg(argument).args(arguments.next());
        }
    }
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    text
}

async fn what_is_too_old_goes_and_nothing_else(site: Site) {
    let forever = start(&site);
    let server = forever.start();
    for sensor in ["S1", "S2"] {
        post(&server, &items(sensor, &AGO)).await;
    }
    until_stored(&server).await;
    let hourly = format!("/v1/sensors/S1/hourly?from={}", hours_ago(80));
    let before = get(&server, &hourly).await;
    assert_eq!(before["hours"].as_array().unwrap().len(), 5);
    let everything = get(&server, "/v1/sensors/S1/readings").await;
    assert_eq!(everything["readings"].as_array().unwrap().len(), 6);
    assert_eq!(everything.get("rawFrom"), None);
    assert!(server.stop().0.success());

    let start = start(&site).set("RETENTION__HOURS", "80h");
    let start = start.set("RETENTION__READINGS", "20h");
    let server = start.start();
    until_metric(&server, HOURS, 2.0).await;
    until_metric(&server, READINGS, 4.0).await;
    assert_eq!(
        get(&server, &hourly).await,
        before,
        "computed fields are the same"
    );
    assert_eq!(get(&server, "/v1/sensors/S1/hourly").await, before);

    let response = server.http().get(server.url("/v1/sensors/S1/readings"));
    let response = response.send().await.unwrap();
    let header = response.headers()["hourglass-raw-from"]
        .to_str()
        .unwrap()
        .to_owned();
    let answer: Value = response.json().await.unwrap();
    assert_eq!(answer["rawFrom"], json!(header));
    let readings = answer["readings"].as_array().unwrap();
    assert_eq!(readings.len(), 3, "{answer}");
    let from = &readings[0]["ts"].as_str().unwrap();
    let later = get(&server, &format!("/v1/sensors/S1/readings?from={from}")).await;
    assert_eq!(later.get("rawFrom"), None, "{later}");
    let latest = get(&server, "/v1/sensors/S1/latest").await;
    assert_eq!(latest["latest"]["measures"]["temp"], json!(0.0));

    // Late data: between the cutoff and now it is taken, before it is not.
    let (_, answer) = server.post(&items("S1", &[85, 50, 15])).await;
    assert_eq!(answer["accepted"], json!(1), "{answer}");
    assert_eq!(
        answer["rejectedByCode"],
        json!({ "older_than_retention": 2 })
    );
    until_stored(&server).await;
    let hours = get(&server, &hourly).await;
    assert_eq!(hours["hours"].as_array().unwrap().len(), 6);

    let policy = get(&server, "/v1/retention").await;
    assert_eq!(policy["hours"]["keep"], json!("80h"));
    assert_eq!(policy["readings"]["keep"], json!("20h"));
    assert_eq!(policy["readings"]["before"], json!(header));
    assert_eq!(policy["sensorsLookedAt"], json!(2));
    let samples = server.samples().await;
    let value = |name: &str| samples[&format!("hourglass_values_{name}")];
    assert_eq!(
        value("accepted_total") + value("recovered_total"),
        [
            "stored_total",
            "duplicate_total",
            "conflict_total",
            "expired_total",
            "pending"
        ]
        .map(value)
        .iter()
        .sum::<f64>()
    );
    assert!(server.stop().0.success());
    let said = verify(&start);
    assert!(said.contains("0 parts differ"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_old_goes_and_nothing_else_embedded() {
    what_is_too_old_goes_and_nothing_else(Site::embedded().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_old_goes_and_nothing_else_mongodb() {
    what_is_too_old_goes_and_nothing_else(Site::mongodb().await).await;
}

/// No pass is due for a day.
async fn what_people_say_holds_at_once(site: Site) {
    let server = start(&site).set("RETENTION__EVERY", "24h").start();
    for sensor in ["S1", "S2"] {
        post(&server, &items(sensor, &AGO)).await;
    }
    until_stored(&server).await;
    let put = |path: &'static str, body: Value| {
        let request = server.http().put(server.url(path));
        let request = request.header("content-type", "application/json");
        async move {
            let response = request.body(body.to_string()).send().await.unwrap();
            let status = response.status();
            assert!(status.is_success(), "{}", response.text().await.unwrap());
        }
    };
    put("/v1/sensors/S1", json!({ "rawRetention": "20h" })).await;
    until_metric(&server, READINGS, 3.0).await;
    put(
        "/v1/sites/plant",
        json!({ "name": "Plant", "retention": "60h" }),
    )
    .await;
    put("/v1/sensors/S2", json!({ "site": "plant" })).await;
    until_metric(&server, HOURS, 2.0).await;
    let of = |sensor: &str| format!("/v1/retention?sensor={sensor}");
    let policy = get(&server, &of("S1")).await;
    let named = &policy["bySensor"][0];
    assert_eq!(named["hours"]["before"], Value::Null, "{policy}");
    assert!(named["readings"]["before"].is_string(), "{policy}");
    let policy = get(&server, &of("S2")).await;
    assert!(
        policy["bySensor"][0]["hours"]["before"].is_string(),
        "{policy}"
    );
    let (_, answer) = server.post(&items("S1", &[25])).await;
    assert_eq!(answer["errors"][0]["code"], json!("older_than_retention"));
    let (_, answer) = server.post(&items("S3", &[25])).await;
    assert_eq!(answer["accepted"], json!(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_people_say_holds_at_once_embedded() {
    what_people_say_holds_at_once(Site::embedded().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_people_say_holds_at_once_mongodb() {
    what_people_say_holds_at_once(Site::mongodb().await).await;
}
