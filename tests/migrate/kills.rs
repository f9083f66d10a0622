//! Killed in the middle, more than once, then run again: whole, and nothing
//! twice. It is killed when its note shows a bucket more than at the last kill,
//! or as soon as it can be, so a run ends wherever it happens to be.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::there_and_back::{embedded, migrate};
use crate::support::eventually::eventually;
use crate::support::hourglass::Start;
use crate::support::mongod::{Mongod, TestDatabase};

const HOURS: u64 = 3000;

/// An embedded store of so many hours, a reading each.
async fn filled() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let hourglass = Start::on(dir.path()).start();
    let readings: Vec<Value> = (0..HOURS)
        .map(|hour| {
            let ts = 1_700_000_000 + hour * 3600;
            json!({ "sensorId": format!("S{}", hour % 7), "ts": ts, "temp": hour as f64 / 3.0 })
        })
        .collect();
    let (status, answer) = hourglass.post(&Value::Array(readings)).await;
    assert_eq!((status, &answer["accepted"]), (202, &json!(HOURS)));
    assert!(hourglass.stop().0.success());
    dir
}

fn begin(from: &str, to: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_hourglass"))
        .args(["migrate", "--from", from, "--to", to])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// How many buckets the note in `dir` speaks of.
fn noted(dir: &Path) -> u64 {
    let note = std::fs::read(dir.join("migration.json")).unwrap_or_default();
    let note: Value = serde_json::from_slice(&note).unwrap_or_default();
    note["buckets"].as_u64().unwrap_or_default()
}

/// Waits until more than `share` buckets are noted, or the run has ended.
async fn until_noted(child: &mut Child, dir: &Path, share: u64) {
    let look = async || {
        let has_ended = child.try_wait().unwrap().is_some();
        (has_ended || noted(dir) > share).then_some(())
    };
    eventually("a note", look).await;
}

/// Numbers of the report: copied, there already, done by an earlier run.
fn counts(stdout: &str) -> [u64; 3] {
    let line = stdout.lines().find(|line| line.contains("buckets copied"));
    let words = line.unwrap().split(|c: char| !c.is_ascii_digit());
    let mut numbers = words.filter_map(|word| word.parse().ok());
    [(); 3].map(|()| numbers.next().unwrap())
}

fn assert_whole(stdout: &str) {
    let same = format!("compared: {HOURS} buckets with {HOURS} readings are the same, 0 records");
    assert!(stdout.contains(&same), "{stdout}");
    assert_eq!(counts(stdout).iter().sum::<u64>(), HOURS, "{stdout}");
}

/// Kills it again and again, then runs it to the end.
async fn killed_and_ended(from: &str, to: &str, note_dir: &Path) {
    // Before it did anything that can be seen, too.
    let mut child = begin(from, to);
    child.kill().unwrap();
    child.wait().unwrap();
    let mut killed_at = Vec::new();
    for share in [0, 500, 1500, 2200] {
        let mut child = begin(from, to);
        until_noted(&mut child, note_dir, share).await;
        child.kill().unwrap();
        child.wait().unwrap();
        let reached = noted(note_dir);
        assert!(reached >= share || reached == 0, "{killed_at:?}: {reached}");
        killed_at.push(reached);
    }
    assert!(killed_at[0] > 0 && killed_at[0] < HOURS, "{killed_at:?}");
    let before = noted(note_dir);
    let (code, stdout, stderr) = migrate(from, to);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    assert_whole(&stdout);
    assert_eq!(counts(&stdout)[2], before, "{killed_at:?}: {stdout}");
    assert!(
        stderr.contains(&format!("copying: {before} buckets")),
        "{stderr}"
    );
    assert!(!note_dir.join("migration.json").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_that_is_killed_goes_on_where_it_was() {
    let database = TestDatabase::new().await;
    let (dir, back) = (filled().await, tempfile::tempdir().unwrap());
    let uri = database.uri();
    killed_and_ended(&embedded(dir.path()), &uri, dir.path()).await;
    killed_and_ended(&uri, &embedded(back.path()), back.path()).await;
    Start::on(back.path()).verify();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_ends_the_run_and_the_next_one_goes_on() {
    let mut server = Mongod::new();
    server.start().await;
    let uri = format!("{}&serverSelectionTimeoutMS=500", server.uri_of("plant"));
    let (dir, back) = (filled().await, tempfile::tempdir().unwrap());
    let there = (embedded(dir.path()), uri.clone(), dir.path());
    let and_back = (uri.clone(), embedded(back.path()), back.path());
    for (from, to, note_dir) in [there, and_back] {
        let mut child = begin(&from, &to);
        until_noted(&mut child, note_dir, 0).await;
        server.kill();
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(1));
        let before = noted(note_dir);
        assert!(before > 0);
        let (code, _, stderr) = migrate(&from, &to);
        assert_eq!(code, Some(1), "{stderr}");
        assert!(
            stderr.contains("the mongodb store is not available"),
            "{stderr}"
        );
        server.start().await;
        let (code, stdout, stderr) = migrate(&from, &to);
        assert_eq!(code, Some(0), "{stdout}{stderr}");
        assert_whole(&stdout);
        assert_eq!(counts(&stdout)[2], before, "{stdout}");
    }
    let empty = tempfile::tempdir().unwrap();
    Start::on(empty.path()).store(&uri).verify();
    Start::on(back.path()).verify();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_note_does_not_hide_what_the_target_lost_since() {
    let database = TestDatabase::new().await;
    let (dir, uri) = (filled().await, database.uri());
    let mut child = begin(&embedded(dir.path()), &uri);
    until_noted(&mut child, dir.path(), 0).await;
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(noted(dir.path()) > 0);
    let buckets = database.open().await;
    let buckets = buckets.collection::<mongodb::bson::Document>("buckets");
    let first = mongodb::bson::doc! { "sensorId": "S0" };
    buckets.delete_one(first).await.unwrap();
    let (code, stdout, stderr) = migrate(&embedded(dir.path()), &uri);
    assert_eq!(code, Some(3), "{stdout}{stderr}");
    assert!(stdout.contains(": the target lacks it"), "{stdout}");
    assert!(
        stdout.contains("are the same, 1 records differ"),
        "{stdout}"
    );
    // The next run looks at everything.
    let (code, stdout, stderr) = migrate(&embedded(dir.path()), &uri);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    assert_eq!(counts(&stdout), [1, HOURS - 1, 0], "{stdout}");

    // Emptied whole: the note is not gone by.
    let mut child = begin(&embedded(dir.path()), &uri);
    until_noted(&mut child, dir.path(), 0).await;
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(noted(dir.path()) > 0);
    database.open().await.drop().await.unwrap();
    let (code, stdout, stderr) = migrate(&embedded(dir.path()), &uri);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    assert_eq!(counts(&stdout), [HOURS, 0, 0], "{stdout}");
}
