//! Clients that send a complete request and are gone at once, in good order or
//! by a reset: of a batch all readings are stored or none, what was received is
//! stored, and nothing stays behind: no connection, no reserved bytes of the
//! journal, no request that a stop would wait for.

use std::collections::HashSet;
use std::fs;

use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::ledger::{self, at_rest};
use super::{send, table};
use crate::support::eventually::eventually;
use crate::support::hourglass::Hourglass;
use crate::support::machine_temperature::{Row, body, rows};
use crate::support::site::Site;

const BATCH_ROWS: usize = 150;

/// How a client goes away; none of them reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leave {
    /// Closes once all is sent.
    AtOnce,
    /// Resets the connection once all is sent.
    Resetting,
    /// Closes when an answer comes, so all of it was durable.
    Answered,
}

const LEAVES: [Leave; 3] = [Leave::AtOnce, Leave::Resetting, Leave::Answered];

/// Sends the request and goes away.
async fn send_and_hang_up(server: &Hourglass, rows: &[Row], leave: Leave) {
    let body = body(rows).to_string();
    let head = format!(
        "POST /v1/readings HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n",
        server.address(),
        body.len()
    );
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream.write_all((head + &body).as_bytes()).await.unwrap();
    match leave {
        Leave::AtOnce => {}
        Leave::Resetting => stream.set_zero_linger().unwrap(),
        Leave::Answered => stream.readable().await.unwrap(),
    }
}

/// Connections by the system's table: those that the process has not closed,
/// accepted or not, and those that this test keeps open with its own client.
fn connections(server: &Hourglass) -> (usize, usize) {
    let port = server.address().rsplit_once(':').unwrap().1;
    let port = format!(":{:04X}", port.parse::<u16>().unwrap());
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    let rows = table.lines().skip(1).map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        (columns[1], columns[2], columns[3])
    });
    let (mut held, mut ours) = (0, 0);
    for (local, remote, state) in rows {
        // ESTABLISHED, and CLOSE_WAIT where the client has closed.
        held += usize::from(local.ends_with(&port) && ["01", "08"].contains(&state));
        ours += usize::from(remote.ends_with(&port) && state == "01");
    }
    (held, ours)
}

/// Open file descriptors of the process.
fn descriptors(server: &Hourglass) -> usize {
    let folder = fs::read_dir(format!("/proc/{}/fd", server.pid())).unwrap();
    folder.count()
}

pub(super) async fn clients_that_hang_up_at_once_lose_no_part_of_a_batch_and_leak_nothing(
    site: &Site,
) {
    // A stop that waits for a request that never ends would wait for an hour.
    let start = site.start().set("SHUTDOWN__GRACE", "1h");
    let server = start.start();
    // Opens the connections to the store.
    send::batch(&server, &rows()[..BATCH_ROWS]).await;
    at_rest(&server).await;
    let descriptors_before = descriptors(&server);

    let stored = table::stored_rows();
    let batches: Vec<&[Row]> = stored.chunks(BATCH_ROWS).collect();
    let leaves = LEAVES.into_iter().cycle();
    let sent = batches.iter().zip(leaves.clone());
    let sent = sent.map(|(rows, leave)| send_and_hang_up(&server, rows, leave));
    futures_util::future::join_all(sent).await;

    let gone = async || {
        let (held, ours) = connections(&server);
        (held == ours).then_some(())
    };
    eventually("the connections are closed", gone).await;
    // What was received goes on without its sender.
    let accepted = async || {
        let samples = ledger::samples(&server).await;
        let [received, accepted] = ["received", "accepted"]
            .map(|what| samples[&format!("hourglass_items_{what}_total")] as u64);
        (received == accepted).then_some(())
    };
    eventually("all that was received is accepted", accepted).await;
    let ledger = at_rest(&server).await;
    assert_eq!((ledger.rejected, ledger.refused), (0, 0));

    let (readings, complete) = table::readings(&server).await;
    assert!(complete);
    let readings: HashSet<(&str, u64)> = readings
        .iter()
        .map(|(at, temp)| (at.as_str(), temp.to_bits()))
        .collect();
    assert_eq!(readings.len() as u64, ledger.values_stored);
    let in_rows = |row: &&Row| readings.contains(&(row.at.as_str(), row.temp.to_bits()));
    for (rows, leave) in batches.iter().zip(leaves) {
        let there = rows.iter().filter(in_rows).count();
        let none_is_well = leave != Leave::Answered;
        assert!(
            there == rows.len() || (there == 0 && none_is_well),
            "{there} of {}, {leave:?}",
            rows.len()
        );
    }

    let tidy = async || {
        let samples = ledger::samples(&server).await;
        let counted = samples["hourglass_http_connections"] as usize;
        let journal = samples["hourglass_journal_bytes"] as u64;
        let (held, ours) = connections(&server);
        let is_tidy = [counted, held] == [ours; 2] && journal == site.journal_bytes_on_disk();
        is_tidy.then_some(())
    };
    eventually("no connection is counted and no byte reserved", tidy).await;
    // Files of the store may come and go; a connection a client would show.
    let open = descriptors(&server);
    assert!(
        open < descriptors_before + batches.len() / 2,
        "{descriptors_before} then {open}"
    );

    // Something waits to be flushed, so the stop has work to do in its grace.
    let now = json!([{ "sensorId": "waits", "temp": 1 }]);
    assert_eq!(server.post(&now).await.0, 202);
    let server = site.restart_from_the_store(server, &start);
    send::in_order(&server, &rows(), 5_000).await;
    table::assert_whole(&server).await;
}
