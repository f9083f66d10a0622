//! C23: a small compressed body never becomes a large one.

use async_compression::tokio::write::GzipEncoder;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;

use super::builders::readings;
use crate::support::hourglass::{Hourglass, Start};

async fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzipEncoder::new(Vec::new());
    encoder.write_all(plain).await.unwrap();
    encoder.shutdown().await.unwrap();
    encoder.into_inner()
}

async fn post_gzip(hourglass: &Hourglass, body: Vec<u8>) -> (u16, serde_json::Value) {
    let request = hourglass
        .http()
        .post(hourglass.url("/v1/readings"))
        .header("content-type", "application/json")
        .header("content-encoding", "gzip");
    let response = request.body(body).send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

#[tokio::test]
async fn c23_a_gzip_bomb_is_cut_by_its_ratio_and_by_its_size() {
    let dir = TempDir::new().unwrap();
    let hourglass = Start::on(dir.path())
        .set("SERVER__BODY_BYTES_MAX", "4MiB")
        .start();
    let reading = r#"{"sensorId":"S1","ts":"2026-05-01T10:00:00Z","temp":1}"#;

    let zeros = gzip(&vec![b' '; 3 << 20]).await;
    assert!(zeros.len() < 4 << 10);
    let (status, problem) = post_gzip(&hourglass, zeros).await;
    assert_eq!(status, 413, "{problem}");
    assert_eq!(problem["code"], "body_ratio_too_high");

    let items = (0..200_000).map(|n| format!(r#"{{"sensorId":"S1","ts":{},"n":1}}"#, n * 7919));
    let items = format!("[{}]", items.collect::<Vec<_>>().join(","));
    assert!(items.len() > 4 << 20);
    let (status, problem) = post_gzip(&hourglass, gzip(items.as_bytes()).await).await;
    assert_eq!(status, 413, "{problem}");
    assert_eq!(problem["code"], "body_too_large");

    assert_eq!(hourglass.metric("hourglass_http_body_bytes").await, 0.0);
    assert_eq!(
        hourglass.metric("hourglass_items_received_total").await,
        0.0
    );
    let (status, answer) = post_gzip(&hourglass, gzip(reading.as_bytes()).await).await;
    assert_eq!(status, 202, "{answer}");
    assert_eq!(readings(&hourglass, "S1").await.len(), 1);
}
