//! I12 on real files: a damaged middle stops the start, a torn end is cut.

use std::fs;
use std::path::{Path, PathBuf};

use hourglass::journal::frame::{SEGMENT_HEADER_BYTES, group_bytes};

use super::builders::{count, post, run, says, until_recovered, until_stored};
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
    killed_after(10).await
}

/// The same with `records`.
async fn killed_after(records: u32) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let hourglass = start_on(dir.path()).start();
    for number in 0..records {
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
        stderr.contains("\"Damaged journal\" in docs/operations.md"),
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

/// A kind of damage, and what the start says of it.
type Damage = (&'static str, fn(&[PathBuf]), &'static str);

#[tokio::test]
async fn whatever_is_damaged_the_start_names_segment_byte_and_remedy_and_changes_nothing() {
    let kinds: [Damage; 5] = [
        (
            "a header",
            |segments| flip(&segments[1], 12),
            "is damaged at byte 0: ",
        ),
        (
            "a cut segment",
            |segments| cut(&segments[0], 500),
            "is damaged at byte 20: ",
        ),
        (
            "a missing segment",
            |segments| fs::remove_file(&segments[1]).unwrap(),
            "(byte 8): a segment is missing",
        ),
        (
            "a copy in the place of another",
            |segments| fs::copy(&segments[0], &segments[1]).map(drop).unwrap(),
            "is damaged at byte 0: ",
        ),
        (
            "a copy in the place of the last",
            |segments| {
                let last = segments.last().unwrap();
                fs::copy(&segments[0], last).map(drop).unwrap();
            },
            "is damaged at byte 0: ",
        ),
    ];
    let dir = killed_after(30).await;
    let whole: Vec<(PathBuf, Vec<u8>)> = segments(dir.path())
        .into_iter()
        .map(|path| (path.clone(), fs::read(&path).unwrap()))
        .collect();
    let paths: Vec<PathBuf> = whole.iter().map(|(path, _)| path.clone()).collect();
    assert!(paths.len() > 2);
    for (kind, damage, says) in kinds {
        damage(&paths);
        let read = || {
            segments(dir.path())
                .into_iter()
                .map(|path| fs::read(path).unwrap())
        };
        let before: Vec<Vec<u8>> = read().collect();
        let (code, _, stderr) = run(&mut start_on(dir.path()).command());
        assert_eq!(code, Some(1), "{kind}: {stderr}");
        let is_named = paths.iter().any(|path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            stderr.contains(&format!("journal segment {name} "))
        });
        let has_remedy = stderr.contains("\"Damaged journal\" in docs/operations.md");
        assert!(
            is_named && has_remedy && stderr.contains(says),
            "{kind}: {stderr}"
        );
        assert!(read().eq(before), "{kind}: the refusal changed the disk");
        for (path, bytes) in &whole {
            fs::write(path, bytes).unwrap();
        }
    }
    let hourglass = start_on(dir.path()).start();
    let recovered = hourglass.metric("hourglass_values_recovered_total").await;
    assert_eq!(recovered, 30_000.0);
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

fn cut(path: &Path, len: usize) {
    let bytes = fs::read(path).unwrap();
    fs::write(path, &bytes[..len]).unwrap();
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

/// What `docs/operations.md` says to do about a damaged segment.
#[tokio::test]
async fn the_steps_of_the_guide_lose_the_damaged_group_and_what_follows_it_in_its_segment() {
    let dir = killed().await;
    let (damaged, behind) = {
        let mut segments = segments(dir.path());
        (segments.remove(0), segments)
    };
    let mut bytes = fs::read(&damaged).unwrap();
    let second = SEGMENT_HEADER_BYTES + group_bytes(&bytes[SEGMENT_HEADER_BYTES..]).unwrap();
    bytes[second + 100] ^= 1;
    fs::write(&damaged, &bytes).unwrap();
    let (_, _, stderr) = run(&mut start_on(dir.path()).command());
    let (_, offset) = stderr.split_once("is damaged at byte ").unwrap();
    let offset: u64 = offset.split(':').next().unwrap().parse().unwrap();
    assert_eq!(offset, second as u64);

    // What is in front, and the segment up to the damage.
    let aside = tempfile::tempdir().unwrap();
    let place = |path: &PathBuf| aside.path().join(path.file_name().unwrap());
    for path in &behind {
        fs::rename(path, place(path)).unwrap();
    }
    let segment = fs::File::options().write(true).open(&damaged).unwrap();
    segment.set_len(offset).unwrap();
    let start = Start::on(dir.path());
    let hourglass = start.start();
    until_stored(&hourglass).await;
    assert!(hourglass.stop().0.success());

    // What is behind.
    for path in segments(dir.path()) {
        fs::remove_file(path).unwrap();
    }
    for path in &behind {
        fs::rename(place(path), path).unwrap();
    }
    let hourglass = start.start();
    until_stored(&hourglass).await;
    let name = behind[0].file_stem().unwrap().to_str().unwrap();
    let first_behind: usize = name.parse().unwrap();
    assert!((3..10).contains(&first_behind), "{first_behind}");
    for number in 0..10 {
        // `S0` is record 1.
        let is_lost = (2..first_behind).contains(&(number + 1));
        let expected = if is_lost { 0 } else { 1000 };
        let stored = count(&hourglass, &format!("S{number}")).await;
        assert_eq!(stored, expected, "S{number}");
    }
}

#[tokio::test]
async fn what_lies_beside_the_segments_is_ignored_and_a_segment_that_is_none_is_named() {
    let dir = killed().await;
    let journal = dir.path().join("journal");
    fs::write(journal.join("7.journal"), "x").unwrap();
    fs::write(journal.join(format!("{:020}.journal.bak", 9)), "x").unwrap();
    fs::create_dir(journal.join("0.journal")).unwrap();
    let dangling = format!("{:020}.journal", 9);
    std::os::unix::fs::symlink("nowhere", journal.join(&dangling)).unwrap();
    let (code, _, stderr) = run(&mut start_on(dir.path()).command());
    assert_eq!(code, Some(1), "{stderr}");
    let said = format!("journal segment {dangling} cannot be read: ");
    assert!(stderr.contains(&said), "{stderr}");
    assert!(stderr.contains(journal.to_str().unwrap()), "{stderr}");
    fs::remove_file(journal.join(&dangling)).unwrap();
    let hourglass = start_on(dir.path()).start();
    assert!(hourglass.metric("hourglass_values_recovered_total").await > 0.0);
    hourglass.kill_9();
}
