//! Connections to the database that are cut, stall, are slow, or lose answers to
//! what the server has done (I2): nothing is lost, nothing doubled.

use super::ending::{assert_all_is_well, at_rest, busy};
use super::fleet::Fleet;
use super::load::Load;
use crate::support::cut_proxy::CutProxy;
use crate::support::hourglass::Start;
use crate::support::mongod::Mongod;
use crate::support::seed::seeded;

const DISTURBANCES: usize = 25;
const LOST: usize = 10;

/// A server behind a proxy, and how a service on it starts.
async fn behind_a_proxy(dir: &std::path::Path) -> (Mongod, CutProxy, Start) {
    let mut mongod = Mongod::new();
    mongod.start().await;
    let proxy = CutProxy::to(mongod.port()).await;
    let start = busy(Start::on(&dir.join("data")).store(&proxy.uri_of("cut")));
    (mongod, proxy, start.set("BUFFER__BYTES_MAX", "64MiB"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_never_come_back_double_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (_mongod, proxy, start) = behind_a_proxy(dir.path()).await;
    let server = start.start();
    let fleet = Fleet::new(20, 2400);
    let load = Load::of(&fleet, &[server.address()]);
    let sending = load.start();
    for part in 1..=LOST {
        load.reaches(part, LOST + 1).await;
        // The driver tries a write once more by itself.
        proxy.lose_replies(2);
        proxy.has_lost(2 * part).await;
    }
    sending.await.unwrap();
    let samples = at_rest(&server).await;
    let value = |name: &str| samples[&format!("hourglass_values_{name}_total")] as usize;
    assert_eq!(
        (value("accepted"), value("conflict")),
        (fleet.readings(), 0)
    );
    assert_eq!(value("stored") + value("duplicate"), fleet.readings());
    assert_all_is_well(server, &start, &[(&fleet, &load.acknowledged())]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_cut_stalled_and_slowed_at_random_lose_and_double_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (_mongod, proxy, start) = behind_a_proxy(dir.path()).await;
    let server = start.start();
    let mut random = seeded();
    let fleet = Fleet::new(20, 4800);
    let load = Load::of(&fleet, &[server.address()]);
    let sending = load.start();
    for part in 0..DISTURBANCES {
        load.reaches(part, DISTURBANCES).await;
        proxy.disturb(&mut random).await;
    }
    sending.await.unwrap();
    let samples = at_rest(&server).await;
    let value = |name: &str| samples[&format!("hourglass_values_{name}_total")] as usize;
    assert_eq!(
        (value("accepted"), value("conflict")),
        (fleet.readings(), 0)
    );
    assert_eq!(value("stored") + value("duplicate"), fleet.readings());
    assert_all_is_well(server, &start, &[(&fleet, &load.acknowledged())]).await;
}
