//! I6, C22: a disk that is full is told with 503 and on `/readyz`, nothing that
//! was acknowledged is lost, and once there is room again readings are taken,
//! without a restart.
//!
//! The disk is a small one of its own, in memory; see [`SmallDisk`].

use serde_json::json;

use crate::operation::builders::{count, post, readings, until, until_stored};
use crate::support::hourglass::{Hourglass, Start};
use crate::support::mongod::Mongod;
use crate::support::small_disk::SmallDisk;

fn sensor(number: usize) -> String {
    format!("S{number}")
}

/// Posts batches, each of a sensor of its own, until one is refused: how many
/// were taken.
async fn fill_by_posting(hourglass: &Hourglass) -> usize {
    let mut taken = 0;
    loop {
        let request = hourglass.http().post(hourglass.url("/v1/readings"));
        let request = request.header("content-type", "application/json");
        let body = readings(&sensor(taken), 0..500).to_string();
        let response = request.body(body).send().await.unwrap();
        if response.status().as_u16() == 202 {
            taken += 1;
            assert!(taken < 5000, "the disk has no end");
            continue;
        }
        assert_eq!(response.status().as_u16(), 503);
        assert!(response.headers().contains_key("retry-after"));
        let problem: serde_json::Value = response.json().await.unwrap();
        assert_eq!(problem["code"], "disk_full", "{problem}");
        return taken;
    }
}

async fn until_ready(hourglass: &Hourglass, ready: bool) {
    until(|| async { (hourglass.get("/readyz").await.0 == 200) == ready }).await;
}

async fn check(hourglass: &Hourglass, taken: usize) {
    until_stored(hourglass).await;
    for number in 0..taken {
        assert_eq!(count(hourglass, &sensor(number)).await, 500);
    }
    crate::machine_temperature::ledger::at_rest(hourglass).await;
}

#[tokio::test]
async fn c22_a_full_disk_of_the_journal_is_told_and_made_good_without_a_restart() {
    let disk = SmallDisk::mount(4 << 20);
    let mut mongod = Mongod::new();
    let start = Start::on(&disk.path().join("data"))
        .store(&mongod.uri_of("full"))
        .set("STORE__CONNECT_TIMEOUT", "200ms")
        .set("JOURNAL__SEGMENT_BYTES", "64KiB");
    let hourglass = start.start();
    let taken = fill_by_posting(&hourglass).await;
    assert!(taken > 5);
    let (status, ready) = hourglass.get("/readyz").await;
    assert_eq!((status, &ready["journal"]), (503, &json!("disk_full")));
    assert_eq!(hourglass.get("/livez").await.0, 200);
    // The store takes what is there: segments go, and there is room.
    mongod.start().await;
    until_ready(&hourglass, true).await;
    post(&hourglass, &sensor(taken), 0..500).await;
    check(&hourglass, taken + 1).await;
    assert!(hourglass.stop().0.success());
    start.verify();
}

#[tokio::test]
async fn c22_a_full_disk_of_the_embedded_store_loses_nothing_and_recovers() {
    let disk = SmallDisk::mount(160 << 20);
    let start = Start::on(&disk.path().join("data"));
    let hourglass = start.start();
    post(&hourglass, &sensor(0), 0..500).await;
    until_stored(&hourglass).await;
    disk.fill();
    let taken = fill_by_posting(&hourglass).await;
    until_ready(&hourglass, false).await;
    disk.make_room();
    until_ready(&hourglass, true).await;
    for number in 0..=taken {
        post(&hourglass, &sensor(number), 0..500).await;
    }
    check(&hourglass, taken + 1).await;
    assert!(hourglass.stop().0.success());
    start.verify();
    let again = start.start();
    check(&again, taken + 1).await;
}
