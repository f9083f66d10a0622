//! `docs/operations.md` names every metric there is, and no other.

use std::collections::BTreeSet;

use super::{quoted, read};
use crate::support::hourglass::Start;

const PREFIX: &str = "hourglass_";

/// Whatever is written as code: alone, with labels, in a condition.
fn documented() -> BTreeSet<String> {
    let quoted = quoted(&read("docs/operations.md"));
    let words = quoted
        .iter()
        .flat_map(|code| code.split(|c: char| !c.is_ascii_lowercase() && c != '_'));
    let names = words.filter(|word| word.starts_with(PREFIX));
    names.map(str::to_owned).collect()
}

/// The texts in the sources that are names of metrics.
fn in_code() -> BTreeSet<String> {
    ["src/metrics/names.rs", "src/metrics/export.rs"]
        .iter()
        .flat_map(|path| {
            let text = read(path);
            let texts = text.split('"').skip(1).step_by(2);
            let names = texts.filter(|text| text.starts_with(PREFIX));
            names.map(str::to_owned).collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn every_metric_is_in_the_operations_guide_and_none_else_is() {
    assert_eq!(documented(), in_code());
}

/// Histograms appear with their first value, all else at once.
#[tokio::test]
async fn a_scrape_shows_no_metric_that_is_not_documented() {
    let dir = tempfile::tempdir().unwrap();
    let hourglass = Start::on(dir.path()).start();
    let body = serde_json::json!({"sensorId": "S1", "temp": 1.5});
    assert_eq!(hourglass.post(&body).await.0, 202);
    let (_, page) = hourglass.get("/metrics").await;
    let types: BTreeSet<String> = page
        .as_str()
        .unwrap()
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "))
        .map(|line| line.split(' ').next().unwrap().to_owned())
        .collect();
    assert!(types.len() > 20, "{types:?}");
    let documented = documented();
    let unknown: Vec<_> = types.difference(&documented).collect();
    assert_eq!(unknown, Vec::<&String>::new());
}
