//! The file as lines of line protocol in datagrams: sent no faster than they are
//! taken, none is lost, and the same comes out as over HTTP.

use std::net::UdpSocket;

use super::{ledger, table};
use crate::support::eventually::eventually;
use crate::support::machine_temperature::{CONFLICTS, READINGS, ROWS, SENSOR, rows};
use crate::support::site::Site;

/// Datagrams under way at most: less than the kernel keeps by its own defaults.
const UNDER_WAY: usize = 200;

const DATAGRAMS: &str = "hourglass_udp_datagrams_received_total";

#[tokio::test]
async fn embedded_over_udp_a_line_a_datagram() {
    let site = Site::embedded().await;
    let start = site.start().udp("127.0.0.1:0");
    let server = start.start();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(server.udp()).unwrap();
    let mut sent = 0;
    for group in rows().chunks(UNDER_WAY) {
        for row in group {
            let at: jiff::Timestamp = row.at.parse().unwrap();
            let line = format!(
                "machine,sensor={SENSOR} temp={} {}",
                row.temp,
                at.as_second()
            );
            socket.send(line.as_bytes()).unwrap();
        }
        sent += group.len();
        let read = async || (server.metric(DATAGRAMS).await as usize == sent).then_some(());
        eventually("what was sent was read", read).await;
    }
    let decoded = async || {
        let samples = server.samples().await;
        let decoded = samples["hourglass_udp_datagrams_decoded_total"] as usize;
        (decoded == ROWS).then_some(samples)
    };
    let samples = eventually("all is decoded", decoded).await;
    assert_eq!(samples[DATAGRAMS] as usize, ROWS);
    let dropped = "hourglass_udp_datagrams_dropped_total";
    let dropped: Vec<_> = samples
        .iter()
        .filter(|(name, _)| name.starts_with(dropped))
        .collect();
    assert!(dropped.len() > 1, "{samples:?}");
    assert!(
        dropped.iter().all(|(_, count)| **count == 0.0),
        "{dropped:?}"
    );

    table::assert_whole(&server).await;
    let ledger = ledger::at_rest(&server).await;
    assert_eq!(ledger.received as usize, ROWS);
    assert_eq!(ledger.accepted as usize, ROWS);
    assert_eq!(ledger.values_stored, READINGS);
    // Of one instant in the file the later rows are refused, whatever carried them.
    assert_eq!(ledger.values_conflict, CONFLICTS);

    let server = site.restart_from_the_store(server, &start);
    table::assert_whole(&server).await;
}
