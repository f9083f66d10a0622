//! C22, I6: the disk of the embedded store is full in the middle of its writes.
//! It says so, answers what it holds, and goes on by itself once there is room,
//! in the same process; nothing that was acknowledged is lost or there twice.

use std::fs;

use serde_json::{Value, json};

use super::builders::{count, hourly, post, until, until_recovered, until_store_is, until_stored};
use crate::support::hourglass::{Hourglass, Start};
use crate::support::small_disk::SmallDisk;

const DISK_BYTES: u64 = 48 << 20;
const SENSORS: usize = 60;
/// Readings of a sensor in one batch.
const READINGS: u32 = 400;

/// Flushes soon and tries again soon.
fn start_on(dir: &std::path::Path) -> Start {
    Start::on(dir)
        .set("FLUSH__AGE_MAX", "100ms")
        .set("FLUSH__RETRY_MAX", "500ms")
        .set("JOURNAL__SEGMENT_BYTES", "256KiB")
}

/// One batch of a sensor, whose values take their room in whatever form.
fn batch(sensor: usize) -> Value {
    let reading = |second: u32| {
        let at = format!("2026-05-01T10:{:02}:{:02}Z", second / 60, second % 60);
        let value = (f64::from(second) + sensor as f64 * 0.731).sin();
        json!({ "sensorId": format!("S{sensor}"), "ts": at, "temp": value })
    };
    (0..READINGS).map(reading).collect()
}

/// Posts batches of the sensors until one is refused, or all are taken: those
/// that were taken.
async fn post_until_refused(hourglass: &Hourglass, sensors: std::ops::Range<usize>) -> Vec<usize> {
    let mut taken = Vec::new();
    for sensor in sensors {
        let (status, answer) = hourglass.post(&batch(sensor)).await;
        if status == 202 {
            taken.push(sensor);
            continue;
        }
        let code = &answer["code"];
        assert_eq!((status, code), (503, &json!("disk_full")), "{answer}");
        break;
    }
    taken
}

async fn assert_holds(hourglass: &Hourglass, sensors: &[usize]) {
    for sensor in sensors {
        let name = format!("S{sensor}");
        assert_eq!(count(hourglass, &name).await, u64::from(READINGS), "{name}");
    }
}

async fn assert_balanced(hourglass: &Hourglass) {
    let samples = hourglass.samples().await;
    let values = |name: &str| samples[&format!("hourglass_values_{name}")];
    let went = ["stored", "duplicate", "conflict", "expired", "deleted"];
    let went: f64 = went.iter().map(|n| values(&format!("{n}_total"))).sum();
    let came = values("accepted_total") + values("recovered_total");
    assert_eq!(came, went + values("pending"));
    assert_eq!((values("pending"), values("conflict_total")), (0.0, 0.0));
}

/// Ends the process in order, and looks at what the store alone has.
async fn assert_store_has(hourglass: Hourglass, start: &Start, sensors: &[usize]) {
    let (status, log) = hourglass.stop();
    let is_drained = |line: &String| line.contains("everything accepted is in the store");
    assert!(status.success() && log.iter().any(is_drained), "{log:#?}");
    start.verify();
    assert_holds(&start.start(), sensors).await;
}

#[tokio::test]
async fn c22_an_embedded_store_without_room_goes_on_by_itself_and_readings_are_taken_meanwhile() {
    let dir = tempfile::tempdir().unwrap();
    // The journal has room: what the store refuses waits there.
    fs::create_dir(dir.path().join("store")).unwrap();
    let disk = SmallDisk::mount_at(&dir.path().join("store"), DISK_BYTES);
    let start = start_on(dir.path());
    let hourglass = start.start();
    post(&hourglass, "before", 0..100).await;
    until_stored(&hourglass).await;
    for round in 0..3 {
        disk.fill();
        let sensors = round * 20..(round + 1) * 20;
        let taken = post_until_refused(&hourglass, sensors.clone()).await;
        assert_eq!(taken.len(), sensors.len());
        until_store_is(&hourglass, "down").await;
        let (status, ready) = hourglass.get("/readyz").await;
        assert_eq!((status, &ready["journal"]), (200, &json!("writing")));
        // What it holds and what waits is answered as before.
        assert_eq!(count(&hourglass, "before").await, 100);
        assert_holds(&hourglass, &taken).await;
        disk.make_room();
        until_stored(&hourglass).await;
        until_store_is(&hourglass, "up").await;
        assert_eq!(hourly(&hourglass, "before").await["complete"], true);
    }
    assert_balanced(&hourglass).await;
    let all: Vec<usize> = (0..SENSORS).collect();
    assert_holds(&hourglass, &all).await;
    let stored = hourglass.metric("hourglass_values_accepted_total").await;
    assert_eq!(stored, SENSORS as f64 * f64::from(READINGS) + 100.0);
    assert_store_has(hourglass, &start, &all).await;
}

#[tokio::test]
async fn c22_a_kill_while_the_disk_of_journal_and_store_is_full_loses_nothing() {
    let disk = SmallDisk::mount(DISK_BYTES);
    let start = start_on(&disk.path().join("data"));
    let hourglass = start.start();
    let mut taken = post_until_refused(&hourglass, 0..20).await;
    assert_eq!(taken.len(), 20);
    // Flushes of what came last meet the full disk.
    disk.fill();
    taken.extend(post_until_refused(&hourglass, 20..SENSORS).await);
    assert!(taken.len() < SENSORS, "the disk was not full");
    hourglass.kill_9();

    disk.make_room();
    let hourglass = start.start();
    until_recovered(&hourglass).await;
    until_stored(&hourglass).await;
    assert_holds(&hourglass, &taken).await;
    assert_balanced(&hourglass).await;
    // Full once more, and made good without a restart.
    disk.fill();
    let more = post_until_refused(&hourglass, 20..SENSORS).await;
    disk.make_room();
    until(|| async { hourglass.post(&batch(20)).await.0 == 202 }).await;
    taken.extend(more);
    taken.push(20);
    until_stored(&hourglass).await;
    assert_holds(&hourglass, &taken).await;
    assert_balanced(&hourglass).await;
    assert_store_has(hourglass, &start, &taken).await;
}
