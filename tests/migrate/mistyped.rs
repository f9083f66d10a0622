//! A source that is none, and stores that are in use: told, and nothing is made.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::there_and_back::{embedded, migrate};
use crate::support::hourglass::Start;
use crate::support::mongod::{TestDatabase, client};

async fn database_names(database: &TestDatabase) -> Vec<String> {
    let server = client(&database.uri()).await;
    server.list_database_names().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_in_which_nothing_was_stored_is_no_source() {
    let (mistyped, target) = (TestDatabase::new().await, TestDatabase::new().await);
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("target");
    for to in [embedded(&data), target.uri()] {
        let (code, stdout, stderr) = migrate(&mistyped.uri(), &to);
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
        let said = format!("stored nothing in the database `{}`", mistyped.name);
        assert!(stderr.contains(&said), "{stderr}");
        assert!(stderr.contains("mongodb://HOST/DATABASE"), "{stderr}");
    }
    assert!(!data.exists());
    let names = database_names(&mistyped).await;
    for made in [&mistyped.name, &target.name] {
        assert!(!names.contains(made), "{made} in {names:?}");
    }
}

/// Names below `dir`, as they lie there.
fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_without_a_store_is_no_source() {
    let target = TestDatabase::new().await;
    let dir = tempfile::tempdir().unwrap();
    let absent = dir.path().join("absent");
    let empty = dir.path().join("empty");
    let hollow = dir.path().join("hollow");
    fs::create_dir(&empty).unwrap();
    fs::create_dir_all(hollow.join("store")).unwrap();
    for from in [&absent, &empty, &hollow] {
        let (code, stdout, stderr) = migrate(&embedded(from), &target.uri());
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
        let said = format!("--from: there is no store in {}", from.display());
        assert!(stderr.contains(&said), "{stderr}");
        assert!(stderr.contains("give the data directory"), "{stderr}");
    }
    assert!(!absent.exists());
    assert_eq!(names(&empty), [""; 0]);
    assert_eq!(names(&hollow), ["store"]);
    assert_eq!(names(&hollow.join("store")), [""; 0]);
    assert!(!database_names(&target).await.contains(&target.name));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_a_process_has_open_is_refused_on_either_side() {
    let (used, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let hourglass = Start::on(other.path()).start();
    let reading = json!({ "sensorId": "S1", "ts": "2026-05-01T10:00:00Z", "temp": 1.5 });
    assert_eq!(hourglass.post(&reading).await.0, 202);
    assert!(hourglass.stop().0.success());
    let hourglass = Start::on(used.path()).start();
    for (from, to, flag) in [(&used, &other, "--from"), (&other, &used, "--to")] {
        let (code, stdout, stderr) = migrate(&embedded(from.path()), &embedded(to.path()));
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
        let dir = used.path().display();
        let said = format!("{flag}: the data directory {dir} is in use by another hourglass; stop");
        assert!(stderr.contains(&said), "{stderr}");
    }
    assert!(hourglass.stop().0.success());
}

#[test]
fn a_server_that_is_away_is_told_and_nothing_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("target");
    let nobody = "mongodb://127.0.0.1:1/plant?serverSelectionTimeoutMS=200";
    let (code, stdout, stderr) = migrate(nobody, &embedded(&data));
    assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
    assert!(
        stderr.contains("--from: the mongodb store is not available"),
        "{stderr}"
    );
    assert!(!data.exists());
}
