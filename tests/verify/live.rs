//! Beside a service that writes: hours grow part by part, readings are deleted,
//! sites are renamed. Nothing of it is a finding.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::assert_ends_well;
use crate::support::hourglass::{Hourglass, Start};
use crate::support::mongod::TestDatabase;

const SENSORS: usize = 12;
const RUNS: usize = 6;

/// Readings of all sensors within an hour that is `round` hours on.
async fn grow(hourglass: &Hourglass, round: i64, from: i64) {
    let start = 1_777_629_600 + round * 3600 + from;
    let items: Vec<Value> = (0..SENSORS)
        .flat_map(|n| {
            (0..200).map(move |second| {
                let ts = start + second;
                json!({ "sensorId": format!("S{n:02}"), "ts": ts, "temp": second, "hum": n })
            })
        })
        .collect();
    let (status, answer) = hourglass.post(&Value::Array(items)).await;
    assert_eq!(status, 202, "{answer}");
}

async fn work(hourglass: &Hourglass, is_over: &AtomicBool) {
    let mut round = 0;
    while !is_over.load(Ordering::Relaxed) {
        for step in 0..10 {
            grow(hourglass, round % 20, step * 200).await;
        }
        let (from, to) = (1_777_629_600, 1_777_629_600 + 20 * 3600);
        let sensor = round % SENSORS as i64;
        let path = format!("/v1/sensors/S{sensor:02}/readings?from={from}&to={to}");
        let deleted = hourglass.http().delete(hourglass.url(&path)).send().await;
        assert!(deleted.unwrap().status().is_success());
        let renamed = hourglass.http().put(hourglass.url("/v1/sites/B1"));
        let renamed = renamed.json(&json!({ "name": format!("Mill {round}") }));
        assert!(renamed.send().await.unwrap().status().is_success());
        round += 1;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_service_writes_meanwhile_is_no_finding() {
    let database = TestDatabase::new().await;
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let uri = database.uri();
    let hourglass = Start::on(dir.path())
        .store(&uri)
        .set("STORE__PART_BYTES_MAX", "64KiB")
        .set("FLUSH__READINGS_MAX", "300")
        .start();
    grow(&hourglass, 0, 0).await;
    let put = async |path: String, body: Value| {
        let request = hourglass.http().put(hourglass.url(&path)).json(&body);
        assert!(
            request.send().await.unwrap().status().is_success(),
            "{path}"
        );
    };
    put("/v1/sites/B1".into(), json!({ "name": "Mill" })).await;
    for n in 0..SENSORS {
        put(format!("/v1/sensors/S{n:02}"), json!({ "site": "B1" })).await;
    }
    let is_over = AtomicBool::new(false);
    let verifying = async {
        for _ in 0..RUNS {
            let (data, uri) = (other.path().to_owned(), uri.clone());
            let run = tokio::task::spawn_blocking(move || assert_ends_well(&data, &uri, true));
            let said = run.await;
            is_over.store(said.is_err(), Ordering::Relaxed);
            let said = said.unwrap();
            assert!(!said.contains("repaired\n"), "{said}");
        }
        is_over.store(true, Ordering::Relaxed);
    };
    tokio::join!(work(&hourglass, &is_over), verifying);
    assert!(hourglass.stop().0.success());
    assert_ends_well(other.path(), &uri, false);
}
