//! I10: SIGTERM in the middle of the load: what was answered is in the store, and
//! the next start is not a recovery.

use super::fleet::{Fleet, stop_and_verify};
use super::kills::busy;
use crate::support::site::each_store;

const SENSORS: usize = 4;
const STOPS: u32 = 3;
const BETWEEN: u64 = 2000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigterm_in_mid_load_loses_nothing_and_leaves_nothing_to_recover() {
    for site in each_store().await {
        let start = busy(site.start());
        let mut server = start.start();
        let address = server.address().to_owned();
        let start = start.listen(&address);
        let fleet = Fleet::start(&[&address], SENSORS);
        for _ in 0..STOPS {
            fleet.more(BETWEEN).await;
            let (status, log) = server.stop();
            assert!(status.success(), "{log:#?}");
            let says = |part: &str| log.iter().any(|line| line.contains(part));
            assert!(says("everything accepted is in the store"), "{log:#?}");
            server = start.start();
            let log = server.log();
            let is_empty = |line: &String| line.contains("the journal is empty: no recovery");
            assert!(log.iter().any(is_empty), "{log:#?}");
        }
        let sent = fleet.finish().await;
        sent.check(&server).await;
        sent.tell("SIGTERM");
        stop_and_verify(server, &start);
    }
}
