//! What is kept outlives the process, and its damage stops nobody.

use std::fs;
use std::io::Write;

use super::{each, faulty, records};
use crate::support::hourglass::Start;

#[tokio::test]
async fn it_outlives_a_stop_and_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let hourglass = Start::on(dir.path()).start();
    assert_eq!(hourglass.post(&faulty(0..2)).await.0, 422);
    // A stop writes what waits, whether or not anybody asked for it.
    assert!(hourglass.stop().0.success());
    let hourglass = Start::on(dir.path()).start();
    assert_eq!(hourglass.post(&faulty(2..4)).await.0, 422);
    let kept = records(&hourglass, "/v1/rejected").await;
    assert_eq!(each(&kept, "id"), [1, 2, 3, 4]);
    // What was shown is written.
    hourglass.kill_9();
    let hourglass = Start::on(dir.path()).start();
    assert_eq!(records(&hourglass, "/v1/rejected").await, kept);
    assert_eq!(hourglass.post(&faulty(4..5)).await.0, 422);
    let kept = records(&hourglass, "/v1/rejected?cursor=4").await;
    assert_eq!(each(&kept, "id"), [5]);
}

#[tokio::test]
async fn damage_is_told_and_the_rest_is_shown() {
    let dir = tempfile::tempdir().unwrap();
    let hourglass = Start::on(dir.path()).start();
    assert_eq!(hourglass.post(&faulty(0..3)).await.0, 422);
    assert!(hourglass.stop().0.success());
    let path = dir.path().join("quarantine/00000000000000000001.ndjson");
    let mut text = fs::read(&path).unwrap();
    text[3] = b'\0';
    fs::write(&path, &text).unwrap();
    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"{\"id\":4,\"reas").unwrap();
    drop(file);

    let hourglass = Start::on(dir.path()).start();
    let kept = records(&hourglass, "/v1/rejected").await;
    assert_eq!(each(&kept, "id"), [2, 3]);
    let log = hourglass.log().join("\n");
    assert!(log.contains("kept refused items are damaged"), "{log}");
    assert_eq!(fs::read(&path).unwrap(), text, "the torn end is cut");
}

#[tokio::test]
async fn a_directory_that_cannot_be_used_stops_nobody() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("quarantine"), "a file").unwrap();
    let hourglass = Start::on(dir.path()).start();
    assert_eq!(hourglass.post(&faulty(0..3)).await.0, 422);
    let (_, totals) = hourglass.get("/v1/rejected/totals").await;
    assert_eq!(totals["notKept"], 3);
    let log = hourglass.log().join("\n");
    assert!(log.contains("are counted and not kept"), "{log}");
}
