//! Names of measures that trouble documents come back as they were sent, from
//! the buffer and from either store.

use serde_json::{Value, json};
use tempfile::TempDir;

use super::answers::{expect_refused, expect_unharmed, percent_encoded, started};
use crate::support::hourglass::{Hourglass, Start};
use crate::support::mongod::TestDatabase;

const NAMES: [&str; 13] = [
    "sec",
    "a.b",
    "$x",
    "50%",
    "__proto__",
    "_id",
    "count",
    "constructor",
    "%73ec",
    "sensorId",
    "🌡 °C",
    ".",
    "a$.$b",
];

fn reading() -> Value {
    let measures: serde_json::Map<String, Value> = NAMES
        .iter()
        .enumerate()
        .map(|(n, name)| ((*name).to_owned(), json!(n as f64 + 0.5)))
        .collect();
    json!({"sensorId": "S1", "ts": "2026-05-01T10:00:07Z", "measures": measures})
}

async fn expect_read_back(hourglass: &Hourglass) {
    let sent = &reading()["measures"];
    let (_, answer) = hourglass.get("/v1/sensors/S1/readings").await;
    assert_eq!(answer["readings"][0]["measures"], *sent);
    assert_eq!(answer["readings"].as_array().unwrap().len(), 1);
    let (_, answer) = hourglass.get("/v1/sensors/S1/latest").await;
    assert_eq!(answer["latest"]["measures"], *sent);
    let (_, answer) = hourglass.get("/v1/sensors/S1/hourly").await;
    let hour = &answer["hours"][0];
    assert_eq!(hour["count"], 1);
    assert_eq!(hour["measures"].as_object().unwrap().len(), NAMES.len());
    for name in NAMES {
        assert_eq!(hour["measures"][name]["sum"], sent[name], "{name}");
        let measure = percent_encoded(name);
        let path = format!("/v1/sensors/S1/readings?measure={measure}");
        let (_, answer) = hourglass.get(&path).await;
        let only = json!({ name: sent[name] });
        assert_eq!(answer["readings"][0]["measures"], only, "{name}");
    }
}

#[tokio::test]
async fn names_that_trouble_documents_come_back_from_the_embedded_store() {
    let dir = TempDir::new().unwrap();
    let start = Start::on(dir.path());
    let hourglass = start.start();
    assert_eq!(hourglass.post(&reading()).await.1["accepted"], 1);
    expect_read_back(&hourglass).await;
    assert!(hourglass.stop().0.success());
    let hourglass = start.start();
    expect_read_back(&hourglass).await;
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn names_that_trouble_documents_come_back_from_mongodb() {
    let database = TestDatabase::new().await;
    let dir = TempDir::new().unwrap();
    let start = Start::on(dir.path()).store(&database.uri());
    let hourglass = start.start();
    assert_eq!(hourglass.post(&reading()).await.1["accepted"], 1);
    expect_read_back(&hourglass).await;
    assert!(hourglass.stop().0.success());
    // From a new data directory: all that is read comes from the store.
    let dir = TempDir::new().unwrap();
    let hourglass = Start::on(dir.path()).store(&database.uri()).start();
    expect_read_back(&hourglass).await;
    // A second write of the same instant finds what the document holds.
    assert_eq!(hourglass.post(&reading()).await.1["accepted"], 1);
    assert!(hourglass.stop().0.success());
    let dir = TempDir::new().unwrap();
    let hourglass = Start::on(dir.path()).store(&database.uri()).start();
    expect_read_back(&hourglass).await;
    expect_unharmed(&hourglass).await;
}

#[tokio::test]
async fn a_bad_name_is_refused_with_the_rule_it_breaks() {
    let (_dir, hourglass) = started();
    let long = "x".repeat(65);
    for (name, field, part) in [
        ("", "", "a measure name must not be blank"),
        ("  ", "  ", "a measure name must not be blank"),
        (&long, &*long, "at most 64 bytes, this one has 65"),
        (r"a\tb", "a\tb", "must not contain control characters"),
        (r"\u0000", "\0", "must not contain control characters"),
    ] {
        let item = format!(r#"{{"sensorId":"S1","{name}":1}}"#);
        let code = "invalid_measure_name";
        expect_refused(&hourglass, &item, code, Some(field), &[part]).await;
    }
    let lone = r#"[{"sensorId":"S1","\ud800":1}]"#;
    expect_refused(&hourglass, lone, "invalid_json", None, &["hex escape"]).await;
    expect_unharmed(&hourglass).await;
}
