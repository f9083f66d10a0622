//! What comes in which way, and the loop of mending.

use std::net::UdpSocket;

use serde_json::{Value, json};

use super::{each, records};
use crate::support::eventually::eventually;
use crate::support::hourglass::{Start, alone};

const TIME: &str = "2026-05-01T10:00:00Z";

#[tokio::test]
async fn items_of_json_are_kept_as_they_came() {
    let (_dir, hourglass) = alone();
    let before = jiff::Timestamp::now();
    let body = "[{\"sensorId\":\"S1\",\"temp\":1},\n {\"sensorId\":\"S1\",\n  \"temp\":1.10,\"x\":[1]}, 7]";
    assert_eq!(hourglass.post_as("application/json", body).await.0, 202);
    let (_, text) = hourglass.get_text("/v1/rejected").await;
    let kept = records(&hourglass, "/v1/rejected").await;
    assert_eq!(kept.len(), 2, "{text}");
    let received: jiff::Timestamp = kept[0]["receivedAt"].as_str().unwrap().parse().unwrap();
    assert!(before.as_microsecond() <= received.as_microsecond());
    assert!(kept[0]["detail"].is_string());
    assert_eq!(each(&kept, "id"), [1, 2]);
    assert_eq!(each(&kept, "reason"), ["nested_value", "not_an_object"]);
    assert_eq!(each(&kept, "field"), [json!("x"), Value::Null]);
    assert_eq!(each(&kept, "index"), [1, 2]);
    assert_eq!(each(&kept, "source"), ["/v1/readings", "/v1/readings"]);
    assert_eq!(each(&kept, "format"), ["json", "json"]);
    assert_eq!(each(&kept, "isExact"), [true, true]);
    assert_eq!(each(&kept, "peer"), ["127.0.0.1"; 2]);
    assert_eq!(kept[1]["item"], "7", "what is no object is a text");
    assert!(
        text.contains(r#""item":{"sensorId":"S1",   "temp":1.10,"x":[1]}"#),
        "digit by digit, on one line: {text}"
    );
    // A dry run takes nothing, so it refuses nothing.
    let dry = hourglass
        .http()
        .post(hourglass.url("/v1/readings?dry_run=true&format=json"));
    assert_eq!(dry.body("[7]").send().await.unwrap().status(), 200);
    assert_eq!(records(&hourglass, "/v1/rejected").await.len(), 2);
}

#[tokio::test]
async fn every_way_in_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let hourglass = Start::on(dir.path())
        .set("UDP__LISTEN", "127.0.0.1:0")
        .start();
    let post = async |path: &str, body: &str| {
        let request = hourglass.http().post(hourglass.url(path));
        request
            .body(body.to_owned())
            .send()
            .await
            .unwrap()
            .status()
            .as_u16()
    };
    assert_eq!(
        post("/v1/readings?format=ndjson", "{\"a\":1}\nnonsense\n").await,
        422
    );
    let csv = "sensor,temp\nS1,1\nS1,1,2\n";
    assert_eq!(post("/v1/readings?format=csv", csv).await, 202);
    assert_eq!(
        post(
            "/v1/readings?format=line&unit=s",
            "m,sensor=S1 t=NaN 1746093600"
        )
        .await,
        422
    );
    assert_eq!(post("/write?precision=s", "m t=1 1\r\n").await, 400);
    assert_eq!(post("/api/v2/write", "one two three four").await, 400);
    // An array that must be read item by item: one that no text can hold.
    assert_eq!(
        post("/v1/readings?format=json", "[{\"\\ud800\":1},1]").await,
        422
    );
    let wrapped = "{\"readings\":[{\"sensorId\":\"S1\",\"t\":1},8]}";
    assert_eq!(post("/v1/readings?format=json", wrapped).await, 202);
    let kept = records(&hourglass, "/v1/rejected").await;
    let shown = |record: &Value| {
        ["source", "format", "item"]
            .map(|member| record[member].as_str().unwrap_or("{}").to_owned())
    };
    let ways: Vec<_> = kept.iter().map(shown).collect();
    let expected = [
        ["/v1/readings", "json", "{}"],
        ["/v1/readings", "json", "nonsense"],
        ["/v1/readings", "csv", "S1,1,2"],
        ["/v1/readings", "line", "m,sensor=S1 t=NaN 1746093600"],
        ["/write", "line", "m t=1 1"],
        ["/api/v2/write", "line", "one two three four"],
        ["/v1/readings", "json", "{\"\\ud800\":1}"],
        ["/v1/readings", "json", "1"],
        ["/v1/readings", "json", "8"],
    ];
    for (way, expected) in ways.iter().zip(expected) {
        let is_object = way[2] == "{}" && expected[2].starts_with('{');
        assert!(is_object || *way == expected, "{ways:?}");
    }
    assert_eq!(ways.len(), expected.len(), "{ways:?}");
    assert_eq!(each(&kept[1..4], "line"), [2, 3, 1]);
    assert_eq!(kept[2]["header"], "sensor,temp");
    assert_eq!(kept[3]["unit"], "s");

    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for datagram in [
        "m,sensor=S1 t=1\nm,sensor=S1 t=\"x\"",
        "[{\"sensorId\":\"S1\"}]",
        "{\"sensorId\":",
    ] {
        socket
            .send_to(datagram.as_bytes(), hourglass.udp())
            .unwrap();
    }
    let path = "/v1/rejected?cursor=9";
    let kept = eventually("three are kept", async || {
        let kept = records(&hourglass, path).await;
        (kept.len() == 3).then_some(kept)
    })
    .await;
    assert_eq!(each(&kept, "peer"), ["127.0.0.1"; 3]);
    assert_eq!(each(&kept, "source"), ["udp"; 3]);
    assert_eq!(each(&kept, "index"), [1, 0, 0], "in their own datagrams");
    assert_eq!(each(&kept, "format"), ["line", "json", "json"]);
    assert_eq!(each(&kept, "item")[0], "m,sensor=S1 t=\"x\"");
    assert_eq!(each(&kept, "item")[2], "{\"sensorId\":");
}

#[tokio::test]
async fn what_is_answered_again_is_kept_once() {
    let (_dir, hourglass) = alone();
    for _ in 0..2 {
        let request = hourglass.http().post(hourglass.url("/v1/readings"));
        let request = request.header("content-type", "application/json");
        let request = request.header("idempotency-key", "k-1").body("[7]");
        assert_eq!(request.send().await.unwrap().status(), 422);
    }
    let kept = records(&hourglass, "/v1/rejected").await;
    assert_eq!(each(&kept, "item"), ["7"]);
}

#[tokio::test]
async fn what_was_refused_is_mended_and_posted_again() {
    let (_dir, hourglass) = alone();
    let items = json!([
        { "sensorId": "S1", "ts": TIME, "temp": 1 },
        { "sensor": "S2", "ts": TIME, "temp": 2.5 },
        { "sensor": "S3", "ts": TIME, "temp": 3.5 },
    ]);
    assert_eq!(hourglass.post(&items).await.1["rejected"], 2);
    let line = "m,sensor=S4 temp=4,5 1746093600\n";
    assert_eq!(hourglass.post_as("text/plain", line).await.0, 422);

    let (_, items) = hourglass
        .get_text("/v1/rejected?form=items&reason=missing_sensor_id")
        .await;
    let mended = items.replace("\"sensor\":", "\"sensorId\":");
    let (status, answer) = hourglass.post_as("application/x-ndjson", mended).await;
    assert_eq!((status, &answer["accepted"]), (202, &json!(2)), "{items}");

    let (_, lines) = hourglass
        .get_text("/v1/rejected?form=items&format=line")
        .await;
    assert_eq!(lines, line);
    let (status, answer) = hourglass
        .post_as("text/plain", lines.replace("4,5", "4.5"))
        .await;
    assert_eq!((status, &answer["accepted"]), (202, &json!(1)));
    let (_, latest) = hourglass.get("/v1/sensors/S4/latest").await;
    assert_eq!(latest["latest"]["measures"], json!({ "temp": 4.5 }));
}

#[tokio::test]
async fn what_is_cut_or_no_text_is_said_to_be_and_not_offered_for_posting() {
    let (_dir, hourglass) = alone();
    let long = format!("{{\"sensorId\":\"S1\",\"note\":\"{}\"}}", "é".repeat(4000));
    let mut body = long.into_bytes();
    body.extend(b"\n{\"sensorId\":\"S\xff\"}\n{\"sensorId\":\"S1\"}\n");
    assert_eq!(hourglass.post_as("application/x-ndjson", body).await.0, 422);
    let kept = records(&hourglass, "/v1/rejected").await;
    assert_eq!(each(&kept, "isExact"), [false, false, true]);
    let cut = kept[0]["item"].as_str().unwrap();
    assert!((4000..4200).contains(&cut.len()), "{}", cut.len());
    let (_, items) = hourglass.get_text("/v1/rejected?form=items").await;
    assert_eq!(items, "{\"sensorId\":\"S1\"}\n");
}

#[tokio::test]
async fn parameters_choose() {
    let (_dir, hourglass) = alone();
    for body in [
        "[{\"temp\":1}]",
        "[7]",
        "[{\"temp\":1}]",
        "[{\"sensorId\":\"S1\"}]",
    ] {
        assert_eq!(hourglass.post_as("application/json", body).await.0, 422);
    }
    for (query, ids) in [
        ("", &[1, 2, 3, 4][..]),
        ("?reason=missing_sensor_id", &[1, 3]),
        ("?reason=missing_sensor_id&reason=no_measures", &[1, 3, 4]),
        ("?order=desc&limit=2", &[4, 3]),
        ("?order=desc&cursor=3", &[2, 1]),
        ("?cursor=1&limit=2", &[2, 3]),
        ("?to=2020-01-01T00:00:00Z", &[]),
        ("?from=-1h", &[1, 2, 3, 4]),
        ("?format=line", &[]),
    ] {
        let kept = records(&hourglass, &format!("/v1/rejected{query}")).await;
        assert_eq!(each(&kept, "id"), ids, "{query}");
    }
    let (status, totals) = hourglass.get("/v1/rejected/totals").await;
    assert_eq!(status, 200);
    let counts = json!({ "missing_sensor_id": 2, "not_an_object": 1, "no_measures": 1 });
    assert_eq!((&totals["rejected"], &totals["kept"]), (&counts, &counts));
    assert_eq!(totals["notKept"], 0);
    for (query, part) in [
        ("?reason=odd", "not_finite"),
        ("?reasons=odd", "reason, from, to"),
        ("?cursor=x", "`id`"),
        ("?form=x", "records or items"),
        ("?format=x", "json, line or csv"),
        ("?form=items&format=csv", "header"),
        ("?limit=0", "limit"),
    ] {
        let (status, problem) = hourglass.get(&format!("/v1/rejected{query}")).await;
        assert_eq!(
            (status, &problem["code"]),
            (400, &json!("invalid_parameter"))
        );
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(part), "{query}: {detail}");
    }
}
