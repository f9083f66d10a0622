//! I1, I2, I8: the primary of a replica set of three is killed, and steps down,
//! under load: what a majority had stays, and a write of unknown outcome is
//! decided by its fence.
//!
//! `HOURGLASS_TEST_PRIMARY_KILLS` asks for more kills than three.

use super::fleet::{Fleet, stop_and_verify};
use super::kills::busy;
use crate::support::mongod::client;
use crate::support::replica_set::ReplicaSet;
use crate::support::site::Site;

const SENSORS: usize = 4;
const BETWEEN: u64 = 2000;

fn kills() -> u32 {
    let asked = std::env::var("HOURGLASS_TEST_PRIMARY_KILLS");
    asked.map_or(3, |kills| kills.parse().expect("a number of kills"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn primaries_that_are_killed_or_step_down_under_load_lose_and_double_nothing() {
    let site = Site::embedded().await;
    let mut set = ReplicaSet::start().await;
    let start = busy(site.start()).store(&set.uri_of("primaries"));
    let server = start.start();
    let fleet = Fleet::start(&[server.address()], SENSORS);
    for _ in 0..kills() {
        fleet.more(BETWEEN).await;
        let killed = set.kill_primary().await;
        set.primary().await;
        fleet.more(BETWEEN).await;
        set.restart(killed);
        set.whole().await;
    }
    set.step_down().await;
    set.primary().await;
    fleet.more(BETWEEN).await;
    let sent = fleet.finish().await;
    assert_eq!(sent.retries, 0, "the journal takes what the store does not");
    let ledger = sent.check(&server).await;
    assert_eq!(ledger.values_stored, sent.readings);
    let uri = set.uri_of("primaries");
    sent.check_documents(&client(&uri).await.database("primaries"))
        .await;
    sent.tell(&format!("{} primary kills", kills()));
    eprintln!("lost 0, twice 0 of {} acknowledged", sent.readings);
    stop_and_verify(server, &start);
}
