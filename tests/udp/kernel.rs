//! What the kernel drops is seen, exactly, and apart from what we drop.

use super::counts::Counts;
use super::{send, sender, start};

const BUFFER: u64 = 64 << 10;

/// C21: nobody sees what UDP loses, or where.
#[tokio::test]
async fn c21_drops_of_the_kernel_are_counted_apart_from_those_of_the_queue() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path())
        .set("UDP__RECEIVE_BUFFER", &format!("{BUFFER}"))
        .start();
    let socket = sender(server.udp());
    let mut sent = 0;
    for round in 1..=3 {
        // Nobody reads now, so the kernel's buffer fills up and overflows; the last
        // datagrams before the reader is back are among those that are lost.
        server.freeze();
        let lines: Vec<_> = (0..2000)
            .map(|n| format!("m,sensor=S{n} x={round}"))
            .collect();
        send(&socket, &lines);
        sent += lines.len() as u64;
        server.thaw();
        let counts = Counts::at_rest(&server, sent).await;
        assert!(counts.dropped("kernel") > 0, "{counts:?}");
        assert!(counts.received > 0, "{counts:?}");
        assert_eq!(counts.dropped_by_us(), 0, "{counts:?}");
        let accepted = counts.sample("hourglass_items_accepted_total");
        assert_eq!(accepted as u64, counts.received);
    }
}

/// The kernel counts for the socket; another one of the same port has its own.
#[tokio::test]
async fn c21_a_restart_begins_at_nothing_lost() {
    let dir = tempfile::tempdir().unwrap();
    let start = start(dir.path()).set("UDP__RECEIVE_BUFFER", "4KiB");
    let server = start.start();
    server.freeze();
    let lines: Vec<_> = (0..100).map(|n| format!("m,sensor=S1 x={n}")).collect();
    send(&sender(server.udp()), &lines);
    server.thaw();
    let counts = Counts::at_rest(&server, 100).await;
    assert!(counts.dropped("kernel") > 0, "{counts:?}");
    assert!(server.stop().0.success());
    let server = start.start();
    send(&sender(server.udp()), &["m,sensor=S1 x=1"]);
    Counts::all_decoded(&server, 1).await;
}

/// Without the right to exceed it, `net.core.rmem_max` is the most there is.
#[tokio::test]
async fn less_than_was_asked_for_is_told_with_what_to_set() {
    let dir = tempfile::tempdir().unwrap();
    let asked: u64 = 512 << 20;
    let start = start(dir.path()).set("UDP__RECEIVE_BUFFER", "512MiB");
    let server = start.start();
    let counts = Counts::of(&server).await;
    let granted = counts.sample("hourglass_udp_receive_buffer_bytes") as u64;
    let log = server.log();
    let told = log
        .iter()
        .find(|line| line.contains("than udp.receive_buffer"));
    if granted < asked {
        let told = told.unwrap();
        let advice = format!("net.core.rmem_max={asked}");
        assert!(told.contains(&advice), "{told}");
        assert!(told.contains(&format!("\"granted\":{granted}")), "{told}");
    } else {
        assert_eq!((granted, told), (asked, None));
    }
}
