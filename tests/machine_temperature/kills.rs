//! `kill -9` at random points (I1, I2): what was acknowledged is there after
//! the restart, what was not is sent again, and nothing is there twice.

use std::collections::{HashMap, HashSet};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use rand::RngExt;
use rand::seq::SliceRandom;

use super::ledger::{Ledger, at_rest};
use super::{send, table};
use crate::support::eventually::eventually;
use crate::support::hourglass::{Hourglass, Start};
use crate::support::machine_temperature::{
    CONFLICTS, READINGS, ROWS, Row, body, firsts_and_conflicting, rows,
};
use crate::support::seed::seeded;
use crate::support::site::Site;

const KILLS: usize = 3;
const BATCH_ROWS: usize = 50;
/// Requests in flight, one of which is answered when the process is killed.
const IN_FLIGHT: usize = 8;

/// Small segments, so that some go while others are written, and little
/// memory, so that some of what is acknowledged is in the journal alone.
fn start(site: &Site) -> Start {
    site.start()
        .set("JOURNAL__SEGMENT_BYTES", "64KiB")
        .set("JOURNAL__QUEUE_BYTES_MAX", "64KiB")
        .set("BUFFER__BYTES_MAX", "1MiB")
}

/// Posts `waiting` (numbers of batches) until `kill_after` are acknowledged,
/// kills the process with others in flight, and moves what was acknowledged
/// from `waiting` to `acknowledged`.
async fn post_until_killed(
    server: Hourglass,
    batches: &[&[Row]],
    waiting: &mut Vec<usize>,
    acknowledged: &mut Vec<usize>,
    kill_after: usize,
) {
    let (http, url) = (server.http().clone(), server.url("/v1/readings"));
    let post = |number: usize| {
        let rows = batches[number];
        let request = http
            .post(&url)
            .header("content-type", "application/json")
            .body(body(rows).to_string());
        async move {
            // No answer, or half of one, is no acknowledgement.
            let response = request.send().await.ok()?;
            let status = response.status();
            let text = response.text().await.ok()?;
            assert_eq!(status, 202, "{text}");
            send::assert_all_taken(&serde_json::from_str(&text).unwrap(), rows.len());
            Some(number)
        }
    };
    let mut next = waiting.iter().copied();
    let mut in_flight: FuturesUnordered<_> = next.by_ref().take(IN_FLIGHT).map(post).collect();
    let mut server = Some(server);
    let mut answered = HashSet::new();
    while let Some(answer) = in_flight.next().await {
        if let Some(number) = answer {
            answered.insert(number);
        } else {
            assert!(server.is_none(), "a request failed before the kill");
        }
        if server.is_some() {
            in_flight.extend(next.next().map(post));
        }
        if answered.len() >= kill_after
            && let Some(server) = server.take()
        {
            server.kill_9();
        }
    }
    assert!(server.is_none(), "{kill_after} were never acknowledged");
    waiting.retain(|number| !answered.contains(number));
    acknowledged.extend(answered);
}

/// Whatever is acknowledged is in the hours at once after the start, or the
/// answer says that it may be incomplete.
async fn assert_tells(server: &Hourglass, acknowledged: impl Iterator<Item = &Row>) {
    let answer = table::hourly(server).await;
    let counts: HashMap<&str, u64> = answer
        .hours
        .iter()
        .map(|hour| (hour.hour.as_str(), hour.count))
        .collect();
    let mut expected: HashMap<String, u64> = HashMap::new();
    for row in acknowledged {
        *expected.entry(row.hour()).or_default() += 1;
    }
    for (hour, count) in expected {
        let told = counts.get(hour.as_str()).copied().unwrap_or(0);
        assert!(
            told >= count || !answer.complete,
            "{hour}: {told} of {count} acknowledged"
        );
    }
}

pub(super) async fn kill_9_with_requests_in_flight_loses_and_doubles_nothing(site: &Site) {
    let mut random = seeded();
    let (mut firsts, conflicting) = firsts_and_conflicting(rows());
    firsts.shuffle(&mut random);
    let batches: Vec<&[Row]> = firsts.chunks(BATCH_ROWS).collect();
    let mut waiting: Vec<usize> = (0..batches.len()).collect();
    let mut acknowledged = Vec::new();
    for _ in 0..KILLS {
        let server = start(site).start();
        let told = acknowledged
            .iter()
            .flat_map(|number: &usize| batches[*number]);
        assert_tells(&server, told).await;
        let kill_after = random.random_range(1..batches.len() / (KILLS + 1));
        post_until_killed(
            server,
            &batches,
            &mut waiting,
            &mut acknowledged,
            kill_after,
        )
        .await;
        waiting.shuffle(&mut random);
    }

    let server = start(site).start();
    let told = acknowledged.iter().flat_map(|number| batches[*number]);
    assert_tells(&server, told).await;
    for number in &waiting {
        send::batch(&server, batches[*number]).await;
    }
    send::batch(&server, &conflicting).await;
    let complete = async || table::hourly(&server).await.complete.then_some(());
    eventually("the backlog is in the buffer", complete).await;
    table::assert_whole(&server).await;
    let ledger = at_rest(&server).await;
    let sent: usize = waiting.iter().map(|number| batches[*number].len()).sum();
    assert_eq!(ledger.values_accepted, (sent + conflicting.len()) as u64);
    assert_eq!(ledger.values_conflict, CONFLICTS);
    assert!(ledger.values_stored <= READINGS);

    let server = site.restart_from_the_store(server, &start(site));
    table::assert_whole(&server).await;
    assert_eq!(at_rest(&server).await, Ledger::default());
}

pub(super) async fn a_chain_of_kills_at_rest_keeps_the_ledger_balanced(site: &Site) {
    let rows = rows();
    let (mut stored, mut accepted) = (0, 0);
    for third in rows.chunks(ROWS / 3) {
        let server = start(site).start();
        // What the journal still holds was confirmed in the life before.
        let recovered = at_rest(&server).await;
        let seen = recovered.values_duplicate + recovered.values_conflict;
        assert_eq!(recovered.values_recovered, seen, "{recovered:?}");
        assert_eq!(recovered.values_accepted, 0);

        send::in_order(&server, third, 500).await;
        let ledger = at_rest(&server).await;
        assert_eq!(ledger.values_recovered, recovered.values_recovered);
        assert_eq!(ledger.values_accepted, third.len() as u64);
        stored += ledger.values_stored;
        accepted += ledger.values_accepted;
        server.kill_9();
    }
    assert_eq!((stored, accepted), (READINGS, ROWS as u64));

    let server = start(site).start();
    assert_eq!(at_rest(&server).await.values_stored, 0);
    table::assert_whole(&server).await;
}

pub(super) async fn a_kill_while_it_stops_loses_nothing(site: &Site) {
    let server = start(site).start();
    send::in_order(&server, &rows(), 5_000).await;
    server.signal_stop();
    server.wait_for_log("stopping");
    server.kill_9();

    let server = start(site).start();
    at_rest(&server).await;
    table::assert_whole(&server).await;
}
