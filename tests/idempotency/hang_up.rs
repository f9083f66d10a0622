//! Clients that hang up and come again, and the same key on two connections at
//! once: each key is stored once.

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::requests::{count, post};
use crate::support::eventually::eventually;
use crate::support::hourglass::{Hourglass, Start};

/// A body of a reading without a time, and `blanks` that take time to decode.
fn body(blanks: usize) -> String {
    format!(r#"{{"sensorId":"S1","temp":24.5}}{}"#, " ".repeat(blanks))
}

/// Sends a complete request and is gone.
async fn send_and_hang_up(hourglass: &Hourglass, key: &str, body: &str) {
    let head = format!(
        "POST /v1/readings HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
         idempotency-key: {key}\r\ncontent-length: {}\r\n\r\n",
        hourglass.address(),
        body.len()
    );
    let mut stream = TcpStream::connect(hourglass.address()).await.unwrap();
    stream.write_all((head + body).as_bytes()).await.unwrap();
}

#[tokio::test]
async fn a_client_that_hangs_up_and_sends_again_is_stored_once() {
    let dir = tempfile::tempdir().unwrap();
    let hourglass = Start::on(dir.path()).start();
    let mut keys = 0;
    for blanks in [0, 100_000, 2_000_000] {
        for _ in 0..20 {
            keys += 1;
            let (key, body) = (format!("k{keys}"), body(blanks));
            send_and_hang_up(&hourglass, &key, &body).await;
            let answer = post(&hourglass, &key, &body).await;
            assert_eq!(answer.status, 202, "{answer:?}");
        }
    }
    // What hung up and was first may still be on its way in.
    eventually("no connection is left", async || {
        let open = hourglass.metric("hourglass_http_connections").await;
        (open <= 1.0).then_some(())
    })
    .await;
    assert_eq!(count(&hourglass, "S1").await, keys);
    let known = hourglass.metric("hourglass_idempotency_keys").await;
    assert_eq!(known, keys as f64);
}

#[tokio::test]
async fn the_same_key_on_two_connections_at_once_is_stored_once() {
    let dir = tempfile::tempdir().unwrap();
    let hourglass = Start::on(dir.path()).start();
    for (pair, blanks) in (0..100).zip([0, 300_000].into_iter().cycle()) {
        let (key, body) = (format!("k{pair}"), body(blanks));
        let (one, other) =
            tokio::join!(post(&hourglass, &key, &body), post(&hourglass, &key, &body));
        assert_eq!((one.status, &one.body), (202, &other.body));
        assert_ne!(one.is_replayed, other.is_replayed, "{one:?} {other:?}");
    }
    assert_eq!(count(&hourglass, "S1").await, 100);
    let replays = hourglass.metric("hourglass_idempotent_replays_total").await;
    assert_eq!(replays, 100.0);
}
