//! Sensor ids: the bad ones, and those that only look bad.

use serde_json::json;

use super::answers::{expect_problem, expect_refused, expect_unharmed, percent_encoded, started};

#[tokio::test]
async fn a_bad_id_is_refused_with_the_rule_it_breaks() {
    let (_dir, hourglass) = started();
    let long = json!("x".repeat(129)).to_string();
    let long_emoji = json!("🌡".repeat(33)).to_string();
    for (id, part) in [
        (r#""""#, "a sensor id must not be blank"),
        (r#""   ""#, "a sensor id must not be blank"),
        ("\"\u{a0}\u{3000}\"", "a sensor id must not be blank"),
        (r#"".""#, "cannot be named in a URL; choose another"),
        (r#""..""#, "cannot be named in a URL; choose another"),
        (&long, "at most 128 bytes, this one has 129"),
        (&long_emoji, "at most 128 bytes, this one has 132"),
        (r#""a\nb""#, "must not contain control characters"),
        (r#""a\u0000b""#, "must not contain control characters"),
        ("\"a\u{7f}b\"", "must not contain control characters"),
        (r#""a\u0085b""#, "must not contain control characters"),
        ("7", "sensorId must be a string; put it in quotes"),
        ("null", "sensorId must be a string; put it in quotes"),
        ("true", "sensorId must be a string; put it in quotes"),
        (r#"["S1"]"#, "sensorId must be a string; put it in quotes"),
        (r#"{"id":"S1"}"#, "sensorId must be a string"),
        (
            r#""S\ud800""#,
            "half of a surrogate pair (\\ud800 to \\udfff), which is no character",
        ),
    ] {
        let item = format!(r#"{{"sensorId":{id},"temp":1}}"#);
        let code = "invalid_sensor_id";
        expect_refused(&hourglass, &item, code, Some("sensorId"), &[part]).await;
    }
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn a_raw_control_character_in_an_id_is_not_json() {
    let (_dir, hourglass) = started();
    let body = "{\"sensorId\":\"a\u{1}b\",\"temp\":1}";
    let request = super::answers::json_post(&hourglass, body);
    let parts = ["not JSON at byte 13"];
    expect_problem(request, 400, "invalid_json", &parts).await;
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn any_printable_id_is_written_and_read_back_by_percent_encoded_urls() {
    let (_dir, hourglass) = started();
    let longest = "é".repeat(64);
    let ids = [
        "a|b",
        "a/b",
        "/",
        "//",
        "a#b",
        "#",
        "50%",
        "%",
        "%2F",
        "%41",
        "a b",
        " a ",
        "a+b",
        "a?b=c&d",
        "a;b",
        "🌡",
        "👩‍🔬 lab",
        "...",
        "$x",
        "\\",
        "\"",
        "'",
        "<b>",
        "a|2026-05-01T10",
        "a|b#1",
        "A",
        "a",
        "e\u{301}",
        "é",
        "\u{202e}abc",
        "latest",
        "__proto__",
        "a,b=c",
        &longest,
    ];
    let batch: Vec<_> = ids
        .iter()
        .enumerate()
        .map(|(n, id)| json!({"sensorId": id, "ts": "2026-05-01T10:00:00Z", "temp": n}))
        .collect();
    let (status, answer) = hourglass.post(&json!(batch)).await;
    assert_eq!(status, 202, "{answer}");
    assert_eq!(answer["accepted"], ids.len());

    for (n, id) in ids.iter().enumerate() {
        let value = json!(n as f64);
        let encoded = percent_encoded(id);
        let path = |rest: &str| format!("/v1/sensors/{encoded}/{rest}");
        let (status, answer) = hourglass.get(&path("readings")).await;
        assert_eq!(status, 200, "{id}: {answer}");
        assert_eq!(answer["sensorId"], *id);
        assert_eq!(answer["readings"].as_array().unwrap().len(), 1, "{id}");
        assert_eq!(answer["readings"][0]["measures"]["temp"], value, "{id}");
        let (_, answer) = hourglass.get(&path("hourly")).await;
        assert_eq!(answer["sensorId"], *id);
        assert_eq!(answer["hours"].as_array().unwrap().len(), 1, "{id}");
        assert_eq!(answer["hours"][0]["measures"]["temp"]["sum"], value, "{id}");
        let (_, answer) = hourglass.get(&path("latest")).await;
        assert_eq!(answer["sensorId"], *id);
        assert_eq!(answer["latest"]["measures"]["temp"], value, "{id}");
        let (_, answer) = hourglass.get(&format!("/v1/latest?sensor={encoded}")).await;
        assert_eq!(answer["sensors"][0]["sensorId"], *id);
        assert_eq!(answer["sensors"][0]["latest"]["measures"]["temp"], value);
        let hourly = format!(
            "/v1/hourly?sensor={encoded}&from=2026-05-01T10:00:00Z&to=2026-05-01T11:00:00Z"
        );
        let (_, answer) = hourglass.get(&hourly).await;
        assert_eq!(answer["sensors"][0]["sensorId"], *id, "{answer}");
        assert_eq!(
            answer["sensors"][0]["hours"][0]["measures"]["temp"]["sum"],
            value
        );
    }
    expect_unharmed(&hourglass).await;
}
