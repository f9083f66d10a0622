//! CSV: columns by name or by parameter, each bad row refused by itself.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::answers::{expect_problem, expect_unharmed, started};
use crate::support::hourglass::{Hourglass, Start};

async fn post(hourglass: &Hourglass, query: &str, body: impl Into<reqwest::Body>) -> (u16, Value) {
    let url = hourglass.url(&format!("/v1/readings?format=csv{query}"));
    let response = hourglass.http().post(url).body(body).send().await.unwrap();
    let status = response.status().as_u16();
    (status, response.json().await.unwrap())
}

fn told(answer: &Value) -> Vec<(u64, u64, Option<&str>, &str)> {
    let errors = answer["errors"].as_array().unwrap().iter();
    let error = |error: &'_ Value| {
        (
            error["index"].as_u64().unwrap(),
            error["line"].as_u64().unwrap(),
        )
    };
    errors
        .map(|e| {
            let (index, line) = error(e);
            (
                index,
                line,
                e["field"].as_str(),
                e["code"].as_str().unwrap(),
            )
        })
        .collect()
}

async fn readings(hourglass: &Hourglass, sensor: &str) -> Value {
    let (_, answer) = hourglass
        .get(&format!("/v1/sensors/{sensor}/readings"))
        .await;
    answer["readings"].clone()
}

#[tokio::test]
async fn a_table_is_taken_by_the_names_of_its_columns() {
    let (_dir, hourglass) = started();
    let body = "sensor,ts,temp,note,open\r\nS1,2026-05-01T10:00:00Z,24.5,ok,true\r\n\
                S1,2026-05-01T10:00:01Z,,,false\r\n";
    for content_type in ["text/csv", "Text/CSV; charset=utf-8"] {
        let (status, answer) = hourglass.post_as(content_type, body).await;
        assert_eq!((status, &answer["accepted"]), (202, &json!(2)), "{answer}");
    }
    assert_eq!(
        readings(&hourglass, "S1").await,
        json!([
            {"ts": "2026-05-01T10:00:00Z", "measures": {"temp": 24.5, "open": 1.0}},
            {"ts": "2026-05-01T10:00:01Z", "measures": {"open": 0.0}},
        ])
    );
    let skipped = hourglass
        .metric("hourglass_text_fields_skipped_total")
        .await;
    assert_eq!(skipped, 2.0);
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn parameters_say_which_column_is_what() {
    let (_dir, hourglass) = started();
    let body = "when;value;raw\n2026-05-01 12:00:00;24,5;7\n2026-05-01 12:00:01;1.5;8\n";
    let query = "&sensorId=M%201&ts=when&temp=value&delimiter=%3B&tz=Europe/Berlin";
    let (status, answer) = post(&hourglass, query, body).await;
    assert_eq!(status, 202, "{answer}");
    assert_eq!(told(&answer), [(0, 2, None, "no_measures")]);
    assert_eq!(
        readings(&hourglass, "M%201").await,
        json!([{"ts": "2026-05-01T10:00:01Z", "measures": {"temp": 1.5}}])
    );
    let tabs = "t\tv\n1777629600001\t1\n";
    let query = "&sensorId=M2&ts=t&delimiter=tab&unit=ms";
    assert_eq!(post(&hourglass, query, tabs).await.0, 202);
    assert_eq!(
        readings(&hourglass, "M2").await[0]["ts"],
        "2026-05-01T10:00:00.001Z"
    );
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn a_header_that_does_not_do_is_refused_whole_with_its_columns() {
    let (_dir, hourglass) = started();
    for (query, body, parts) in [
        (
            "",
            "ts,temp\n1,2\n",
            &["sensorId=COLUMN", "`ts`, `temp`"][..],
        ),
        (
            "&sensorId=S1&ts=when",
            "ts,temp\n1,2\n",
            &["`when`", "`ts`, `temp`"],
        ),
        (
            "&sensorId=S1&t=tmp",
            "ts,temp\n1,2\n",
            &["`tmp`", "`ts`, `temp`"],
        ),
        ("&sensorId=S1", "ts,ts\n1,2\n", &["`ts` twice"]),
        ("&sensorId=S1", "", &["the body is empty"]),
        ("&sensorId=S1", "2026-05-01 10:00:00,1\n", &["add a header"]),
    ] {
        let url = hourglass.url(&format!("/v1/readings?format=csv{query}"));
        let request = hourglass.http().post(url).body(body);
        let parts = [parts, &["nothing of the body was taken"]].concat();
        expect_problem(request, 400, "invalid_csv_header", &parts).await;
    }
    let long = "x".repeat(65);
    for (query, part) in [
        ("&tz=Berlin", "`tz` is the IANA name"),
        ("&delimiter=x", "`delimiter` is a comma"),
        ("&unit=years", "`unit` is"),
        ("&ts=a&ts=b", "`ts` may be given once"),
        ("&temp=a&temp=b", "`temp` may be given once"),
        (&format!("&{long}=a"), "at most 64 bytes"),
        (
            &(0..257).map(|n| format!("&m{n}=c{n}")).collect::<String>(),
            "256 measures",
        ),
    ] {
        let url = hourglass.url(&format!("/v1/readings?format=csv&sensorId=S1{query}"));
        let request = hourglass.http().post(url).body("a,b\n1,2\n");
        expect_problem(request, 400, "invalid_parameter", &[part]).await;
    }
    // Names of columns are parameters of CSV alone.
    let url = hourglass.url("/v1/readings?format=ndjson&temp=value");
    let request = hourglass.http().post(url).body("{}");
    expect_problem(request, 400, "invalid_parameter", &["`temp` is unknown"]).await;
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn bad_rows_are_told_by_their_line_and_column_and_the_others_stored() {
    let (_dir, hourglass) = started();
    let body = "sensor,when,value,note\n\
                A,2026-05-01T10:00:00Z,1,\"two\nlines\"\n\
                A,2026-05-01T10:00:01Z,NaN,\n\
                A,yesterday,2,\n\
                \n\
                A,2026-05-01T10:00:02Z,3\n\
                ,2026-05-01T10:00:03Z,4,\n\
                A,2026-05-01T10:00:04Z,9007199254740993,\n\
                \"A,2026-05-01T10:00:05Z,5,\n\
                A,2026-05-01T10:00:06Z,6,\n";
    let (status, answer) = post(&hourglass, "&ts=when&temp=value", body).await;
    assert_eq!(status, 202, "{answer}");
    assert_eq!(answer["accepted"], 2, "{answer}");
    assert_eq!(
        told(&answer),
        [
            (1, 4, Some("value"), "not_finite"),
            (2, 5, Some("when"), "invalid_time"),
            (3, 7, None, "invalid_row"),
            (4, 8, Some("sensor"), "missing_sensor_id"),
            (5, 9, Some("value"), "integer_too_large"),
            (6, 10, None, "invalid_row"),
        ]
    );
    let temps: Vec<Value> = readings(&hourglass, "A")
        .await
        .as_array()
        .unwrap()
        .iter()
        .map(|reading| reading["measures"]["temp"].clone())
        .collect();
    assert_eq!(temps, [1.0, 6.0]);
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn c16_a_row_without_a_time_has_the_time_of_receipt() {
    let (_dir, hourglass) = started();
    let body = "sensor,ts,temp\nA,2026-05-01T10:00:00Z,1\nA,,2\n";
    let (_, answer) = hourglass.post_as("text/csv", body).await;
    assert_eq!(answer["accepted"], 2, "{answer}");
    let (_, latest) = hourglass.get("/v1/sensors/A/latest").await;
    assert_eq!(latest["latest"]["measures"]["temp"], 2.0);
    let ts: jiff::Timestamp = latest["latest"]["ts"].as_str().unwrap().parse().unwrap();
    let now: jiff::Timestamp = answer["serverTime"].as_str().unwrap().parse().unwrap();
    assert!(
        ts <= now && now.duration_since(ts).as_secs() < 60,
        "{ts} {now}"
    );
    let aged = "sensor,ageMs,temp\nB,60000,1\n";
    assert_eq!(hourglass.post_as("text/csv", aged).await.0, 202);
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn c26_text_is_never_a_number() {
    let (_dir, hourglass) = started();
    let body = "sensor,ts,a,b\nS,2026-05-01T10:00:00Z,0x10,\"1,5\"\nS,2026-05-01T10:00:01Z,5i,5\n";
    let (status, answer) = hourglass.post_as("text/csv", body).await;
    assert_eq!(status, 202, "{answer}");
    assert_eq!(told(&answer), [(0, 2, None, "no_measures")]);
    let stored = readings(&hourglass, "S").await;
    assert_eq!(
        stored,
        json!([{"ts": "2026-05-01T10:00:01Z", "measures": {"b": 5.0}}])
    );
    expect_unharmed(&hourglass).await;
}

/// Sends `body` as two chunks of HTTP, each in a segment of its own.
async fn in_two_chunks(hourglass: &Hourglass, path: &str, body: &[u8], cut: usize) -> Value {
    let mut stream = TcpStream::connect(hourglass.address()).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let (first, second) = body.split_at(cut);
    for part in [first, second] {
        if !part.is_empty() {
            let chunk = [format!("{:x}\r\n", part.len()).as_bytes(), part, b"\r\n"].concat();
            stream.write_all(&chunk).await.unwrap();
            stream.flush().await.unwrap();
        }
    }
    stream.write_all(b"0\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    // The answer may come in a chunk of its own.
    let json = &body[body.find('{').unwrap()..=body.rfind('}').unwrap()];
    serde_json::from_str(json).unwrap()
}

#[tokio::test]
async fn c20_a_body_cut_in_two_at_every_byte_is_the_same_body() {
    let dir = tempfile::tempdir().unwrap();
    let hourglass = Start::on(dir.path()).start();
    let body = "\u{feff}sensor,ts,\"temp, °C\",note\r\nS1,2026-05-01 10:00:00,1.5,\"a \"\"b\"\"\r\nc\"\r\n\
                Straße,1777629601,2,\nS1,,x,\"\nS1,1777629602,3,";
    let path = "/v1/readings?format=csv&dry_run=true";
    let mut whole = in_two_chunks(&hourglass, path, body.as_bytes(), 0).await;
    assert_eq!(whole["accepted"], 3, "{whole}");
    assert_eq!(whole["rejected"], 1, "{whole}");
    whole["serverTime"] = Value::Null;
    for cut in 1..body.len() {
        let mut answer = in_two_chunks(&hourglass, path, body.as_bytes(), cut).await;
        answer["serverTime"] = Value::Null;
        assert_eq!(answer, whole, "cut at {cut}");
    }
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn a_body_of_stray_quotes_stalls_nobody() {
    let (_dir, hourglass) = started();
    let body = format!("sensor,x,y\n{}", "x\",\"\"\"\n".repeat(1 << 19));
    let (status, answer) = hourglass.post_as("text/csv", body).await;
    assert_eq!(status, 422, "{answer}");
    assert_eq!(answer["rejectedByCode"]["invalid_row"], 1 << 19);
    expect_unharmed(&hourglass).await;
}
