//! `hourglass verify` on both stores: clean, a planted fault named, repaired.

use std::path::Path;
use std::process::Command;

use mongodb::bson::{Document, doc};

use super::builders::{post, run, until_stored};
use crate::support::false_sum;
use crate::support::hourglass::Start;
use crate::support::mongod::TestDatabase;

pub(crate) fn verify(data_dir: &Path, store: &str, repair: bool) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hourglass"));
    command.args(["verify", "--store", store, "--data-dir"]);
    command.arg(data_dir).args(repair.then_some("--repair"));
    run(&mut command)
}

/// Verify finds the fault in `S1|2026-05-01T10` and mends it.
fn assert_finds_and_repairs(data_dir: &Path, store: &str) {
    let (code, stdout, stderr) = verify(data_dir, store, false);
    assert_eq!(code, Some(3), "{stdout}{stderr}");
    assert!(stdout.contains("S1|2026-05-01T10"), "{stdout}");
    assert!(!stdout.contains("S2|"), "{stdout}");
    assert!(stdout.contains("1 parts differ, 0 repaired"), "{stdout}");
    let (code, stdout, _) = verify(data_dir, store, true);
    assert_eq!(code, Some(0), "{stdout}");
    assert!(stdout.contains("1 parts differ, 1 repaired"), "{stdout}");
    let (code, stdout, _) = verify(data_dir, store, false);
    assert_eq!(code, Some(0), "{stdout}");
    assert!(stdout.contains("0 parts differ"), "{stdout}");
}

#[tokio::test(flavor = "multi_thread")]
async fn mongodb_is_verified_while_the_service_runs_and_repaired() {
    let database = TestDatabase::new().await;
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let uri = database.uri();
    let hourglass = Start::on(dir.path()).store(&uri).start();
    for sensor in ["S1", "S2"] {
        post(&hourglass, sensor, 0..300).await;
    }
    until_stored(&hourglass).await;
    let (code, stdout, _) = verify(other.path(), &uri, false);
    assert_eq!(code, Some(0), "{stdout}");
    assert!(
        stdout.contains("2 buckets with 600 readings: 0 parts differ"),
        "{stdout}"
    );

    let buckets = database.open().await.collection::<Document>("buckets");
    let planted = doc! { "$inc": { "computed.temp.sum": 0.5 } };
    let filter = doc! { "_id": "S1|2026-05-01T10" };
    let update = buckets.update_one(filter, planted).await.unwrap();
    assert_eq!(update.modified_count, 1);
    assert_finds_and_repairs(other.path(), &uri);

    // The repair raised the version: the service's next flush is fenced, loads
    // the bucket and goes on.
    post(&hourglass, "S1", 300..400).await;
    until_stored(&hourglass).await;
    let (code, stdout, _) = verify(other.path(), &uri, false);
    assert_eq!(code, Some(0), "{stdout}");
    assert!(stdout.contains("2 buckets with 700 readings"), "{stdout}");
    assert!(hourglass.stop().0.success());
}

#[tokio::test]
async fn the_embedded_store_is_verified_while_no_service_runs_and_repaired() {
    let dir = tempfile::tempdir().unwrap();
    let hourglass = Start::on(dir.path()).start();
    for sensor in ["S1", "S2"] {
        post(&hourglass, sensor, 0..300).await;
    }
    let (code, _, stderr) = verify(dir.path(), "embedded", false);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("in use by another hourglass"), "{stderr}");
    assert!(hourglass.stop().0.success());
    let (code, stdout, _) = verify(dir.path(), "embedded", false);
    assert_eq!(code, Some(0), "{stdout}");

    false_sum::plant(&dir.path().join("store")).await;
    assert_finds_and_repairs(dir.path(), "embedded");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_is_no_bucket_hides_no_fault_of_another() {
    let database = TestDatabase::new().await;
    let dir = tempfile::tempdir().unwrap();
    let uri = database.uri();
    let hourglass = Start::on(dir.path()).store(&uri).start();
    post(&hourglass, "S1", 0..30).await;
    until_stored(&hourglass).await;
    let buckets = database.open().await.collection::<Document>("buckets");
    for id in ["a", "z"] {
        buckets.insert_one(doc! { "_id": id }).await.unwrap();
    }
    let edit = doc! { "$set": { "computed.temp.sum": -1.0 } };
    buckets
        .update_one(doc! { "sensorId": "S1" }, edit)
        .await
        .unwrap();
    let other = tempfile::tempdir().unwrap();
    let (code, stdout, _) = verify(other.path(), &uri, true);
    assert_eq!(code, Some(3), "{stdout}");
    assert!(stdout.contains("S1|2026-05-01T10 repaired"), "{stdout}");
    assert!(stdout.contains("2 buckets damaged"), "{stdout}");
}

#[test]
fn a_data_directory_without_a_store_is_told_and_not_made() {
    let dir = tempfile::tempdir().unwrap();
    let mistyped = dir.path().join("dta");
    let (code, stdout, stderr) = verify(&mistyped, "embedded", false);
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert!(stderr.contains("there is no store in"), "{stderr}");
    assert!(!mistyped.exists());
}
