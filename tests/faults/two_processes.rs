//! Two processes that write the same readings of the same sensors into one
//! database, some with other values, while either is killed (I2): each identity
//! is stored once, with a value that was sent.

use super::ending::{at_rest, busy, start_from_the_store, stop};
use super::fleet::{Fleet, assert_are_there};
use super::load::Load;
use super::service::Service;
use crate::support::hourglass::Start;
use crate::support::mongod::TestDatabase;

const KILLS: usize = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_killed_in_turn_store_each_identity_once() {
    let database = TestDatabase::new().await;
    let dirs = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let start =
        |dir: &tempfile::TempDir| busy(Start::on(&dir.path().join("data")).store(&database.uri()));
    let mut services = dirs.each_ref().map(|dir| Service::started(start(dir)));
    let one = Fleet::new(20, 1200);
    let other = one.with_other_values_in_every(5);
    let loads = [&one, &other]
        .into_iter()
        .zip(&services)
        .map(|(fleet, service)| Load::of(fleet, &[service.address()]));
    let loads: Vec<_> = loads.collect();
    let sending: Vec<_> = loads.iter().map(Load::start).collect();
    for kill in 0..KILLS {
        loads[kill % 2].reaches(kill / 2 + 1, KILLS / 2 + 1).await;
        services[kill % 2].kill_and_start();
    }
    for sending in sending {
        sending.await.unwrap();
    }
    let acknowledged: Vec<_> = loads.iter().map(|load| load.acknowledged()).collect();
    let sent = [(&one, &acknowledged[0]), (&other, &acknowledged[1])];
    let mut starts = Vec::new();
    for service in &services {
        at_rest(service.server()).await;
    }
    for service in services {
        let (server, start) = service.into_parts();
        assert_are_there(&server, &sent).await;
        stop(server);
        starts.push(start);
    }
    starts[0].verify();
    for start in &starts {
        assert_are_there(&start_from_the_store(start), &sent).await;
    }
}
