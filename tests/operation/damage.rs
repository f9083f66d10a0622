//! I12 on real files: a damaged middle stops the start, a torn end is cut.

use std::fs;
use std::path::{Path, PathBuf};

use super::builders::{count, post, run, says, until_recovered};
use crate::support::hourglass::Start;

/// Nobody listens there.
const DEAD: &str = "mongodb://127.0.0.1:1/damage";

fn start_on(dir: &Path) -> Start {
    Start::on(dir)
        .store(DEAD)
        .set("STORE__CONNECT_TIMEOUT", "100ms")
        .set("JOURNAL__SEGMENT_BYTES", "64KiB")
}

/// Journal segments in order.
fn segments(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir.join("journal")).unwrap();
    let mut segments: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    segments.sort();
    segments
}

/// A data directory whose journal holds `S0` to `S9`, a record each.
async fn killed() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let hourglass = start_on(dir.path()).start();
    for number in 0..10 {
        post(&hourglass, &format!("S{number}"), 0..1000).await;
    }
    hourglass.kill_9();
    assert!(segments(dir.path()).len() > 1);
    dir
}

#[tokio::test]
async fn a_damaged_middle_stops_the_start_and_names_segment_and_offset() {
    let dir = killed().await;
    let segment = segments(dir.path()).remove(0);
    let mut bytes = fs::read(&segment).unwrap();
    bytes[1000] ^= 1;
    fs::write(&segment, &bytes).unwrap();
    let (code, _, stderr) = run(&mut start_on(dir.path()).command());
    assert_eq!(code, Some(1), "{stderr}");
    let name = segment.file_name().unwrap().to_str().unwrap();
    assert!(
        stderr.contains(&format!("{name} is damaged at byte 20")),
        "{stderr}"
    );
    assert!(
        stderr.contains("move it away"),
        "it says what to do: {stderr}"
    );
    assert_eq!(fs::read(&segment).unwrap(), bytes);

    bytes[1000] ^= 1;
    fs::write(&segment, &bytes).unwrap();
    let hourglass = start_on(dir.path()).start();
    assert_eq!(
        hourglass.metric("hourglass_values_recovered_total").await,
        10_000.0
    );
}

#[tokio::test]
async fn a_torn_end_is_cut_said_and_costs_only_what_was_torn() {
    let dir = killed().await;
    let last = segments(dir.path()).pop().unwrap();
    let bytes = fs::read(&last).unwrap();
    fs::write(&last, &bytes[..bytes.len() - 3]).unwrap();
    let hourglass = start_on(dir.path()).start();
    let log = hourglass.log();
    assert!(
        says(&log, "the journal's end was torn and is cut"),
        "{log:#?}"
    );
    until_recovered(&hourglass).await;
    assert_eq!(count(&hourglass, "S8").await, 1000);
    assert_eq!(count(&hourglass, "S9").await, 0);
}
