//! A journal at its bound: datagrams wait in the queue, which is bounded, and the
//! rest is dropped and counted; HTTP goes on.

use super::counts::Counts;
use super::{HOUR, readings, send, sender, start};
use crate::support::eventually::eventually;
use crate::support::mongod::Mongod;

const QUEUE: u64 = 256 << 10;

#[tokio::test]
async fn a_full_queue_drops_and_counts_while_http_answers_and_drains_when_there_is_room() {
    let dir = tempfile::tempdir().unwrap();
    let mut mongod = Mongod::new();
    let server = start(dir.path())
        .store(&mongod.uri_of("udp_queue"))
        .set("STORE__CONNECT_TIMEOUT", "200ms")
        .set("JOURNAL__SEGMENT_BYTES", "64KiB")
        .set("JOURNAL__BYTES_MAX", "128KiB")
        .set("UDP__QUEUE_BYTES_MAX", &QUEUE.to_string())
        .start();
    let socket = sender(server.udp());
    // What the kernel never drops: no more than its buffer holds is under way.
    let mut sent = 0;
    let counts = loop {
        let line = |n: u64| format!("m,sensor=S{} x={n} {}", n % 50, HOUR + n / 50);
        let lines: Vec<_> = (sent..sent + 500).map(line).collect();
        send(&socket, &lines);
        sent += 500;
        let read = async || {
            let counts = Counts::of(&server).await;
            (counts.received + counts.dropped("kernel") == sent).then_some(counts)
        };
        let counts = eventually("what was sent is read", read).await;
        assert!(counts.sample("hourglass_udp_queue_bytes") as u64 <= QUEUE);
        if counts.dropped("queue_full") > 0 {
            break counts;
        }
        assert!(sent < 1_000_000, "the queue has no bound: {counts:?}");
    };
    assert_eq!(counts.dropped("kernel"), 0, "{counts:?}");
    assert_eq!(counts.sample("hourglass_udp_queue_bytes_max") as u64, QUEUE);
    server.wait_for_log("datagrams wait for room in the journal");

    // The HTTP side answers, and says the same in its own way.
    assert_eq!(server.get("/livez").await.0, 200);
    let body: serde_json::Value = (0..2000)
        .map(|n| serde_json::json!({"sensorId": "S0", "ts": HOUR + n, "y": n}))
        .collect();
    let (status, problem) = server.post(&body).await;
    assert_eq!((status, &problem["code"]), (503, &"journal_full".into()));

    mongod.start().await;
    let counts = Counts::at_rest(&server, sent).await;
    assert_eq!(counts.dropped_by_us(), counts.dropped("queue_full"));
    assert!(counts.decoded > 0);
    let pending = async || {
        let pending = server.metric("hourglass_values_pending").await;
        (pending == 0.0).then_some(())
    };
    eventually("everything is stored", pending).await;
    let stored = server.metric("hourglass_values_stored_total").await as u64;
    assert_eq!(stored, counts.decoded, "{counts:?}");
    assert_eq!(readings(&server, "S0", "x").await[0], (0, 0.0));
    assert!(server.stop().0.success());
}

/// One whose readings take more than half of the journal never fits.
#[tokio::test]
async fn what_no_journal_of_this_bound_takes_at_once_goes_in_pieces_or_is_dropped() {
    let dir = tempfile::tempdir().unwrap();
    let server = start(dir.path())
        .set("JOURNAL__SEGMENT_BYTES", "64KiB")
        .set("JOURNAL__BYTES_MAX", "128KiB")
        .start();
    let lines = |from: usize, to: usize| -> String {
        (from..to)
            .map(|n| format!("m,d={n} x=1 {HOUR}\n"))
            .collect()
    };
    let larger: String = lines(0, 2500);
    // Nobody reads until all are there, so that they come as one block.
    server.freeze();
    let mut datagrams = vec![larger];
    datagrams.extend((0..10).map(|n| lines(5000 + n * 200, 5200 + n * 200)));
    send(&sender(server.udp()), &datagrams);
    server.thaw();
    let counts = Counts::at_rest(&server, 11).await;
    assert_eq!(counts.dropped("too_large"), 1, "{counts:?}");
    assert_eq!(counts.decoded, 10);
    assert_eq!(counts.sample("hourglass_items_accepted_total"), 2000.0);
    assert_eq!(counts.sample("hourglass_items_received_total"), 2000.0);
}
