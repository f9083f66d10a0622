//! How a run ends, and what it says on its way.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use mongodb::bson::{Document, doc};

use super::assert_ends_well;
use crate::operation::builders::{post, until_stored};
use crate::operation::verify::verify;
use crate::support::hourglass::Start;
use crate::support::mongod::TestDatabase;

#[tokio::test]
async fn how_far_it_is_stands_on_standard_error() {
    let dir = tempfile::tempdir().unwrap();
    let hourglass = Start::on(dir.path()).start();
    post(&hourglass, "S1", 0..30).await;
    assert!(hourglass.stop().0.success());
    let (code, stdout, stderr) = verify(dir.path(), "embedded", false);
    assert_eq!((code, stdout.lines().count()), (Some(0), 2), "{stdout}");
    for line in [
        "verifying: 0 buckets (0 %), 0 readings",
        "verifying: 0 sensors",
    ] {
        assert!(stderr.lines().any(|said| said == line), "{line}: {stderr}");
    }
}

#[test]
fn a_store_that_is_away_is_a_failure() {
    let dir = tempfile::tempdir().unwrap();
    let nobody = "mongodb://127.0.0.1:1/plant?serverSelectionTimeoutMS=200";
    let (code, stdout, stderr) = verify(dir.path(), nobody, true);
    assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
    assert!(
        stderr.contains("the mongodb store is not available"),
        "{stderr}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repair_that_is_killed_is_gone_on_with() {
    const SENSORS: usize = 400;
    let database = TestDatabase::new().await;
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let uri = database.uri();
    let hourglass = Start::on(dir.path()).store(&uri).start();
    let readings = (0..SENSORS).map(|n| {
        let ts = "2026-05-01T10:00:00Z";
        serde_json::json!({ "sensorId": format!("S{n}"), "ts": ts, "temp": n })
    });
    let readings: serde_json::Value = readings.collect();
    assert_eq!(hourglass.post(&readings).await.0, 202);
    until_stored(&hourglass).await;
    assert!(hourglass.stop().0.success());
    let buckets = database.open().await.collection::<Document>("buckets");
    let planted = doc! { "$inc": { "computed.temp.sum": 0.5 } };
    let planted = buckets.update_many(doc! {}, planted).await.unwrap();
    assert_eq!(planted.modified_count, SENSORS as u64);

    let mut command = Command::new(env!("CARGO_BIN_EXE_hourglass"));
    command.args(["verify", "--repair", "--store", &uri, "--data-dir"]);
    command.arg(other.path()).stderr(Stdio::null());
    let mut repairing = command.stdout(Stdio::piped()).spawn().unwrap();
    let said = BufReader::new(repairing.stdout.take().unwrap()).lines();
    let is_first = |line: &String| line.ends_with(" repaired");
    assert!(said.map(Result::unwrap).any(|line| is_first(&line)));
    repairing.kill().unwrap();
    repairing.wait().unwrap();
    assert_ends_well(other.path(), &uri, true);
    let said = assert_ends_well(other.path(), &uri, false);
    assert!(said.contains(": 0 parts differ, "), "{said}");
}
