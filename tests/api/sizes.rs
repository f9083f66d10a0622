//! Bodies that are too large, sent by clients that read the answer only when
//! all is sent.

use serde_json::Value;

use super::answers::{expect_problem, expect_unharmed, json_post, started};

const TOO_LARGE: usize = 50 << 20;

#[tokio::test]
async fn a_body_of_50_mb_is_refused_and_its_sender_told() {
    let (_dir, hourglass) = started();
    let parts = ["larger than 33554432 bytes", "send it in smaller ones"];
    for _ in 0..5 {
        let request = json_post(&hourglass, vec![b' '; TOO_LARGE]);
        expect_problem(request, 413, "body_too_large", &parts).await;
    }
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn a_body_of_unknown_length_is_refused_where_it_passes_the_bound() {
    let (_dir, hourglass) = started();
    let pieces = (0..50).map(|_| Ok::<_, std::io::Error>(vec![b' '; 1 << 20]));
    let body = reqwest::Body::wrap_stream(futures_util::stream::iter(pieces));
    let parts = ["larger than 33554432 bytes"];
    expect_problem(json_post(&hourglass, body), 413, "body_too_large", &parts).await;
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn a_body_just_within_the_bound_is_taken() {
    let (_dir, hourglass) = started();
    let item = r#"{"sensorId":"S1","ts":1777629600,"temp":1}"#;
    let mut body = vec![b' '; 32 << 20];
    body[..item.len()].copy_from_slice(item.as_bytes());
    let response = json_post(&hourglass, body).send().await.unwrap();
    assert_eq!(response.status(), 202);
    let answer: Value = response.json().await.unwrap();
    assert_eq!(answer["accepted"], 1);
    expect_unharmed(&hourglass).await;
}
