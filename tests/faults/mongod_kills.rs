//! `kill -9` of the database under load (I8): ingestion goes on, and what the
//! death of the server left undecided goes in once.

use super::ending::{assert_all_is_well, at_rest, busy};
use super::fleet::Fleet;
use super::load::Load;
use crate::support::hourglass::Start;
use crate::support::mongod::Mongod;

const KILLS: usize = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_9_of_the_database_under_load_loses_and_doubles_nothing() {
    let mut mongod = Mongod::new();
    mongod.start().await;
    let dir = tempfile::tempdir().unwrap();
    let start = busy(Start::on(&dir.path().join("data")).store(&mongod.uri_of("kills")))
        .set("BUFFER__BYTES_MAX", "64MiB");
    let server = start.start();
    let fleet = Fleet::new(20, 2400);
    let load = Load::of(&fleet, &[server.address()]);
    let sending = load.start();
    for kill in 0..KILLS {
        load.reaches(2 * kill + 1, 2 * KILLS + 1).await;
        mongod.kill();
        // Ingestion goes on without it.
        load.reaches(2 * kill + 2, 2 * KILLS + 1).await;
        mongod.start().await;
    }
    sending.await.unwrap();
    let samples = at_rest(&server).await;
    let value = |name: &str| samples[&format!("hourglass_values_{name}_total")] as usize;
    // Nothing was answered but 202, so nothing was sent twice, and what the
    // store had of a call without an answer counts as stored.
    assert_eq!(
        (value("accepted"), value("conflict")),
        (fleet.readings(), 0)
    );
    assert_eq!(value("stored") + value("duplicate"), fleet.readings());
    assert!(samples["hourglass_flush_failures_total"] > 0.0);
    assert_all_is_well(server, &start, &[(&fleet, &load.acknowledged())]).await;
}
