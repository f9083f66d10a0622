//! A retry that comes after the process ended, in whatever way.

use std::path::Path;

use serde_json::{Value, json};

use super::requests::{count, post};
use crate::support::eventually::eventually;
use crate::support::hourglass::{Hourglass, Start};

const BODY: &str = r#"{"sensorId":"S1","temp":24.5}"#;

/// The name of a key that is looked for in files.
const KEY: &str = "a-key-that-is-found-in-files";

/// Whether a file below `dir` holds [`KEY`].
fn holds_key(dir: &Path) -> bool {
    std::fs::read_dir(dir).unwrap().any(|entry| {
        // A segment may be removed meanwhile.
        let bytes = std::fs::read(entry.unwrap().path()).unwrap_or_default();
        bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes())
    })
}

#[tokio::test]
async fn after_a_kill_or_a_stop_a_retry_gets_the_first_answer() {
    for is_killed in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let start = Start::on(dir.path());
        let hourglass = start.start();
        let first = post(&hourglass, KEY, BODY).await;
        assert_eq!((first.status, first.is_replayed), (202, false));
        let mut hourglass = Some(hourglass);
        for _ in 0..3 {
            let ended = hourglass.take().unwrap();
            if is_killed {
                ended.kill_9();
            } else {
                assert!(ended.stop().0.success());
                assert!(!holds_key(&dir.path().join("journal")));
            }
            let started = start.start();
            // At once: what the start found may not be applied yet.
            assert_eq!(post(&started, KEY, BODY).await, first.again());
            hourglass = Some(started);
        }
        let hourglass = hourglass.unwrap();
        eventually("what the journal held is applied", async || {
            let lag = hourglass.metric("hourglass_applier_lag_records").await;
            (lag == 0.0).then_some(())
        })
        .await;
        assert_eq!(count(&hourglass, "S1").await, 1);
    }
}

#[tokio::test]
async fn records_without_readings_are_recovered_as_any_other() {
    let dir = tempfile::tempdir().unwrap();
    let start = Start::on(dir.path());
    let hourglass = start.start();
    let bodies = ["[]", r#"[{"temp":1}]"#, BODY, "[]"];
    let mut first = Vec::new();
    for (key, body) in bodies.iter().enumerate() {
        first.push(post(&hourglass, &format!("k{key}"), body).await);
    }
    hourglass.kill_9();
    let hourglass = start.start();
    let log = hourglass.log();
    let recovering = log.iter().find(|line| line.contains("recovering: "));
    assert!(
        recovering.is_some_and(|line| line.contains("\"records\":4")),
        "{log:#?}"
    );
    for ((key, body), first) in bodies.iter().enumerate().zip(first) {
        let again = post(&hourglass, &format!("k{key}"), body).await;
        assert_eq!(again, first.again());
    }
    let recovered = hourglass.metric("hourglass_values_recovered_total").await;
    assert_eq!(recovered, 1.0);
    let (status, log) = hourglass.stop();
    assert!(status.success());
    assert!(
        log.iter()
            .any(|line| line.contains("everything accepted is in the store")),
        "{log:#?}"
    );
}

/// Posts readings of a closed hour until no file of the journal holds the key.
async fn until_released(hourglass: &Hourglass, dir: &Path) {
    let mut hour = 0;
    let journal = dir.join("journal");
    eventually("the journal gives up the key's segment", async || {
        let readings: Value = (0..3_000)
            .map(|n| json!({"sensorId": "other", "ts": 1_700_000_000 + hour * 3600 + n, "x": n}))
            .collect();
        hour += 1;
        assert_eq!(hourglass.post(&readings).await.0, 202);
        (!holds_key(&journal)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_retry_gets_the_first_answer_after_the_journal_gave_up_its_record() {
    let dir = tempfile::tempdir().unwrap();
    let start = Start::on(dir.path())
        .set("JOURNAL__SEGMENT_BYTES", "64KiB")
        .set("FLUSH__AGE_MAX", "100ms");
    let hourglass = start.start();
    let first = post(&hourglass, KEY, BODY).await;
    assert!(holds_key(&dir.path().join("journal")));
    until_released(&hourglass, dir.path()).await;
    assert!(holds_key(&dir.path().join("keys")));
    assert_eq!(post(&hourglass, KEY, BODY).await, first.again());
    hourglass.kill_9();
    let hourglass = start.start();
    assert_eq!(post(&hourglass, KEY, BODY).await, first.again());
    let other = post(&hourglass, KEY, "[]").await;
    assert_eq!(other.code(), "idempotency_key_reused");
    assert_eq!(count(&hourglass, "S1").await, 1);
}

#[tokio::test]
async fn a_clean_stop_leaves_no_key_to_the_journal() {
    let dir = tempfile::tempdir().unwrap();
    let start = Start::on(dir.path());
    let hourglass = start.start();
    for number in 0..50 {
        post(&hourglass, &format!("k{number}"), "[]").await;
    }
    let (status, log) = hourglass.stop();
    assert!(status.success());
    assert!(
        log.iter()
            .any(|line| line.contains("everything accepted is in the store"))
    );
    let hourglass = start.start();
    let log = hourglass.log();
    assert!(
        log.iter()
            .any(|line| line.contains("the journal is empty: no recovery")),
        "{log:#?}"
    );
    for number in 0..50 {
        assert!(
            post(&hourglass, &format!("k{number}"), "[]")
                .await
                .is_replayed
        );
    }
}

/// I12: what cannot be read is told, not skipped.
#[tokio::test]
async fn a_damaged_log_of_keys_stops_the_start_and_says_where() {
    let dir = tempfile::tempdir().unwrap();
    let start = Start::on(dir.path());
    for key in ["a", "b"] {
        // Each process has a segment of its own.
        let hourglass = start.start();
        post(&hourglass, key, BODY).await;
        assert!(hourglass.stop().0.success());
    }
    let keys = dir.path().join("keys");
    let segment = keys.join("00000000000000000001.journal");
    let whole = std::fs::read(&segment).unwrap();
    let mut bytes = whole.clone();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&segment, &bytes).unwrap();
    let output = start.command().output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("the log of idempotency keys in"), "{told}");
    assert!(
        told.contains("00000000000000000001.journal is damaged at byte 20"),
        "{told}"
    );
    std::fs::write(&segment, &whole).unwrap();
    assert!(post(&start.start(), "a", BODY).await.is_replayed);
}
