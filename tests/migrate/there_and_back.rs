//! Embedded to MongoDB and back: the answers of all three are the same.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::hourglass::{Hourglass, Start};
use crate::support::mongod::TestDatabase;

pub(crate) fn migrate(from: &str, to: &str) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hourglass"));
    // Small parts, so that hours have several in MongoDB.
    command.env("HOURGLASS__STORE__PART_BYTES_MAX", "64 KiB");
    let output = command.args(["migrate", "--from", from, "--to", to]);
    let output = output.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

pub(crate) fn embedded(dir: &Path) -> String {
    format!("embedded:{}", dir.display())
}

/// Sensors with odd names and values, one with more than a part of an hour.
const SENSORS: [&str; 3] = ["S|1", "a #b/c", "many"];

/// Puts a record that must be taken.
pub(super) async fn put(hourglass: &Hourglass, path: &str, body: Value) {
    let request = hourglass.http().put(hourglass.url(path)).json(&body);
    let response = request.send().await.unwrap();
    let status = response.status();
    assert!(
        status.is_success(),
        "{path} {body}: {}",
        response.text().await.unwrap()
    );
}

async fn fill(hourglass: &Hourglass) {
    let odd = json!({ "a.b": -0.0, "50%": 5e-324, "$x": 1e300, "sec": 7, "temp": 0.1 });
    let mut readings: Vec<Value> = SENSORS[..2]
        .iter()
        .flat_map(|id| {
            ["2026-05-01T10:00:00.000001Z", "2026-05-01T11:59:59.999999Z"]
                .map(|ts| json!({ "sensorId": id, "ts": ts, "measures": odd }))
        })
        .collect();
    readings.extend((0..3600).map(|s: u32| {
        let ts = format!("2026-05-01T10:{:02}:{:02}.5Z", s / 60, s % 60);
        json!({ "sensorId": "many", "ts": ts, "temp": f64::from(s) / 7.0, "hum": s })
    }));
    let (status, answer) = hourglass.post(&Value::Array(readings)).await;
    assert_eq!((status, &answer["rejected"]), (202, &json!(0)), "{answer}");
    for (path, body) in [
        ("/v1/sites/B1", json!({ "name": "Mill", "city": "Zug" })),
        (
            "/v1/sensors/many",
            json!({ "site": "B1", "name": "Many", "attributes": { "k": "v" } }),
        ),
    ] {
        put(hourglass, path, body).await;
    }
}

/// What a service says of everything.
async fn answers(hourglass: &Hourglass) -> Vec<Value> {
    let mut answers = Vec::new();
    let range = "from=2026-05-01T00:00:00Z&to=2026-05-02T00:00:00Z";
    for id in ["S%7C1", "a%20%23b%2Fc", "many"] {
        for path in [
            format!("/v1/sensors/{id}/readings?{range}&limit=10000"),
            format!("/v1/sensors/{id}/hourly?{range}"),
            format!("/v1/sensors/{id}/latest"),
        ] {
            let (status, answer) = hourglass.get(&path).await;
            assert_eq!(status, 200, "{path}: {answer}");
            answers.push(answer);
        }
    }
    answers.push(hourglass.get("/v1/sites/B1").await.1);
    answers
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_is_the_same_after_the_way_to_mongodb_and_back() {
    let database = TestDatabase::new().await;
    let uri = database.uri();
    let (first, last) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let hourglass = Start::on(first.path()).start();
    fill(&hourglass).await;
    let before = answers(&hourglass).await;

    let (code, _, stderr) = migrate(&embedded(first.path()), &uri);
    assert_eq!(code, Some(1), "a process has it open");
    assert!(stderr.contains("in use by another hourglass"), "{stderr}");
    assert!(hourglass.stop().0.success());

    let same = "compared: 5 buckets with 3604 readings are the same, 0 records differ";
    for (from, to) in [
        (embedded(first.path()), uri.clone()),
        (uri.clone(), embedded(last.path())),
    ] {
        for counts in ["5 buckets copied, 0 there", "0 buckets copied, 5 there"] {
            let (code, stdout, stderr) = migrate(&from, &to);
            assert_eq!(code, Some(0), "{stdout}{stderr}");
            assert!(stdout.contains(counts), "{stdout}");
            assert!(stdout.contains(same), "{stdout}");
        }
    }
    let parts = database.open().await;
    let parts = parts.collection::<mongodb::bson::Document>("buckets");
    let of_many = mongodb::bson::doc! { "sensorId": "many" };
    assert!(parts.count_documents(of_many).await.unwrap() > 1);
    Start::on(last.path()).verify();
    let hourglass = Start::on(last.path()).start();
    assert_eq!(answers(&hourglass).await, before);
    assert!(hourglass.stop().0.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_target_has_of_its_own_is_told_and_stays() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for (dir, temp) in [(&one, 1.5), (&other, 2.5)] {
        let hourglass = Start::on(dir.path()).start();
        let reading = json!({ "sensorId": "S1", "ts": "2026-05-01T10:00:00Z", "temp": temp });
        assert_eq!(hourglass.post(&reading).await.0, 202);
        assert!(hourglass.stop().0.success());
    }
    let (code, stdout, stderr) = migrate(&embedded(one.path()), &embedded(other.path()));
    assert_eq!(code, Some(3), "{stdout}{stderr}");
    assert!(
        stdout.contains("S1|2026-05-01T10: not copied: the target holds something else"),
        "{stdout}"
    );
    let hourglass = Start::on(other.path()).start();
    let (_, latest) = hourglass.get("/v1/sensors/S1/latest").await;
    assert!(latest.to_string().contains("2.5"), "{latest}");
    assert!(hourglass.stop().0.success());
}

#[tokio::test]
async fn readings_that_only_the_journal_holds_are_not_left_behind() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let hourglass = Start::on(one.path()).start();
    let reading = json!({ "sensorId": "S1", "ts": "2026-05-01T10:00:00Z", "temp": 1.5 });
    assert_eq!(hourglass.post(&reading).await.0, 202);
    hourglass.kill_9();
    let (code, _, stderr) = migrate(&embedded(one.path()), &embedded(other.path()));
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("stop it cleanly"), "{stderr}");
    let (code, _, stderr) = migrate(&embedded(one.path()), &embedded(one.path()));
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("are one store"), "{stderr}");
}
