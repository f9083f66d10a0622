//! Passwords and tokens are repeated nowhere: in no answer, metric or line of the
//! log, whatever its level.

use std::process::Command;

use tempfile::TempDir;

use super::builders::{Endpoint, INFLUX, TEN, Told};
use crate::support::hourglass::Start;

const SECRET: &str = "s3cret-of-somebody";

#[tokio::test]
async fn secrets_stand_in_no_answer_metric_or_log() {
    let dir = TempDir::new().unwrap();
    let hourglass = Start::on(dir.path()).set("LOG__FILTER", "trace").start();
    let line = format!("plant,sensor=S1 temp=1 {TEN}");
    let mut texts = Vec::new();
    for (method, path) in [
        ("POST", format!("/write?u=me&p={SECRET}&precision=s")),
        ("POST", format!("/write?u={SECRET}&p={SECRET}&precision=x")),
        ("POST", format!("/write?p={SECRET}&%FF")),
        ("PUT", format!("/write?u=me&p={SECRET}")),
        ("POST", format!("/api/v2/write?u=me&p={SECRET}&precision=s")),
        ("POST", format!("/api/v2/query?p={SECRET}")),
        ("GET", format!("/query?u=me&p={SECRET}&q=SELECT")),
        ("GET", format!("/query?q=SET+PASSWORD+FOR+me+=+'{SECRET}'")),
        ("GET", format!("/ping?u=me&p={SECRET}")),
        ("GET", format!("/health?p={SECRET}")),
        ("GET", format!("/nothing?p={SECRET}")),
        ("POST", format!("/v1/readings?p={SECRET}")),
    ] {
        let request = hourglass
            .http()
            .request(method.parse().unwrap(), hourglass.url(&path));
        let response = request.body(line.clone()).send().await.unwrap();
        let told = Told::of(Endpoint::V1, response).await;
        texts.push(format!("{told:?}"));
    }
    for endpoint in INFLUX {
        for header in [
            format!("Token {SECRET}"),
            format!("Bearer {SECRET}"),
            format!("Basic {SECRET}"),
            format!("Token {SECRET} {SECRET}"),
            format!("Unknown {SECRET}"),
        ] {
            let request = endpoint.request(&hourglass, "s", line.clone());
            let request = request.header("authorization", header);
            let told = Told::of(endpoint, request.send().await.unwrap()).await;
            texts.push(format!("{told:?}"));
        }
    }
    // HTTP/2 is another part of the library, with log lines of its own.
    let curl = Command::new("curl")
        .args(["-s", "--http2-prior-knowledge", "-w", "%{http_version}"])
        .args(["-H", &format!("Authorization: Token {SECRET}")])
        .args(["-d", &line])
        .arg(hourglass.url(&format!("/write?u=me&p={SECRET}&precision=s")))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&curl.stdout), "2", "{curl:?}");
    texts.push(hourglass.get_text("/metrics").await.1);
    let (status, log) = hourglass.stop();
    assert!(status.success());
    assert!(log.iter().any(|line| line.contains("TRACE")), "{log:#?}");
    for text in texts.iter().chain(&log) {
        assert!(!text.contains(SECRET), "{text}");
    }
}
