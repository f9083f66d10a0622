//! I2, I8: what lies between hourglass and mongod cuts, stalls, delays and loses
//! replies, in an order that a seed gives.

use std::time::Duration;

use rand::seq::SliceRandom;

use super::fleet::{Fleet, stop_and_verify};
use super::kills::busy;
use crate::support::cut_proxy::{Carry, CutProxy};
use crate::support::eventually::eventually;
use crate::support::hourglass::Hourglass;
use crate::support::mongod::{Mongod, client};
use crate::support::seed::seeded;
use crate::support::site::Site;

const SENSORS: usize = 4;
const BETWEEN: u64 = 1500;
/// Each kind of trouble comes so often.
const ROUNDS: usize = 2;

/// Waits until a flush is on its way.
async fn in_flight(server: &Hourglass) {
    let flies = async || {
        let flights = server.metric("hourglass_flushes_in_flight").await;
        (flights > 0.0).then_some(())
    };
    eventually("a flush is under way", flies).await;
}

/// A mongod that clients find behind a proxy.
pub(super) async fn behind_a_proxy() -> (Mongod, CutProxy) {
    let mut mongod = None;
    let proxy = CutProxy::start(|address| {
        let server = Mongod::new().behind(address.to_string());
        let target = server.address();
        mongod = Some(server);
        target
    })
    .await;
    let mut mongod = mongod.unwrap();
    mongod.start().await;
    (mongod, proxy)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_stalled_slow_and_one_way_connections_lose_and_double_nothing() {
    let site = Site::embedded().await;
    let (mongod, proxy) = behind_a_proxy().await;
    let start = busy(site.start()).store(&mongod.uri_of("connections"));
    let server = start.start();
    let fleet = Fleet::start(&[server.address()], SENSORS);
    let mut troubles: Vec<Carry> = [
        Carry::NoReplies,
        Carry::Nothing,
        Carry::All,
        Carry::Slowly(Duration::from_millis(30)),
    ]
    .repeat(ROUNDS);
    troubles.shuffle(&mut seeded());
    for trouble in troubles {
        fleet.more(BETWEEN).await;
        proxy.carry(trouble);
        in_flight(&server).await;
        fleet.more(BETWEEN).await;
        // What was on its way never arrives, or its answer does not.
        proxy.cut();
        proxy.carry(Carry::All);
    }
    let sent = fleet.finish().await;
    assert_eq!(sent.retries, 0, "the journal takes what the store does not");
    let ledger = sent.check(&server).await;
    assert_eq!(ledger.values_conflict, 0);
    let uri = mongod.uri();
    sent.check_documents(&client(&uri).await.database("connections"))
        .await;
    sent.tell("cut connections");
    stop_and_verify(server, &start);
}
