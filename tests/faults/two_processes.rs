//! I2: two processes write the same instants, some with other values, into one
//! database, and each of them is killed: every instant is stored once, with a
//! value that one of them was told.

use super::fleet::{Fleet, stop_and_verify};
use super::kills::busy;
use crate::machine_temperature::ledger::at_rest;
use crate::support::hourglass::Start;
use crate::support::site::Site;

const SENSORS: usize = 3;
const BETWEEN: u64 = 2000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_with_the_same_instants_store_each_once_though_they_are_killed() {
    let site = Site::mongodb().await;
    let elsewhere = tempfile::tempdir().unwrap();
    let mut starts = [
        busy(site.start()),
        busy(Start::on(elsewhere.path())).store(&site.database().uri()),
    ];
    let mut servers = Vec::new();
    for start in &mut starts {
        let server = start.start();
        *start = start.clone().listen(server.address());
        servers.push(server);
    }
    let addresses: Vec<String> = servers.iter().map(|s| s.address().to_owned()).collect();
    let fleet = Fleet::start(&[&addresses[0], &addresses[1]], SENSORS);
    for round in 0..4 {
        fleet.more(BETWEEN).await;
        let at = round % 2;
        servers.remove(at).kill_9();
        servers.insert(at, starts[at].start());
    }
    fleet.more(BETWEEN).await;
    let sent = fleet.finish().await;
    // Each sees what the other has stored.
    for server in &servers {
        at_rest(server).await;
    }
    for server in &servers {
        sent.check(server).await;
    }
    sent.check_documents(&site.database().open().await).await;
    sent.tell("two processes");
    let [first, second] = starts;
    let second_server = servers.pop().unwrap();
    let (status, log) = second_server.stop();
    assert!(status.success(), "{log:#?}");
    drop(second);
    stop_and_verify(servers.pop().unwrap(), &first);
}
