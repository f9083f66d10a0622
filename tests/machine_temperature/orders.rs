//! Any order, any batches, sent once or twice: one table (I2, I5).

use rand::seq::SliceRandom;

use super::ledger::{Ledger, at_rest};
use super::{send, table};
use crate::support::hourglass::Hourglass;
use crate::support::machine_temperature::{
    CONFLICTS, READINGS, ROWS, SENSOR, firsts_and_conflicting, rows,
};
use crate::support::seed::seeded;
use crate::support::site::Site;

/// Connections that post at once where the order does not matter.
const CONNECTIONS: usize = 16;

/// Sends, checks the table as things are and from the store alone, and answers
/// the service with what it counted.
async fn check(site: &Site, send: impl AsyncFnOnce(&Hourglass)) -> (Hourglass, Ledger) {
    let server = site.start().start();
    send(&server).await;
    table::assert_whole(&server).await;
    let ledger = at_rest(&server).await;
    table::assert_whole(&server).await;

    let server = site.restart_from_the_store(server, &site.start());
    table::assert_whole(&server).await;
    assert_eq!(at_rest(&server).await, Ledger::default());
    (server, ledger)
}

/// The ledger when every row was sent `times`.
fn sent(times: u64) -> Ledger {
    let rows = ROWS as u64 * times;
    Ledger {
        received: rows,
        accepted: rows,
        values_accepted: rows,
        values_stored: READINGS,
        values_duplicate: READINGS * (times - 1),
        values_conflict: CONFLICTS * times,
        ..Ledger::default()
    }
}

pub(super) async fn in_file_order_in_large_batches(site: &Site) {
    let send = async |server: &Hourglass| {
        send::in_order(server, &rows(), 5_000).await;
        let (_, conflicts) = server.get("/v1/conflicts").await;
        let (_, refused) = firsts_and_conflicting(rows());
        let stored = table::stored_rows();
        let conflicts = conflicts["conflicts"].as_array().unwrap();
        assert_eq!(conflicts.len(), refused.len());
        for (conflict, row) in conflicts.iter().rev().zip(&refused) {
            let kept = stored.iter().find(|stored| stored.at == row.at).unwrap();
            assert_eq!(conflict["sensorId"], SENSOR);
            assert_eq!(conflict["ts"], row.at.as_str());
            assert_eq!(conflict["measure"], "temp");
            let told = |what: &str| conflict[what].as_f64().unwrap();
            assert!((told("kept") - kept.temp).abs() < 1e-12);
            assert!((told("refused") - row.temp).abs() < 1e-12);
        }
    };
    let (_, ledger) = check(site, send).await;
    assert_eq!(ledger, sent(1));
}

pub(super) async fn in_file_order_in_batches_of_seven(site: &Site) {
    let send = async |server: &Hourglass| send::in_order(server, &rows(), 7).await;
    let (_, ledger) = check(site, send).await;
    assert_eq!(ledger, sent(1));
}

pub(super) async fn the_file_as_csv_in_one_body(site: &Site) {
    let (_, ledger) = check(site, send::the_file).await;
    assert_eq!(ledger, sent(1));
}

pub(super) async fn in_any_order_one_reading_a_request(site: &Site) {
    let (mut firsts, conflicting) = firsts_and_conflicting(rows());
    firsts.shuffle(&mut seeded());
    let send = async |server: &Hourglass| {
        send::at_once(server, &firsts, 1, CONNECTIONS).await;
        send::at_once(server, &conflicting, 1, CONNECTIONS).await;
    };
    let (_, ledger) = check(site, send).await;
    assert_eq!(ledger, sent(1));
}

pub(super) async fn every_batch_sent_twice_at_once(site: &Site) {
    let send = async |server: &Hourglass| {
        for rows in rows().chunks(400) {
            tokio::join!(send::batch(server, rows), send::batch(server, rows));
        }
    };
    let (server, ledger) = check(site, send).await;
    assert_eq!(ledger, sent(2));

    // Once more, to a process that has nothing of it in memory.
    send::in_order(&server, &rows(), 5_000).await;
    table::assert_whole(&server).await;
    let again = at_rest(&server).await;
    assert_eq!(again.values_stored, 0);
    assert_eq!(again.values_duplicate, READINGS);
    assert_eq!(again.values_conflict, CONFLICTS);
}
