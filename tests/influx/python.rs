//! InfluxDB's own clients for Python, unchanged: what they write is what is
//! read, and what they are told makes them do what is right.

use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::builders::{assert_balanced, reading, readings, started, values};
use super::outages::busy;
use crate::support::eventually::eventually;
use crate::support::hourglass::{Hourglass, Start};
use crate::support::python::{INFLUXDB_CLIENTS, python};
use crate::support::script::Script;

const AT_TEN: &str = "2026-05-01T10:00:00Z";

fn script(name: &str) -> Command {
    let mut command = python(INFLUXDB_CLIENTS);
    // A warning is not what these scripts are about.
    command.args(["-W", "ignore"]);
    command.arg(format!(
        "{}/tests/influx/{name}",
        env!("CARGO_MANIFEST_DIR")
    ));
    command
}

fn v2(hourglass: &Hourglass, what: &str, prefix: &str) -> Script {
    let mut command = script("client_v2.py");
    Script::start(command.args([&hourglass.url(""), what, prefix]))
}

fn v1(hourglass: &Hourglass, what: &str, prefix: &str) -> Script {
    let mut command = script("client_v1.py");
    let (host, port) = hourglass.address().split_once(':').unwrap();
    Script::start(command.args([host, port, what, prefix]))
}

fn last(lines: &[String]) -> Value {
    serde_json::from_str(lines.last().unwrap()).unwrap()
}

#[tokio::test]
async fn version_2_writes_points_of_every_kind_and_precision() {
    let (_dir, hourglass) = started();
    for what in ["values", "gzip"] {
        assert!(v2(&hourglass, what, what).end().is_empty());
        for kind in ["ns", "us", "ms", "s", "datetime", "line"] {
            assert_eq!(
                readings(&hourglass, &format!("{what}-{kind}")).await,
                [reading(AT_TEN, json!({ "temp": 24.25 }))],
                "{kind}"
            );
        }
        assert_eq!(
            readings(&hourglass, &format!("{what}-dict")).await,
            [reading(
                AT_TEN,
                json!({ "temp": 24.25, "n": 5.0, "on": 1.0 })
            )]
        );
        let untimed = values(&hourglass, &format!("{what}-untimed")).await;
        assert_eq!(untimed, [json!({ "temp": 24.25 })]);
    }
    let told = last(&v2(&hourglass, "batches", "b").end());
    assert_eq!(
        told,
        json!({ "written": [100, 300, 300, 300], "faults": [] })
    );
    let (_, answer) = hourglass.get("/v1/sensors/b-batched/hourly").await;
    assert_eq!(answer["hours"][0]["count"], 1000);
    assert_eq!(answer["hours"][0]["measures"]["temp"]["max"], 999.0 / 8.0);
    assert_balanced(&hourglass).await;
}

#[tokio::test]
async fn version_2_sees_a_healthy_server_and_what_was_refused() {
    let (_dir, hourglass) = started();
    let build = concat!("hourglass-", env!("CARGO_PKG_VERSION"));
    assert_eq!(
        last(&v2(&hourglass, "surroundings", "").end()),
        json!({
            "ping": true,
            "version": "1.8.10",
            "build": build,
            "health": ["hourglass", "pass", "readings are taken", "1.8.10"],
            "checks": [["journal", "pass"], ["store", "pass"]],
        })
    );
    let told = last(&v2(&hourglass, "fault", "f").end());
    assert_eq!(told["status"], 400);
    let message = told["message"].as_str().unwrap();
    assert!(
        message.starts_with("partial write: 1 of 2 lines were refused, the others are stored; line 2, temp (not_finite): "),
        "{message}"
    );
    assert_eq!(
        values(&hourglass, "f-part").await,
        [json!({ "temp": 24.25 })]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn version_2_raises_or_tries_again_after_503() {
    let dir = TempDir::new().unwrap();
    let (hourglass, held) = busy(&dir).await;
    let mut script = v2(&hourglass, "unavailable", "u");
    let message = "the bodies of other requests take all the memory they may; send it again later";
    let told = json!({ "status": 503, "retry_after": "5", "message": message });
    script.expect_json(&told);
    script.expect_line("again");
    drop(held);
    assert_eq!(script.end().last().unwrap(), "written");
    assert_eq!(
        readings(&hourglass, "u-again").await,
        [reading(AT_TEN, json!({ "temp": 24.25 }))]
    );
}

#[tokio::test]
async fn version_1_writes_points_of_every_precision() {
    let (_dir, hourglass) = started();
    for what in ["values", "gzip"] {
        assert!(v1(&hourglass, what, what).end().is_empty());
        let measures = json!({ "temp": 24.25, "n": 5.0, "on": 1.0 });
        for kind in ["n", "u", "ms", "s", "m", "h", "text"] {
            assert_eq!(
                readings(&hourglass, &format!("{what}-{kind}")).await,
                [reading(AT_TEN, measures.clone())],
                "{kind}"
            );
        }
        let untimed = values(&hourglass, &format!("{what}-untimed")).await;
        assert_eq!(untimed, [measures]);
        let (_, answer) = hourglass
            .get(&format!("/v1/sensors/{what}-many/hourly"))
            .await;
        assert_eq!(answer["hours"][0]["count"], 1000);
    }
    assert_balanced(&hourglass).await;
}

#[tokio::test]
async fn version_1_connects_and_sees_what_was_refused() {
    let (_dir, hourglass) = started();
    let lines = v1(&hourglass, "surroundings", "").end();
    let databases = json!([{ "name": "hourglass" }, { "name": "plant" }]);
    let told: Value = serde_json::from_str(&lines[0]).unwrap();
    assert_eq!(told, json!({ "ping": "1.8.10", "databases": databases }));
    let refused = last(&lines);
    assert_eq!(refused["code"], 400);
    let message = refused["content"]["error"].as_str().unwrap();
    assert!(message.contains("/v1/sensors/{id}/hourly"), "{message}");

    let told = last(&v1(&hourglass, "fault", "f").end());
    assert_eq!(told["code"], 400);
    let message = told["content"]["error"].as_str().unwrap();
    assert!(
        message.starts_with("partial write: 1 of 2 lines"),
        "{message}"
    );
    assert_eq!(
        values(&hourglass, "f-part").await,
        [json!({ "temp": 24.25 })]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn version_1_raises_a_fault_of_the_server_after_503() {
    let dir = TempDir::new().unwrap();
    let (hourglass, held) = busy(&dir).await;
    let mut script = v1(&hourglass, "unavailable", "u");
    let message = "the bodies of other requests take all the memory they may; send it again later";
    script.expect_json(&json!({ "error": message }));
    drop(held);
    crate::support::eventually::eventually("there is room", async || {
        let bytes = hourglass.metric("hourglass_http_body_bytes").await;
        (bytes == 0.0).then_some(())
    })
    .await;
    script.say("go on");
    assert_eq!(script.end(), ["written"]);
    assert_eq!(readings(&hourglass, "u-again").await.len(), 1);
}

#[tokio::test]
async fn version_1_writes_datagrams() {
    let dir = TempDir::new().unwrap();
    let hourglass = Start::on(dir.path()).udp("127.0.0.1:0").start();
    let address = hourglass.udp();
    let mut command = script("client_v1.py");
    let (host, port) = (address.ip().to_string(), address.port().to_string());
    assert!(
        Script::start(command.args([&host, &port, "udp", "v1"]))
            .end()
            .is_empty()
    );
    let decoded = "hourglass_udp_datagrams_decoded_total";
    let are_taken = async || (hourglass.metric(decoded).await == 2.0).then_some(());
    eventually("both datagrams are taken", are_taken).await;
    for (number, at) in [AT_TEN, "2026-05-01T10:00:01Z"].iter().enumerate() {
        assert_eq!(
            readings(&hourglass, &format!("v1-udp{number}")).await,
            [reading(at, json!({ "temp": 24.25, "n": 5.0, "on": 1.0 }))]
        );
    }
    assert_balanced(&hourglass).await;
}
