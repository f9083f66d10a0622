//! Refused items are kept: of every way in, within bounds, over restarts, in a
//! form that can be mended and posted again.

mod bounds;
mod restarts;
mod ways_in;

use serde_json::Value;

use crate::support::hourglass::Hourglass;

/// The records at `path`.
async fn records(hourglass: &Hourglass, path: &str) -> Vec<Value> {
    let (status, text) = hourglass.get_text(path).await;
    assert_eq!(status, 200, "{text}");
    let lines = text.lines().map(serde_json::from_str);
    lines.map(Result::unwrap).collect()
}

/// One member of each record.
fn each(records: &[Value], member: &str) -> Vec<Value> {
    records
        .iter()
        .map(|record| record[member].clone())
        .collect()
}

/// `items` faulty items, numbered by `n`.
fn faulty(items: std::ops::Range<u64>) -> Value {
    let item = |n| serde_json::json!({ "sensorId": "S1", "temp": "hot", "n": [n] });
    items.map(item).collect()
}
