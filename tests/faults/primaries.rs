//! A replica set of three under load whose primary is killed, comes back as a
//! member, and steps down (I2, I8): majority writes survive the change, and what
//! a lost primary did not answer is decided by the fence.
//!
//! `HOURGLASS_TEST_PRIMARY_KILLS` asks for more kills than the 3 that a test run
//! makes; the longest pauses of ingestion are printed. By hand:
//! `HOURGLASS_TEST_PRIMARY_KILLS=20 cargo test --test hourglass primaries -- --nocapture`.

use super::ending::{assert_all_is_well, at_rest, busy};
use super::fleet::Fleet;
use super::load::Load;
use crate::support::hourglass::Start;
use crate::support::replica_set::ReplicaSet;

const KILLS_VARIABLE: &str = "HOURGLASS_TEST_PRIMARY_KILLS";
const KILLS: usize = 3;
/// Readings of a sensor that are sent between two faults.
const STEPS_PER_FAULT: u32 = 400;

fn kills() -> usize {
    let text = std::env::var(KILLS_VARIABLE);
    text.map_or(KILLS, |text| text.parse().expect(KILLS_VARIABLE))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn primaries_killed_and_stepped_down_under_load_lose_and_double_nothing() {
    let mut set = ReplicaSet::start().await;
    let dir = tempfile::tempdir().unwrap();
    let start = busy(Start::on(&dir.path().join("data")).store(&set.uri_of("primaries")))
        .set("BUFFER__BYTES_MAX", "64MiB")
        // Beyond an election of a second or two.
        .set("STORE__CONNECT_TIMEOUT", "5s");
    let server = start.start();
    let kills = kills();
    let mut fleets = Vec::new();
    let mut pauses = Vec::new();
    for kill in 0..kills {
        // A fleet a kill: however many there are, none has more than a day.
        let fleet = Fleet::named(&format!("kill-{kill}"), 20, 2 * STEPS_PER_FAULT);
        let load = Load::of(&fleet, &[server.address()]);
        let sending = load.start();
        load.reaches(1, 4).await;
        let primary = set.primary().await;
        set.kill(primary);
        load.reaches(2, 4).await;
        set.primary().await;
        set.revive(primary).await;
        load.reaches(3, 4).await;
        set.step_down().await;
        sending.await.unwrap();
        at_rest(&server).await;
        pauses.push(load.pauses());
        fleets.push((fleet, load.acknowledged()));
    }
    let longest_request = pauses.iter().map(|p| p.longest_request).max();
    let longest_gap = pauses.iter().map(|p| p.longest_gap).max();
    println!(
        "{kills} primaries killed, as many stepped down: longest request {:?}, longest gap \
         between two 202s {:?}",
        longest_request.unwrap_or_default(),
        longest_gap.unwrap_or_default()
    );
    let samples = at_rest(&server).await;
    let value = |name: &str| samples[&format!("hourglass_values_{name}_total")] as usize;
    let sent: usize = fleets.iter().map(|(fleet, _)| fleet.readings()).sum();
    assert_eq!((value("accepted"), value("conflict")), (sent, 0));
    assert_eq!(value("stored") + value("duplicate"), sent);
    assert!(samples["hourglass_flush_failures_total"] > 0.0);
    for (fleet, acknowledged) in &fleets {
        fleet.assert_is_there(&server, acknowledged).await;
    }
    let (last, acknowledged) = fleets.pop().expect("a kill at least");
    assert_all_is_well(server, &start, &[(&last, &acknowledged)]).await;
    let server = start.start();
    for (fleet, acknowledged) in &fleets {
        fleet.assert_is_there(&server, acknowledged).await;
    }
}
