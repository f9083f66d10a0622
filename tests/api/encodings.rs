//! Content types and content encodings, taken and refused.

use async_compression::tokio::bufread::{GzipEncoder, ZstdEncoder};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt};

use super::answers::{expect_problem, expect_unharmed, json_post, started};

fn batch() -> String {
    let items: Vec<Value> = (0..1_000)
        .map(|n| json!({"sensorId": "S1", "ts": 1_777_629_600 + n, "temp": n}))
        .collect();
    json!(items).to_string()
}

async fn read(mut reader: impl AsyncRead + Unpin) -> Vec<u8> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).await.unwrap();
    bytes
}

async fn gzip(text: &str) -> Vec<u8> {
    read(GzipEncoder::new(text.as_bytes())).await
}

#[tokio::test]
async fn gzip_and_zstd_bodies_are_taken() {
    let (_dir, hourglass) = started();
    let text = batch();
    let zstd = read(ZstdEncoder::new(text.as_bytes())).await;
    for (encoding, body) in [
        ("gzip", gzip(&text).await),
        ("GZIP", gzip(&text).await),
        ("x-gzip", gzip(&text).await),
        ("zstd", zstd),
        ("identity", text.clone().into_bytes()),
        ("", text.clone().into_bytes()),
    ] {
        let request = json_post(&hourglass, body).header("content-encoding", encoding);
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 202, "{encoding}");
        let answer: Value = response.json().await.unwrap();
        assert_eq!(answer["accepted"], 1_000, "{encoding}");
    }
    let (_, answer) = hourglass.get("/v1/sensors/S1/hourly").await;
    assert_eq!(answer["hours"][0]["count"], 1_000);
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn an_unknown_content_encoding_is_told_which_are_known() {
    let (_dir, hourglass) = started();
    for encoding in [
        "br",
        "deflate",
        "gzip, gzip",
        "zstd, gzip",
        "gzip;q=1",
        "snappy",
    ] {
        let request = json_post(&hourglass, batch()).header("content-encoding", encoding);
        let named = format!("the content encoding \"{encoding}\" is not supported");
        let parts = [&named, "send gzip, zstd or identity"];
        expect_problem(request, 415, "unsupported_encoding", &parts).await;
    }
    // The same list over two header lines.
    let request = json_post(&hourglass, batch());
    let request = request.header("content-encoding", "identity");
    let request = request.header("content-encoding", "br");
    let parts = ["the content encoding \"identity, br\" is not supported"];
    expect_problem(request, 415, "unsupported_encoding", &parts).await;
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn a_body_that_is_not_what_its_encoding_says_is_told_so() {
    let (_dir, hourglass) = started();
    let whole = gzip(&batch()).await;
    let mut flipped = whole.clone();
    let end = flipped.len();
    flipped[end - 6] ^= 1;
    let trailing = [whole.as_slice(), b"garbage".as_slice()].concat();
    let zstd = read(ZstdEncoder::new(batch().as_bytes())).await;
    for (encoding, body) in [
        ("gzip", batch().into_bytes()),
        ("gzip", whole[..end / 2].to_vec()),
        ("gzip", whole[..end - 1].to_vec()),
        ("gzip", flipped),
        ("gzip", trailing),
        ("gzip", zstd.clone()),
        ("zstd", whole.clone()),
        ("zstd", zstd[..zstd.len() / 2].to_vec()),
        ("zstd", batch().into_bytes()),
    ] {
        let request = json_post(&hourglass, body).header("content-encoding", encoding);
        let parts = ["the body cannot be decompressed"];
        expect_problem(request, 400, "damaged_body", &parts).await;
    }
    // Compressed and not said.
    expect_problem(json_post(&hourglass, whole), 400, "not_utf8", &[]).await;
    let (_, answer) = hourglass.get("/v1/sensors/S1/latest").await;
    assert_eq!(answer["latest"], json!(null));
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn a_content_type_that_is_not_taken_is_told_which_are() {
    let (_dir, hourglass) = started();
    for content_type in [
        "application/x-www-form-urlencoded",
        "application/xml",
        "multipart/form-data; boundary=x",
        "json",
        "",
    ] {
        let request = hourglass.http().post(hourglass.url("/v1/readings"));
        let request = request.header("content-type", content_type).body(batch());
        let named = format!("the content type `{content_type}` is not taken here");
        let parts = [
            &named,
            "send application/json, application/x-ndjson, text/csv or text/plain",
        ];
        expect_problem(request, 415, "unsupported_media_type", &parts).await;
    }
    let untyped = hourglass.http().post(hourglass.url("/v1/readings"));
    let parts = [
        "send application/json, application/x-ndjson, text/csv or text/plain",
        "?format=json",
    ];
    expect_problem(untyped.body(batch()), 415, "unsupported_media_type", &parts).await;
    for content_type in ["application/json; charset=utf-8", "APPLICATION/JSON ;x"] {
        let (status, answer) = hourglass.post_as(content_type, batch()).await;
        assert_eq!(status, 202, "{answer}");
    }
    let url = hourglass.url("/v1/readings?format=json");
    let request = hourglass
        .http()
        .post(url)
        .header("content-type", "text/html");
    assert_eq!(request.body(batch()).send().await.unwrap().status(), 202);
    expect_unharmed(&hourglass).await;
}
