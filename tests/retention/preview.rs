//! What a pass would drop is told without dropping it.

use std::sync::Arc;

use hourglass::model::Keep;
use hourglass::sweep::{Sweep, TierPreview};

use super::builders::{HOUR, Process, batch, hours, keeping, now, sensor};

async fn filled(dir: &std::path::Path) -> Process {
    let before = Process::on(dir, &keeping(Keep::Forever, Keep::Forever), 1);
    for (seq, id) in ["S1", "S2", "S3"].iter().enumerate() {
        before.apply(
            seq as u64,
            &batch(id, [HOUR - 2000, HOUR - 100, HOUR - 50, HOUR]),
        );
    }
    before.apply(3, &batch("new", [HOUR]));
    before.flush().await;
    let settings = keeping(hours(1000), hours(48));
    Process::over(Arc::clone(&before.store), &settings, 2)
}

fn tier(sensors: u64, buckets: u64) -> TierPreview {
    TierPreview {
        sensors,
        buckets,
        readings: 2 * buckets,
    }
}

#[tokio::test]
async fn it_is_what_the_pass_then_drops() {
    let dir = tempfile::tempdir().unwrap();
    let process = filled(dir.path()).await;
    let sweep = Sweep::new(process.parts());
    let due = sweep.preview(None, 1_000_000, now()).await.unwrap();
    assert!(due.is_whole);
    assert_eq!((due.hours, due.readings), (tier(3, 3), tier(3, 6)));
    let named: Vec<_> = due.by_sensor.iter().map(|s| s.sensor.as_str()).collect();
    assert_eq!(named, ["S1", "S2", "S3"]);
    assert_eq!(due.by_sensor[0].hours, tier(1, 1));
    assert_eq!(due.by_sensor[0].cutoffs.readings.hours(), HOUR - 48);

    let (s2, new) = (sensor("S2"), sensor("new"));
    let one = sweep.preview(Some(&s2), 1_000_000, now()).await.unwrap();
    assert_eq!((one.hours, one.readings), (tier(1, 1), tier(1, 2)));
    let none = sweep.preview(Some(&new), 1_000_000, now()).await.unwrap();
    assert_eq!((none.hours, none.by_sensor.len()), (tier(0, 0), 1));
    let unknown = sweep
        .preview(Some(&sensor("nobody")), 10, now())
        .await
        .unwrap();
    assert!(unknown.by_sensor.is_empty());

    let dropped = process.sweep(now()).await;
    assert_eq!((dropped.hours, dropped.readings), (3, 6));
    let after = sweep.preview(None, 1_000_000, now()).await.unwrap();
    assert_eq!((after.hours, after.readings), (tier(0, 0), tier(0, 0)));
    assert!(after.is_whole && after.by_sensor.is_empty());
}

#[tokio::test]
async fn it_looks_at_no_more_hours_than_it_may_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let process = filled(dir.path()).await;
    let sweep = Sweep::new(process.parts());
    let due = sweep.preview(None, 600, now()).await.unwrap();
    assert!(!due.is_whole);
    assert!(due.hours.buckets < 3, "{due:?}");
}
