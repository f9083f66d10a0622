//! Bodies of which nothing can be taken, and the one that holds nothing.

use super::answers::{expect_problem, expect_unharmed, json_post, started};
use serde_json::json;

const GOOD: &str = r#"{"sensorId":"S1","ts":"2026-05-01T10:00:00Z","temp":1}"#;

#[tokio::test]
async fn a_body_that_is_not_json_is_refused_whole_and_told_where() {
    let (_dir, hourglass) = started();
    let half = &format!("[{GOOD},{GOOD}")[..70];
    let tail = format!("{GOOD} x");
    let after = format!("[{GOOD},]");
    let bare = format!("[{GOOD}]]");
    let nan = r#"{"sensorId":"S1","temp":NaN}"#;
    let infinity = r#"[{"sensorId":"S1","temp":Infinity}]"#;
    let minus = r#"[{"sensorId":"S1","temp":-Infinity}]"#;
    let single_quotes = "{'sensorId':'S1','temp':1}";
    for (body, byte) in [
        ("temperature 24.1", 1),
        (half, 70),
        (&tail, 55),
        (&after, 56),
        (&bare, 56),
        (nan, 24),
        (infinity, 25),
        (minus, 26),
        (single_quotes, 1),
        ("[", 1),
        ("{", 1),
        ("\u{feff}{]", 4),
        ("01", 1),
    ] {
        let at = format!("not JSON at byte {byte}:");
        let parts = [at.as_str(), "nothing of it was taken"];
        expect_problem(
            json_post(&hourglass, body.to_owned()),
            400,
            "invalid_json",
            &parts,
        )
        .await;
    }
    // Nothing of them was taken, the good items before the fault included.
    let (_, answer) = hourglass.get("/v1/sensors/S1/latest").await;
    assert_eq!(answer["latest"], json!(null));
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn an_empty_body_and_one_of_the_wrong_shape_are_told_what_to_send() {
    let (_dir, hourglass) = started();
    let send = "send a JSON object, an array of objects or {\"readings\":[…]}";
    for body in ["", " \r\n\t ", "\u{feff}"] {
        let request = json_post(&hourglass, body);
        expect_problem(request, 400, "empty_body", &["the body is empty", send]).await;
    }
    let send = "send an object, an array of objects or {\"readings\":[…]}";
    for (body, found) in [
        ("24.1", "the body is a number at byte 0"),
        ("-1e999", "the body is a number at byte 0"),
        ("  true", "the body is a boolean at byte 2"),
        ("null", "the body is null at byte 0"),
        (r#""24.1""#, "the body is a string at byte 0"),
        (
            r#"{"readings":[],"site":"x"}"#,
            r#"an object with "site" beside "readings""#,
        ),
        (
            r#"{"readings":[],"readings":[]}"#,
            r#"an object with "readings" beside "readings""#,
        ),
    ] {
        let request = json_post(&hourglass, body);
        expect_problem(request, 400, "wrong_shape", &[found, send]).await;
    }
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn a_body_that_is_not_utf8_is_told_where() {
    let (_dir, hourglass) = started();
    let latin1 = b"{\"sensorId\":\"Stra\xdfe\",\"temp\":1}".to_vec();
    let parts = ["not UTF-8 at byte 17", "nothing of it was taken"];
    expect_problem(json_post(&hourglass, latin1), 400, "not_utf8", &parts).await;
    let zeros = vec![0; 100];
    let parts = ["not JSON at byte 0"];
    expect_problem(json_post(&hourglass, zeros), 400, "invalid_json", &parts).await;
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn a_list_of_nothing_is_taken_as_nothing() {
    let (_dir, hourglass) = started();
    for body in ["[]", " [ ] ", r#"{"readings":[]}"#] {
        let (status, answer) = hourglass.post_as("application/json", body).await;
        assert_eq!(status, 202, "{answer}");
        assert_eq!(answer["accepted"], 0);
        assert_eq!(answer["rejected"], 0);
        assert_eq!(answer["errors"], json!([]));
        assert_eq!(answer["rejectedByCode"], json!({}));
    }
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn brackets_without_end_cost_neither_stack_nor_process() {
    let (_dir, hourglass) = started();
    let deep = "[".repeat(1 << 20);
    let parts = ["not JSON at byte 1048576"];
    expect_problem(json_post(&hourglass, deep), 400, "invalid_json", &parts).await;
    let deep = "{\"a\":".repeat(1 << 20);
    expect_problem(json_post(&hourglass, deep), 400, "invalid_json", &[]).await;
    let closed = format!("{}{}", "[".repeat(1 << 20), "]".repeat(1 << 20));
    let (status, answer) = hourglass.post_as("application/json", closed).await;
    assert_eq!(status, 422, "{answer}");
    assert_eq!(answer["errors"][0]["code"], "not_an_object");
    let inside = format!(
        r#"{{"sensorId":"S1","temp":{}{}}}"#,
        "[".repeat(1 << 20),
        "]".repeat(1 << 20)
    );
    let (status, answer) = hourglass.post_as("application/json", inside).await;
    assert_eq!(status, 422, "{answer}");
    assert_eq!(answer["errors"][0]["code"], "nested_value");
    expect_unharmed(&hourglass).await;
}
