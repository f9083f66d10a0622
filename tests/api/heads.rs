//! Heads of requests, and bytes that are no request at all.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use tempfile::TempDir;

use super::answers::{expect_unharmed, started};
use crate::support::hourglass::{Hourglass, Start};

/// Longest wait for an answer on a raw connection.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) fn connect(hourglass: &Hourglass) -> TcpStream {
    let stream = TcpStream::connect(hourglass.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Everything until the other side closes.
pub(super) async fn read_to_close(mut stream: TcpStream) -> String {
    tokio::task::spawn_blocking(move || {
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    })
    .await
    .unwrap()
}

#[tokio::test]
async fn what_is_no_request_is_answered_400_or_closed() {
    let (_dir, hourglass) = started();
    for bytes in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03garbage of a TLS client\r\n\r\n"[..],
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET\r\n\r\n",
        b"\r\n\r\n\0\0\0\0\r\n\r\n",
        b"POST /v1/readings HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n",
        b"POST /v1/readings HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999999999999\r\n\r\n",
        b"POST /v1/readings HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
        b"POST /v1/readings HTTP/1.1\r\nhost: x\r\ntransfer-encoding: x\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff",
    ] {
        let mut stream = connect(&hourglass);
        stream.write_all(bytes).unwrap();
        let answer = read_to_close(stream).await;
        assert!(!answer.contains("HTTP/1.1 2"), "{answer}");
        assert!(!answer.contains("HTTP/1.1 5"), "{answer}");
    }
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn a_connection_that_sends_nothing_or_no_whole_preface_is_closed() {
    let dir = TempDir::new().unwrap();
    let start = Start::on(dir.path()).set("SERVER__HEAD_TIMEOUT", "1s");
    let hourglass = start.start();
    let whole_preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    let silent = [
        &b""[..],
        b"P",
        b"PRI * HTTP/2.0\r\n\r\nSM",
        whole_preface,
        b"\r\n",
        b"GET /livez",
    ]
    .map(|bytes| {
        let mut stream = connect(&hourglass);
        stream.write_all(bytes).unwrap();
        stream
    });
    for stream in silent {
        let answer = read_to_close(stream).await;
        assert!(!answer.contains("200 OK"), "{answer}");
    }
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn a_broken_chunk_is_told_and_ends_its_connection() {
    let (_dir, hourglass) = started();
    for body in ["zz\r\n[]\r\n", "2\r\n[]x", "ffffffffffffffffff\r\n[]"] {
        let mut stream = connect(&hourglass);
        let request = format!(
            "POST /v1/readings HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
             transfer-encoding: chunked\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let answer = read_to_close(stream).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{body:?}: {answer}");
        assert!(answer.contains(r#""code":"body_aborted""#), "{answer}");
    }
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn a_sender_that_asks_before_it_sends_is_refused_without_sending() {
    let (_dir, hourglass) = started();
    let mut stream = connect(&hourglass);
    let head = "POST /v1/readings HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
                expect: 100-continue\r\ncontent-length: 50000000\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let answer = read_to_close(stream).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(answer.contains(r#""code":"body_too_large""#), "{answer}");
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn a_connection_whose_body_was_refused_goes_on() {
    let (_dir, hourglass) = started();
    let mut stream = connect(&hourglass);
    let body = " ".repeat(1 << 20);
    let refused = format!(
        "POST /v1/readings?x=1 HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let last = "GET /livez HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    stream.write_all((refused + last).as_bytes()).unwrap();
    let answers = read_to_close(stream).await;
    assert!(answers.starts_with("HTTP/1.1 400 "), "{answers}");
    assert!(answers.contains("HTTP/1.1 200 "), "{answers}");
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn a_head_beyond_128_kib_is_refused_and_one_of_a_long_address_is_not() {
    let (_dir, hourglass) = started();
    for (path, header, status) in [
        (60_000, 10, "HTTP/1.1 404 "),
        (10, 60_000, "HTTP/1.1 404 "),
        (10, 200_000, "HTTP/1.1 431 "),
        (70_000, 10, "HTTP/1.1 414 "),
    ] {
        let mut stream = connect(&hourglass);
        let (path, header) = ("p".repeat(path), "h".repeat(header));
        let head = format!("GET /{path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx: {header}");
        // Refused before its end, it may find the connection closed.
        stream.write_all((head + "\r\n\r\n").as_bytes()).ok();
        let mut start = [0; 13];
        stream.read_exact(&mut start).unwrap();
        assert_eq!(String::from_utf8_lossy(&start), status);
    }
    expect_unharmed(&hourglass).await;
}
