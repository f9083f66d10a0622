//! Connections, heads of requests, and the memory of all bodies together.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;

use crate::support::hourglass::{Hourglass, Start};

/// Longest wait for an answer on a raw connection.
const PATIENCE: Duration = Duration::from_secs(60);

fn connect(hourglass: &Hourglass) -> TcpStream {
    let stream = TcpStream::connect(hourglass.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Everything until the other side closes.
fn read_to_close(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn a_connection_that_never_sends_a_head_is_closed() {
    let dir = TempDir::new().unwrap();
    let hourglass = Start::on(dir.path())
        .set("SERVER__HEAD_TIMEOUT", "1s")
        .start();
    let mut slow = connect(&hourglass);
    slow.write_all(b"POST /v1/readings HTTP/1.1\r\nhost: x\r\n")
        .unwrap();
    let closed = tokio::task::spawn_blocking(|| read_to_close(slow))
        .await
        .unwrap();
    assert!(!closed.contains("202"), "{closed}");
    assert_eq!(hourglass.get("/livez").await.0, 200);
}

#[tokio::test]
async fn connections_beyond_the_bound_wait_and_are_served_when_others_end() {
    let dir = TempDir::new().unwrap();
    let hourglass = Start::on(dir.path())
        .set("SERVER__CONNECTIONS_MAX", "2")
        .start();
    let (first, second) = (connect(&hourglass), connect(&hourglass));
    let mut third = connect(&hourglass);
    third
        .write_all(b"GET /livez HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        .unwrap();
    third.set_nonblocking(true).unwrap();
    // The two in front hold the places; once one ends the third is served.
    let unanswered = third.read(&mut [0; 1]).unwrap_err();
    assert_eq!(unanswered.kind(), std::io::ErrorKind::WouldBlock);
    third.set_nonblocking(false).unwrap();
    drop(first);
    let answer = tokio::task::spawn_blocking(|| read_to_close(third))
        .await
        .unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    drop(second);
}

#[tokio::test]
async fn bodies_beyond_the_memory_of_all_are_told_to_come_again() {
    let dir = TempDir::new().unwrap();
    let hourglass = Start::on(dir.path())
        .set("SERVER__BODY_BYTES_MAX", "700KiB")
        .set("SERVER__BODIES_BYTES_MAX", "1MiB")
        .start();
    let head = |bytes: usize| {
        format!(
            "POST /v1/readings HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
             content-length: {bytes}\r\nconnection: close\r\n\r\n"
        )
    };
    let body = format!("[{}]", " ".repeat(600 << 10));
    let mut held = connect(&hourglass);
    held.write_all(head(body.len()).as_bytes()).unwrap();
    held.write_all(&body.as_bytes()[..body.len() - 1]).unwrap();
    while hourglass.metric("hourglass_http_body_bytes").await < (600 << 10) as f64 {}

    let (status, problem) = hourglass.post_as("application/json", body.clone()).await;
    assert_eq!(status, 503, "{problem}");
    assert_eq!(problem["code"], "busy");
    let small = json!({"sensorId": "S1", "ts": "2026-05-01T10:00:00Z", "temp": 1});
    assert_eq!(hourglass.post(&small).await.0, 202);

    held.write_all(b"]").unwrap();
    let answer = tokio::task::spawn_blocking(|| read_to_close(held))
        .await
        .unwrap();
    assert!(answer.starts_with("HTTP/1.1 202"), "{answer}");
    assert_eq!(hourglass.post_as("application/json", body).await.0, 202);
    assert_eq!(hourglass.metric("hourglass_http_body_bytes").await, 0.0);
    assert_eq!(
        hourglass
            .metric("hourglass_requests_refused_total{reason=\"busy\"}")
            .await,
        1.0
    );
}
