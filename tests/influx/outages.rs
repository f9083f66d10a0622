//! What passes by itself is 503 with Retry-After, so that clients keep what they
//! have and send it again.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use tempfile::TempDir;

use super::builders::{Endpoint, INFLUX, TEN, Told, assert_balanced, values};
use crate::support::eventually::eventually;
use crate::support::hourglass::{Hourglass, Start};
use crate::support::mongod::Mongod;

/// A write whose body has begun and waits for its end.
pub(super) struct Held(TcpStream);

impl Held {
    /// Sends the head and `bytes` of a body that may go on.
    pub(super) fn begin(hourglass: &Hourglass, bytes: usize) -> Self {
        let mut stream = TcpStream::connect(hourglass.address()).unwrap();
        let patience = Some(Duration::from_secs(60));
        stream.set_read_timeout(patience).unwrap();
        let head = format!(
            "POST /write HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
             transfer-encoding: chunked\r\n\r\n{bytes:x}\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(&vec![b' '; bytes]).unwrap();
        stream.write_all(b"\r\n").unwrap();
        Self(stream)
    }

    /// Ends the body: the answer.
    pub(super) fn end(mut self) -> String {
        self.0.write_all(b"0\r\n\r\n").unwrap();
        let mut answer = String::new();
        self.0.read_to_string(&mut answer).unwrap();
        answer
    }
}

/// A service that has room for one MiB of bodies, and a body that takes it all.
pub(super) async fn busy(dir: &TempDir) -> (Hourglass, Held) {
    const ROOM: usize = 1 << 20;
    let hourglass = Start::on(dir.path())
        .set("SERVER__BODIES_BYTES_MAX", "1MiB")
        .set("SERVER__BODY_BYTES_MAX", "1MiB")
        .set("SERVER__BODY_IDLE_TIMEOUT", "1h")
        .set("SERVER__REQUEST_TIMEOUT", "1h")
        .start();
    let held = Held::begin(&hourglass, ROOM);
    eventually("the body has come", async || {
        let bytes = hourglass.metric("hourglass_http_body_bytes").await;
        (bytes == ROOM as f64).then_some(())
    })
    .await;
    (hourglass, held)
}

fn line(sensor: &str) -> String {
    format!("plant,sensor={sensor} temp=1 {TEN}")
}

#[tokio::test]
async fn too_many_bodies_at_once_are_503_until_one_is_done() {
    let dir = TempDir::new().unwrap();
    let (hourglass, held) = busy(&dir).await;
    for endpoint in INFLUX {
        let told = endpoint.send(&hourglass, "s", line("S1")).await;
        let message = told.error(503, "unavailable");
        assert!(message.contains("bodies of other requests"), "{message}");
    }
    let form = hourglass.http().post(hourglass.url("/query")).body("q=x");
    let told = Told::of(Endpoint::V1, form.send().await.unwrap()).await;
    told.error(503, "");
    assert!(held.end().starts_with("HTTP/1.1 204 "));
    for endpoint in INFLUX {
        let sensor = format!("{endpoint:?}");
        let told = endpoint.send(&hourglass, "s", line(&sensor)).await;
        told.assert_taken();
        assert_eq!(values(&hourglass, &sensor).await.len(), 1);
    }
    assert_balanced(&hourglass).await;
}

/// 408 would be the word for it, but Telegraf drops a batch for good then.
#[tokio::test]
async fn a_body_that_stalls_is_503_and_its_rest_is_not_waited_for() {
    let dir = TempDir::new().unwrap();
    let hourglass = Start::on(dir.path())
        .set("SERVER__BODY_IDLE_TIMEOUT", "200ms")
        .start();
    for path in ["/write", "/api/v2/write", "/query"] {
        let mut stream = TcpStream::connect(hourglass.address()).unwrap();
        let patience = Some(Duration::from_secs(60));
        stream.set_read_timeout(patience).unwrap();
        let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nplant");
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
        assert!(answer.contains("\r\nretry-after: "), "{answer}");
        assert!(answer.contains("did not arrive within 0.2 s"), "{answer}");
    }
    assert_balanced(&hourglass).await;
}

#[tokio::test]
async fn a_full_journal_is_503_and_what_is_sent_again_is_stored_once() {
    let dir = TempDir::new().unwrap();
    let mut mongod = Mongod::new();
    let hourglass = Start::on(dir.path())
        .store(&mongod.uri_of("influx_full"))
        .set("STORE__CONNECT_TIMEOUT", "200ms")
        .set("JOURNAL__SEGMENT_BYTES", "64KiB")
        .set("JOURNAL__BYTES_MAX", "128KiB")
        .start();
    let batch = |number: i64| -> String {
        let line = |n| format!("plant,sensor=S{number} temp={n} {}\n", TEN + n);
        (0..500).map(line).collect()
    };
    let mut full = 0;
    while Endpoint::V1.send(&hourglass, "s", batch(full)).await.status == 204 {
        full += 1;
        assert!(full < 1000, "it has no bound");
    }
    for endpoint in INFLUX {
        let told = endpoint.send(&hourglass, "s", batch(full)).await;
        let message = told.error(503, "unavailable");
        assert!(message.contains("journal"), "{message}");
    }
    // It lives all the same.
    let ping = hourglass.http().get(hourglass.url("/ping"));
    assert_eq!(ping.send().await.unwrap().status(), 204);
    eventually("/health says it is full and the store away", async || {
        let (status, health) = hourglass.get("/health").await;
        let message = health["message"].as_str().unwrap();
        let checks = [
            &health["checks"][0]["status"],
            &health["checks"][1]["status"],
        ];
        (status == 503 && message.contains("full") && checks == ["fail", "fail"]).then(|| {
            assert_eq!(health["status"], "fail");
        })
    })
    .await;
    assert_eq!(hourglass.get("/readyz").await.0, 503);

    mongod.start().await;
    eventually("there is room again", async || {
        (hourglass.get("/health").await.0 == 200).then_some(())
    })
    .await;
    for endpoint in INFLUX {
        let told = endpoint.send(&hourglass, "s", batch(full)).await;
        told.assert_taken();
    }
    for number in 0..=full {
        let path = format!("/v1/sensors/S{number}/hourly");
        let (_, answer) = hourglass.get(&path).await;
        assert_eq!(answer["hours"][0]["count"], 500, "{answer}");
    }
    assert_balanced(&hourglass).await;
}

#[tokio::test]
async fn a_process_that_stops_refuses_with_503_and_answers_what_is_under_way() {
    let dir = TempDir::new().unwrap();
    let mut hourglass = Start::on(dir.path())
        .set("SERVER__BODY_IDLE_TIMEOUT", "1h")
        .set("SERVER__REQUEST_TIMEOUT", "1h")
        .set("SHUTDOWN__GRACE", "1m")
        .start();
    let held = Held::begin(&hourglass, 50);
    eventually("the body is under way", async || {
        let bytes = hourglass.metric("hourglass_http_body_bytes").await;
        (bytes == 50.0).then_some(())
    })
    .await;
    hourglass.signal_stop();
    let stopping = async || {
        let told = Endpoint::V2.send(&hourglass, "s", line("S1")).await;
        (told.status == 503).then_some(told)
    };
    let told = eventually("it stops", stopping).await;
    let message = told.error(503, "unavailable");
    assert!(message.contains("stopping"), "{message}");
    let told = Endpoint::V1.send(&hourglass, "s", line("S1")).await;
    told.error(503, "");
    let (status, health) = hourglass.get("/health").await;
    assert_eq!((status, &health["status"]), (503, &"fail".into()));
    assert!(held.end().starts_with("HTTP/1.1 204 "));
    assert!(hourglass.wait().success());
}
