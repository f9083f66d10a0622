//! `/metrics` as the reference parser of Prometheus reads it.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{ledger, send};
use crate::support::machine_temperature::{SENSOR, rows};
use crate::support::python::{PROMETHEUS_CLIENT, run_script};
use crate::support::site::Site;

/// An id that would break a label that is not escaped.
const AWKWARD: &str = r#"awkward"} 1 \n {x="#;

pub(super) async fn the_page_of_metrics_is_what_prometheus_reads(site: &Site) {
    let server = site.start().set("FLUSH__AGE_MAX", "100ms").start();
    send::in_order(&server, &rows(), 5_000).await;
    let awkward = json!([
        { "sensorId": AWKWARD, "humidity-of-awkward": 50 },
        { "sensorId": AWKWARD, "temp": "text" },
        { "sensorId": "" },
    ]);
    assert_eq!(server.post(&awkward).await.0, 202);
    assert_eq!(server.post_as("application/json", "[").await.0, 400);
    for path in [
        &format!("/v1/sensors/{SENSOR}/latest"),
        "/v1/sensors/awkward%22%7D/readings",
        "/nowhere/awkward",
        "/v1/hourly",
    ] {
        server.get(path).await;
    }
    ledger::at_rest(&server).await;

    let (status, page) = server.get_text("/metrics").await;
    assert_eq!(status, 200);
    let script = "tests/machine_temperature/print_metrics.py";
    let families = run_script(PROMETHEUS_CLIENT, script, &[], &page);
    let mut seen = HashSet::new();
    for line in &families {
        let family: Value = serde_json::from_str(line).unwrap();
        let kind = family["type"].as_str().unwrap();
        assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
        assert_ne!(family["help"], "", "{line}");
        let samples = family["samples"].as_array().unwrap();
        assert!(!samples.is_empty(), "{line}");
        for sample in samples {
            assert!(seen.insert(sample.to_string()), "twice: {sample}");
            let text = sample.to_string();
            for id in [SENSOR, "awkward"] {
                assert!(!text.contains(id), "{text}");
            }
        }
    }
    // Each sample of the page was read, none was passed over.
    let lines = page
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    assert_eq!(seen.len(), lines.count());
    let name = |line: &str| serde_json::from_str::<Value>(line).unwrap()["name"].clone();
    let names: HashSet<Value> = families.iter().map(|line| name(line)).collect();
    assert_eq!(names.len(), families.len(), "a family is there twice");
    for name in [
        "hourglass_values_accepted",
        "hourglass_values_pending",
        "hourglass_http_request_seconds",
    ] {
        assert!(names.contains(&Value::from(name)), "{name} is missing");
    }
}
