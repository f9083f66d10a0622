//! NDJSON: each bad line is refused by itself, with its number.

use serde_json::{Value, json};

use super::answers::{expect_unharmed, started};

const NDJSON: &str = "application/x-ndjson";

fn line(second: u32) -> String {
    format!(r#"{{"sensorId":"S1","ts":"2026-05-01T10:00:{second:02}Z","temp":{second}}}"#)
}

fn told(answer: &Value) -> Vec<(u64, u64, &str)> {
    let errors = answer["errors"].as_array().unwrap().iter();
    errors
        .map(|error| {
            (
                error["index"].as_u64().unwrap(),
                error["line"].as_u64().unwrap(),
                error["code"].as_str().unwrap(),
            )
        })
        .collect()
}

#[tokio::test]
async fn bad_lines_are_told_by_number_and_the_others_stored() {
    let (_dir, hourglass) = started();
    let body = [
        line(1),
        String::new(),
        line(2)[..20].to_owned(),
        line(3),
        r#"{"sensorId":"S1","temp":NaN}"#.to_owned(),
        "  \t ".to_owned(),
        r#"{"sensorId":"S1","temp":1e999}"#.to_owned(),
        line(4) + " " + &line(5),
        "[]".to_owned(),
        line(6),
    ];
    let (status, answer) = hourglass.post_as(NDJSON, body.join("\n")).await;
    assert_eq!(status, 202, "{answer}");
    assert_eq!(answer["accepted"], 3);
    assert_eq!(
        told(&answer),
        [
            (1, 3, "invalid_json"),
            (3, 5, "invalid_json"),
            (4, 7, "not_finite"),
            (5, 8, "invalid_json"),
            (6, 9, "not_an_object"),
        ]
    );
    let detail = answer["errors"][0]["detail"].as_str().unwrap();
    assert!(detail.contains("not JSON at its byte 20"), "{detail}");
    let (_, answer) = hourglass.get("/v1/sensors/S1/readings").await;
    let seconds: Vec<_> = answer["readings"].as_array().unwrap().iter().collect();
    let temps: Vec<_> = seconds.iter().map(|r| &r["measures"]["temp"]).collect();
    assert_eq!(json!(temps), json!([1.0, 3.0, 6.0]));
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn line_ends_and_blank_lines_of_every_kind_pass() {
    let (_dir, hourglass) = started();
    for (n, body) in [
        format!("{}\n{}\n", line(1), line(2)),
        format!("{}\n{}", line(3), line(4)),
        format!("{}\r\n{}\r\n", line(5), line(6)),
        format!("\n\n{}\n\r\n  \n{}\n\n\n", line(7), line(8)),
        format!("\u{feff}{}\n  {}  ", line(9), line(10)),
    ]
    .into_iter()
    .enumerate()
    {
        let (status, answer) = hourglass.post_as(NDJSON, body).await;
        assert_eq!(status, 202, "{n}: {answer}");
        assert_eq!(answer["accepted"], 2, "{n}: {answer}");
        assert_eq!(answer["rejected"], 0, "{n}: {answer}");
    }
    for body in ["", "\n", "\r\n\r\n"] {
        let (status, answer) = hourglass.post_as(NDJSON, body).await;
        assert_eq!(status, 202, "{answer}");
        assert_eq!(answer["accepted"], 0);
    }
    let (_, answer) = hourglass.get("/v1/sensors/S1/hourly").await;
    assert_eq!(answer["hours"][0]["count"], 10);
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn a_line_that_is_not_utf8_costs_only_itself() {
    let (_dir, hourglass) = started();
    let mut body = line(1).into_bytes();
    body.extend(b"\n{\"sensorId\":\"Stra\xdfe\",\"temp\":1}\n\0\0\n");
    body.extend(line(2).into_bytes());
    let (status, answer) = hourglass.post_as(NDJSON, body).await;
    assert_eq!(status, 202, "{answer}");
    assert_eq!(answer["accepted"], 2);
    assert_eq!(
        told(&answer),
        [(1, 2, "invalid_json"), (2, 3, "invalid_json")]
    );
    let detail = answer["errors"][0]["detail"].as_str().unwrap();
    assert!(detail.contains("at its byte 17: not UTF-8"), "{detail}");
    expect_unharmed(&hourglass).await;
}
