//! Bodies that stop arriving.

use std::io::Write;
use std::net::TcpStream;

use tempfile::TempDir;

use super::answers::{expect_unharmed, started};
use super::heads::{connect, read_to_close};
use crate::support::hourglass::{Hourglass, Start};

fn impatient(dir: &TempDir) -> Hourglass {
    let start = Start::on(dir.path()).set("SERVER__BODY_IDLE_TIMEOUT", "200ms");
    start.start()
}

fn begin(hourglass: &Hourglass, rest: &str) -> TcpStream {
    let mut stream = connect(hourglass);
    let head = format!(
        "POST /v1/readings HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n{rest}"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

#[tokio::test]
async fn a_body_that_stalls_is_given_up_and_told_after_how_long() {
    let dir = TempDir::new().unwrap();
    let hourglass = impatient(&dir);
    for rest in [
        "transfer-encoding: chunked\r\n\r\n",
        "transfer-encoding: chunked\r\n\r\n5\r\n[{\"se\r\n",
        "transfer-encoding: chunked\r\n\r\n5\r\n[{",
        "content-length: 100\r\n\r\n[{",
        "content-length: 100\r\n\r\n",
        "content-encoding: gzip\r\ncontent-length: 100\r\n\r\n\u{1f}",
    ] {
        let answer = read_to_close(begin(&hourglass, rest)).await;
        assert!(answer.starts_with("HTTP/1.1 408 "), "{rest:?}: {answer}");
        assert!(answer.contains("application/problem+json"), "{answer}");
        assert!(answer.contains(r#""code":"body_stalled""#), "{answer}");
        assert!(answer.contains("did not arrive within 0.2 s"), "{answer}");
    }
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn a_body_that_only_drips_is_given_up_at_the_end_of_its_time() {
    let dir = TempDir::new().unwrap();
    let start = Start::on(dir.path()).set("SERVER__REQUEST_TIMEOUT", "1s");
    let hourglass = start.start();
    let stream = begin(&hourglass, "content-length: 30000000\r\n\r\n");
    let mut dripping = stream.try_clone().unwrap();
    let drip = tokio::task::spawn_blocking(move || {
        while dripping.write_all(b" ").is_ok() {
            std::thread::yield_now();
        }
    });
    let answer = read_to_close(stream).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(answer.contains("did not arrive within 1 s"), "{answer}");
    drip.await.unwrap();
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn a_client_that_hangs_up_inside_its_body_leaves_nothing_behind() {
    let (_dir, hourglass) = started();
    for rest in [
        "content-length: 100\r\n\r\n[{",
        "transfer-encoding: chunked\r\n\r\n2\r\n[{\r\n",
    ] {
        drop(begin(&hourglass, rest));
    }
    let refused = "hourglass_requests_refused_total{reason=\"bad_body\"}";
    while hourglass.metric(refused).await < 2.0 {}
    expect_unharmed(&hourglass).await;
}
