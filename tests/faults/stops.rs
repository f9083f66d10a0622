//! SIGTERM in the middle of the load (I10): everything answered 202 is there
//! after the next start, which is not a recovery.

use super::ending::{assert_all_is_well, busy};
use super::fleet::Fleet;
use super::load::Load;
use crate::support::site::Site;

const NO_RECOVERY: &str = "the journal is empty: no recovery";
const GRACE_RAN_OUT: &str = "the grace ran out";

async fn a_stop_under_load_leaves_nothing_to_recover(site: &Site) {
    let fleet = Fleet::new(20, 1200);
    let start = busy(site.start());
    let server = start.start();
    let load = Load::of(&fleet, &[server.address()]);
    let sending = load.start();
    load.reaches(1, 3).await;
    server.signal_stop();
    let (status, log) = server.stopped();
    load.give_up();
    sending.await.unwrap();
    assert!(status.success(), "{log:#?}");
    let acknowledged = load.acknowledged();
    assert!(acknowledged.len() < fleet.batches(), "it stopped too late");

    let server = start.start();
    let says = |log: &[String], part: &str| log.iter().any(|line| line.contains(part));
    // On a slow machine the grace may run out, but then it says so.
    let is_clean = says(&server.log(), NO_RECOVERY);
    assert_ne!(is_clean, says(&log, GRACE_RAN_OUT), "{log:#?}");
    assert_all_is_well(server, &start, &[(&fleet, &acknowledged)]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_under_load_leaves_nothing_to_recover_on_the_embedded_store() {
    a_stop_under_load_leaves_nothing_to_recover(&Site::embedded().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_under_load_leaves_nothing_to_recover_on_mongodb() {
    a_stop_under_load_leaves_nothing_to_recover(&Site::mongodb().await).await;
}
