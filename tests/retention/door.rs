//! What is older than it is kept is refused, in every format and over UDP.

use hourglass::model::Keep;
use serde_json::json;

use super::builders::{hours_ago, items, until_metric};
use crate::support::eventually::eventually;
use crate::support::hourglass::Start;

const REFUSED: &str = "hourglass_items_rejected_total{code=\"older_than_retention\"}";

#[tokio::test]
async fn every_format_refuses_what_is_not_kept() {
    assert_eq!(
        hourglass::config::RetentionSettings::default().hours,
        Keep::Forever
    );
    let dir = tempfile::tempdir().unwrap();
    let start = Start::on(dir.path()).set("RETENTION__READINGS", "10h");
    let server = start.udp("127.0.0.1:0").start();
    // The setting binds once all sensors were looked at: one may be kept for longer.
    let complete = "hourglass_retention_passes_total{outcome=\"complete\"}";
    until_metric(&server, complete, 1.0).await;
    let (old, kept) = (hours_ago(11), hours_ago(10));
    let (old_s, kept_s) = (old.as_second(), kept.as_second());
    let bodies = [
        ("application/json", items("S1", &[11, 10]).to_string()),
        (
            "application/x-ndjson",
            format!(
                "{{\"sensorId\":\"S1\",\"ts\":{old_s},\"b\":1}}\n{{\"sensorId\":\"S1\",\"ts\":{kept_s},\"b\":1}}\n"
            ),
        ),
        (
            "text/csv",
            format!("sensorId,ts,c\nS1,{old},1\nS1,{kept},1\n"),
        ),
        (
            "text/plain",
            format!("m,sensor=S1 d=1 {old_s}\nm,sensor=S1 d=1 {kept_s}\n"),
        ),
    ];
    for (content_type, body) in bodies {
        let (status, answer) = server.post_as(content_type, body).await;
        assert_eq!(status, 202, "{content_type}: {answer}");
        assert_eq!(answer["accepted"], 1, "{content_type}: {answer}");
        let error = &answer["errors"][0];
        assert_eq!(
            error["code"], "older_than_retention",
            "{content_type}: {answer}"
        );
        let detail = error["detail"].as_str().unwrap();
        assert!(
            detail.contains(&format!("{old} is before {kept}")),
            "{detail}"
        );
        assert!(detail.contains("retention.readings"), "{detail}");
    }
    assert_eq!(server.metric(REFUSED).await, 4.0);

    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let line = format!("m,sensor=S1 e=1 {old_s}\nm,sensor=S1 e=1 {kept_s}");
    socket.send_to(line.as_bytes(), server.udp()).unwrap();
    until_metric(&server, REFUSED, 5.0).await;
    eventually("the kept one", async || {
        let path = format!("/v1/sensors/S1/readings?from={kept}&measure=e");
        let (_, answer) = server.get(&path).await;
        (answer["readings"].as_array()?.len() == 1).then_some(())
    })
    .await;
    let (_, answer) = server.get("/v1/sensors/S1/readings").await;
    let readings = answer["readings"].as_array().unwrap();
    assert_eq!(readings.len(), 1);
    let measures = &readings[0]["measures"];
    assert_eq!(
        *measures,
        json!({ "temp": 2.5, "b": 1.0, "c": 1.0, "d": 1.0, "e": 1.0 })
    );
}
