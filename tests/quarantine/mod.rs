//! Nothing vanishes, not even what was refused: items of every way in are kept
//! with their reason and text, within bounds, and can be mended and sent again.

use std::net::UdpSocket;

use serde_json::{Value, json};

use crate::support::eventually::eventually;
use crate::support::hourglass::{Hourglass, Start, alone};

async fn lines(server: &Hourglass, query: &str) -> Vec<Value> {
    let (status, text) = server.get_text(&format!("/v1/rejected{query}")).await;
    assert_eq!(status, 200, "{text}");
    let lines = text.lines();
    lines.map(|l| serde_json::from_str(l).unwrap()).collect()
}

/// Waits until so many are kept: they are written behind the answer.
async fn kept(server: &Hourglass, items: usize) -> Vec<Value> {
    let there = async || {
        let lines = lines(server, "").await;
        (lines.len() == items).then_some(lines)
    };
    eventually("the refused items are kept", there).await
}

async fn post(server: &Hourglass, path: &str, content_type: &str, body: &str) {
    let request = server.http().post(server.url(path));
    let request = request.header("content-type", content_type);
    request.body(body.to_owned()).send().await.unwrap();
}

#[tokio::test]
async fn every_way_in_keeps_what_it_refuses_with_reason_place_and_text() {
    let dir = tempfile::tempdir().unwrap();
    let server = Start::on(dir.path()).udp("127.0.0.1:0").start();
    let json = "[{\"sensorId\":\"S1\",\"temp\":1},\n {\"sensorId\":\"S1\",\n  \"temp\":\"high\"}]";
    post(&server, "/v1/readings", "application/json", json).await;
    kept(&server, 1).await;
    let ndjson = "{\"sensorId\":\"S1\",\"temp\":1}\n{\"sensorId\":";
    post(&server, "/v1/readings", "application/x-ndjson", ndjson).await;
    kept(&server, 2).await;
    let csv = "sensorId,ts,temp\nS1,2026-05-01T10:00:00Z,1\nS1,never,2\n";
    post(&server, "/v1/readings", "text/csv", csv).await;
    kept(&server, 3).await;
    post(
        &server,
        "/v1/readings",
        "text/plain",
        "cpu,sensor=S1 temp=\n",
    )
    .await;
    kept(&server, 4).await;
    post(
        &server,
        "/write",
        "text/plain",
        "cpu,sensor=S1 temp=1\ncpu temp\n",
    )
    .await;
    kept(&server, 5).await;
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket
        .send_to(b"cpu,sensor=S1 temp=oops", server.udp())
        .unwrap();
    let lines = kept(&server, 6).await;

    let of = |at: usize, field: &str| lines[at][field].clone();
    let expected = [
        (
            "readings",
            "json",
            "no_measures",
            "{\"sensorId\":\"S1\",   \"temp\":\"high\"}",
        ),
        ("readings", "json", "invalid_json", "{\"sensorId\":"),
        ("readings", "csv", "invalid_time", "S1,never,2"),
        (
            "readings",
            "line-protocol",
            "invalid_line",
            "cpu,sensor=S1 temp=",
        ),
        ("write", "line-protocol", "invalid_line", "cpu temp"),
    ];
    for (at, (source, format, reason, item)) in expected.into_iter().enumerate() {
        let told = (
            of(at, "source"),
            of(at, "format"),
            of(at, "reason"),
            of(at, "item"),
        );
        assert_eq!(
            told,
            (source.into(), format.into(), reason.into(), item.into())
        );
        assert!(
            of(at, "detail")
                .as_str()
                .is_some_and(|detail| !detail.is_empty())
        );
        assert!(of(at, "receivedAt").is_string());
    }
    assert_eq!((of(0, "index"), of(0, "field")), (json!(1), Value::Null));
    assert_eq!(
        (of(2, "line"), of(2, "header")),
        (json!(3), json!("sensorId,ts,temp"))
    );
    let sender = format!("udp {}", socket.local_addr().unwrap());
    assert_eq!(of(5, "source"), sender);
    assert_eq!(of(5, "item"), "cpu,sensor=S1 temp=oops");

    let (_, totals) = server.get("/v1/rejected/totals").await;
    assert_eq!(
        totals["kept"]["invalid_line"],
        totals["sinceStart"]["invalid_line"]
    );
    assert_eq!(totals["lost"], 0);
}

#[tokio::test]
async fn what_is_mended_is_taken() {
    let (_dir, server) = alone();
    let batch = json!([
        { "sensorId": "S1", "ts": "2026-05-01T10:00:00Z", "temp": "24,5" },
        { "sensorId": "S1", "ts": "2026-05-01T10:00:01Z", "temp": "24,6" },
        { "sensorId": "S1", "ts": 5, "temp": 1 },
    ]);
    assert_eq!(server.post(&batch).await.0, 422);
    kept(&server, 3).await;
    let path = "/v1/rejected?reason=no_measures&form=items&format=json";
    let (status, items) = server.get_text(path).await;
    assert_eq!((status, items.lines().count()), (200, 2), "{items}");
    let mended = items
        .replace("\"24,5\"", "24.5")
        .replace("\"24,6\"", "24.6");
    let (status, answer) = server.post_as("application/x-ndjson", mended).await;
    assert_eq!((status, &answer["accepted"]), (202, &json!(2)), "{answer}");
}

#[tokio::test]
async fn questions_are_checked_and_bounded() {
    let (_dir, server) = alone();
    for (query, names) in [
        ("reason=no_such", "not_finite"),
        ("format=xml", "line-protocol"),
        ("form=items", "format"),
        ("form=all", "records"),
        ("limit=0", "limit"),
        ("x=1", "unknown"),
    ] {
        let (status, problem) = server.get(&format!("/v1/rejected?{query}")).await;
        assert_eq!(
            (status, &problem["code"]),
            (400, &json!("invalid_parameter"))
        );
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(names), "{detail}");
    }
    let bad: Value = (0..7).map(|n| json!({ "temp": n })).collect();
    server.post(&bad).await;
    kept(&server, 7).await;
    assert_eq!(lines(&server, "?limit=3").await.len(), 3);
    assert_eq!(lines(&server, "?reason=too_old").await.len(), 0);
    assert_eq!(lines(&server, "?to=-1h").await.len(), 0);
    assert_eq!(lines(&server, "?from=-1h").await.len(), 7);
}

#[tokio::test]
async fn a_flood_keeps_the_bounds_and_a_restart_what_was_kept() {
    let dir = tempfile::tempdir().unwrap();
    let start = Start::on(dir.path()).set("QUARANTINE__ITEMS_MAX", "160");
    let server = start.start();
    let bad: Value = (0..500).map(|n| json!({ "temp": n })).collect();
    for _ in 0..20 {
        assert_eq!(server.post(&bad).await.0, 422);
    }
    assert!(server.stop().0.success());
    let server = start.start();
    let last = lines(&server, "").await;
    assert!((150..=160).contains(&last.len()), "{}", last.len());
    assert_eq!(last.last().unwrap()["index"], 499);
    let files = std::fs::read_dir(dir.path().join("quarantine")).unwrap();
    assert!(files.count() <= 17);
    let missing = json!({ "temp": 1 });
    server.post(&missing).await;
    let told = async || {
        let lines = lines(&server, "").await;
        (lines.last().unwrap()["index"] == 0).then_some(())
    };
    eventually("it goes on behind what was there", told).await;
}

#[tokio::test]
async fn with_0_nothing_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let server = Start::on(dir.path())
        .set("QUARANTINE__ITEMS_MAX", "0")
        .start();
    assert_eq!(server.post(&json!({ "temp": 1 })).await.0, 422);
    assert_eq!(lines(&server, "").await.len(), 0);
    assert!(!dir.path().join("quarantine").exists());
    let (_, totals) = server.get("/v1/rejected/totals").await;
    assert_eq!(totals["sinceStart"], json!({ "missing_sensor_id": 1 }));
}

#[tokio::test]
async fn refused_values_of_one_sensor_are_shown_on_its_page() {
    let (_dir, server) = alone();
    let at = "2026-05-01T10:00:00Z";
    for (sensor, temp) in [
        ("S1", 1.0),
        ("S2", 1.0),
        ("S1", 2.0),
        ("S2", 3.0),
        ("S1", 4.0),
    ] {
        server
            .post(&json!({ "sensorId": sensor, "ts": at, "temp": temp }))
            .await;
    }
    let (status, of_one) = server.get("/v1/sensors/S1/conflicts").await;
    assert_eq!(status, 200);
    let refused: Vec<&Value> = of_one["conflicts"].as_array().unwrap().iter().collect();
    let refused: Vec<f64> = refused
        .iter()
        .map(|c| c["refused"].as_f64().unwrap())
        .collect();
    assert_eq!(refused, [4.0, 2.0]);
    let (_, all) = server.get("/v1/conflicts").await;
    assert_eq!(all["conflicts"].as_array().unwrap().len(), 3);
    let (_, none) = server.get("/v1/sensors/S9/conflicts").await;
    assert_eq!(none["conflicts"], json!([]));
}
