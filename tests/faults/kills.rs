//! I1, I2, I8: `kill -9` of hourglass in a loop, and of mongod.

use super::fleet::{Fleet, stop_and_verify};
use crate::support::hourglass::Start;
use crate::support::mongod::{Mongod, client};
use crate::support::site::{Site, each_store};

const KILLS: u32 = 4;
const SENSORS: usize = 4;
/// Readings that are acknowledged between two kills.
const BETWEEN: u64 = 3000;

/// Small segments and flushes soon, so that a kill meets all of it.
pub(super) fn busy(start: Start) -> Start {
    start
        .set("JOURNAL__SEGMENT_BYTES", "64KiB")
        .set("FLUSH__AGE_MAX", "100ms")
        .set("STORE__CONNECT_TIMEOUT", "300ms")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_9_of_hourglass_in_a_loop_under_load_loses_and_doubles_nothing() {
    for site in each_store().await {
        let start = busy(site.start());
        let mut server = start.start();
        let address = server.address().to_owned();
        let start = start.listen(&address);
        let fleet = Fleet::start(&[&address], SENSORS);
        for _ in 0..KILLS {
            fleet.more(BETWEEN).await;
            server.kill_9();
            server = start.start();
        }
        fleet.more(BETWEEN).await;
        let sent = fleet.finish().await;
        assert!(sent.retries > 0, "no kill met a request");
        sent.check(&server).await;
        sent.tell("kills of hourglass");
        stop_and_verify(server, &start);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_9_of_mongod_under_load_is_not_seen_by_those_who_send() {
    let site = Site::embedded().await;
    let mut mongod = Mongod::new();
    mongod.start().await;
    let start = busy(site.start()).store(&mongod.uri_of("kills"));
    let server = start.start();
    let fleet = Fleet::start(&[server.address()], SENSORS);
    for _ in 0..KILLS {
        fleet.more(BETWEEN).await;
        mongod.kill();
        // Whatever is due meets its absence.
        fleet.more(BETWEEN).await;
        mongod.start().await;
    }
    fleet.more(BETWEEN).await;
    let sent = fleet.finish().await;
    assert_eq!(sent.retries, 0, "the journal takes what the store does not");
    let ledger = sent.check(&server).await;
    assert_eq!(ledger.values_stored, sent.readings);
    assert_eq!(ledger.values_duplicate, 0);
    let uri = mongod.uri();
    sent.check_documents(&client(&uri).await.database("kills"))
        .await;
    sent.tell("kills of mongod");
    stop_and_verify(server, &start);
}
