//! I2, I8: what lies between hourglass and mongod swallows everything and says
//! nothing of it, as a firewall does that lost its table: connections stay and are
//! dead, new ones hang. Once it carries again hourglass finds out by itself.

use std::time::Instant;

use serde_json::json;

use super::connections::behind_a_proxy;
use super::fleet::{Fleet, stop_and_verify};
use crate::operation::builders::until_store_is;
use crate::support::cut_proxy::Carry;
use crate::support::eventually::eventually;
use crate::support::hourglass::Hourglass;
use crate::support::mongod::client;
use crate::support::site::Site;

const SENSORS: usize = 4;
const BETWEEN: u64 = 1500;
const QUERIES: usize = 20;

/// When it carries again.
#[derive(Debug, Clone, Copy)]
enum Heals {
    /// Before the driver has noticed: it has dead connections among those it uses.
    Soon,
    /// After a flush was given up.
    Late,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_black_hole_that_heals_soon_is_drained_without_a_restart() {
    drains_after(Heals::Soon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_black_hole_that_heals_late_is_drained_without_a_restart() {
    drains_after(Heals::Late).await;
}

async fn drains_after(heals: Heals) {
    let site = Site::embedded().await;
    let (mongod, proxy) = behind_a_proxy().await;
    // Timeouts of the connection are those of a service that is left alone.
    let start = site.start().set("FLUSH__AGE_MAX", "100ms");
    let start = start.store(&mongod.uri_of("black_hole"));
    let server = start.start();
    let fleet = Fleet::start(&[server.address()], SENSORS);
    fleet.more(BETWEEN).await;
    proxy.carry(Carry::BlackHole);
    fleet.more(BETWEEN).await;
    // Queries make connections that never come to be.
    let asked = (0..QUERIES).map(|_| server.get("/v1/sensors"));
    for (status, answer) in futures_util::future::join_all(asked).await {
        assert_eq!((status, &answer["complete"]), (200, &json!(false)));
    }
    until_store_is(&server, "down").await;
    if let Heals::Late = heals {
        let failed = async || {
            let failures = server.metric("hourglass_flush_failures_total").await;
            (failures > 0.0).then_some(())
        };
        eventually("a flush is given up", failed).await;
    }
    proxy.carry(Carry::All);
    let healed = Instant::now();
    let sent = fleet.finish().await;
    eventually("it is drained", async || is_drained(&server).await).await;
    let took = healed.elapsed();
    until_store_is(&server, "up").await;
    assert_eq!(sent.retries, 0, "the journal takes what the store does not");
    let ledger = sent.check(&server).await;
    assert_eq!(ledger.values_conflict, 0);
    sent.check_documents(&client(&mongod.uri()).await.database("black_hole"))
        .await;
    sent.tell(&format!(
        "black hole that heals {heals:?}, drained after {took:?}"
    ));
    stop_and_verify(server, &start);
}

async fn is_drained(server: &Hourglass) -> Option<()> {
    let pending = server.metric("hourglass_values_pending").await;
    (pending == 0.0).then_some(())
}
