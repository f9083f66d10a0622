//! A start knows the settings only: what sensors say comes with the first walk.
//! Until then nothing goes that one of them may keep for longer.

use std::sync::Arc;

use hourglass::model::{Keep, Retention, SensorDetails};
use hourglass::store::{RecordVersion, SensorPut, WriteOutcome};

use super::builders::{HOUR, Process, batch, hours, keeping, key, now, run_turn, sensor};

/// A process that starts on a store where S1 is kept for ever and S2 as the
/// setting says, ten hours.
async fn starting(dir: &std::path::Path) -> Process {
    let before = Process::on(dir, &keeping(Keep::Forever, Keep::Forever), 1);
    before.apply(1, &batch("S1", [HOUR]));
    before.apply(2, &batch("S2", [HOUR]));
    before.flush().await;
    let put = SensorPut {
        id: sensor("S1"),
        expect: None,
        target: RecordVersion { rev: 1, by: 77 },
        details: SensorDetails {
            retention: Retention {
                hours: None,
                readings: Some(Keep::Forever),
            },
            ..SensorDetails::default()
        },
        attributes_removed: Vec::new(),
    };
    let outcomes = before.store.put_sensors(&[put]).await.unwrap();
    assert!(matches!(outcomes[..], [WriteOutcome::Stored]));
    let settings = keeping(Keep::Forever, hours(10));
    Process::starting(Arc::clone(&before.store), &settings, 2)
}

fn expired(process: &Process) -> u64 {
    process.assert_balances();
    let pending = process.buffer.pending_values();
    process.ledger.snapshot(pending).expired_values
}

#[tokio::test]
async fn what_a_sensor_keeps_for_longer_than_the_setting_survives_a_start() {
    let dir = tempfile::tempdir().unwrap();
    let process = starting(dir.path()).await;
    // What the journal held; the flusher may come before the first pass, too.
    process.apply(1, &batch("S1", [HOUR - 20, HOUR - 19]));
    process.apply(2, &batch("S2", [HOUR - 20]));
    assert_eq!(expired(&process), 0);
    let leases = process.lease();
    assert_eq!(leases.len(), 3);
    process.write(leases).await;
    process.apply(3, &batch("S1", [HOUR - 18]));
    process.apply(4, &batch("S2", [HOUR - 18]));

    assert_eq!(process.sweep(now()).await.readings, 1);
    assert_eq!(expired(&process), 2, "of S2, once it was looked at");
    process.flush().await;
    for hour in [HOUR - 20, HOUR - 19, HOUR - 18] {
        let bucket = process.load(&key("S1", hour)).await.expect("a bucket");
        assert!(!bucket.parts[0].raw_dropped, "{hour}");
        assert_eq!(bucket.parts[0].elements.len(), 2);
    }
    let of_other = process.load(&key("S2", HOUR - 20)).await.unwrap();
    assert!(of_other.parts[0].raw_dropped);
    assert!(process.load(&key("S2", HOUR - 18)).await.is_none());
    assert_eq!(process.buffer.lowest_pinned(), None);
}

/// Nothing binds before all sensors were looked at, whatever turn a pass is at.
#[tokio::test]
async fn a_first_pass_given_up_half_way_has_bound_and_dropped_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let process = starting(dir.path()).await;
    process.apply(1, &batch("S2", [HOUR - 20]));
    process.flush().await;
    let mut turns = 0;
    let mut pass = process.pass(now());
    while !process.table.is_binding() {
        assert_eq!(pass.dropped().readings, 0);
        assert!(process.table.oldest_kept(&sensor("S2")) < key("S2", HOUR - 20).hour);
        assert!(run_turn(&mut pass).await);
        turns += 1;
    }
    assert!(turns >= 2, "the sensors, the end of them: {turns}");
    assert_eq!(pass.dropped().readings, 0);
    // The next one does not look at them twice.
    assert_eq!(process.sweep(now()).await.readings, 1);
}

/// An applier may wait for the room that goes with what expires.
#[tokio::test]
async fn who_waits_for_room_is_told_when_a_bucket_expires() {
    let dir = tempfile::tempdir().unwrap();
    let process = Process::on(dir.path(), &keeping(Keep::Forever, hours(10)), 1);
    process.apply(5, &batch("S1", [HOUR - 10]));
    let freed = process.buffer.freed();
    tokio::pin!(freed);
    freed.as_mut().enable();
    process.table.refresh(now().saturating_add(3_600_000_000));
    assert!(process.lease().is_empty());
    // It was told already, or this never ends.
    freed.await;
    assert_eq!(process.buffer.buckets(), 0);
}
