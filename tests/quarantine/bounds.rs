//! It does not grow, and does not keep anybody waiting.

use std::path::Path;

use serde_json::json;

use super::{each, faulty, records};
use crate::support::eventually::eventually;
use crate::support::hourglass::Start;

/// Bytes of all files in the quarantine of a data directory.
fn bytes(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir.join("quarantine")).unwrap();
    entries
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum()
}

#[tokio::test]
async fn the_newest_stay_at_the_bound_of_items() {
    let dir = tempfile::tempdir().unwrap();
    let hourglass = Start::on(dir.path())
        .set("QUARANTINE__ITEMS_MAX", "10")
        .start();
    for n in 0..25 {
        assert_eq!(hourglass.post(&faulty(n..n + 1)).await.0, 422);
    }
    let kept = records(&hourglass, "/v1/rejected").await;
    let ids: Vec<u64> = (16..=25).collect();
    assert_eq!(each(&kept, "id"), ids);
    let (_, totals) = hourglass.get("/v1/rejected/totals").await;
    assert_eq!(totals["rejected"], json!({ "nested_value": 25 }));
    assert_eq!(totals["kept"], json!({ "nested_value": 10 }));
    assert_eq!(hourglass.metric("hourglass_quarantine_items").await, 10.0);
}

#[tokio::test]
async fn a_flood_is_answered_and_counted_and_the_disk_stays_within_its_bound() {
    let dir = tempfile::tempdir().unwrap();
    let hourglass = Start::on(dir.path())
        .set("QUARANTINE__BYTES_MAX", "1MiB")
        .start();
    let items = 20_000;
    for _ in 0..5 {
        let (status, answer) = hourglass.post(&faulty(0..items)).await;
        assert_eq!((status, &answer["rejected"]), (422, &json!(items)));
    }
    let (_, totals) = hourglass.get("/v1/rejected/totals").await;
    assert_eq!(totals["rejected"], json!({ "nested_value": 5 * items }));
    let not_kept = totals["notKept"].as_u64().unwrap();
    assert!(
        not_kept > 0,
        "a body brings no more than its part: {totals}"
    );
    let name = "hourglass_quarantine_not_kept_total";
    assert_eq!(hourglass.metric(name).await, not_kept as f64);
    let on_disk = bytes(dir.path());
    assert!((512 << 10..=1 << 20).contains(&on_disk), "{on_disk}");
    let kept = records(&hourglass, "/v1/rejected").await;
    assert_eq!(totals["kept"]["nested_value"], kept.len());
}

#[tokio::test]
async fn what_is_too_old_is_not_shown_and_goes() {
    let dir = tempfile::tempdir().unwrap();
    let hourglass = Start::on(dir.path())
        .set("QUARANTINE__AGE_MAX", "1s")
        .start();
    assert_eq!(hourglass.post(&faulty(0..3)).await.0, 422);
    eventually("they are not shown", async || {
        records(&hourglass, "/v1/rejected")
            .await
            .is_empty()
            .then_some(())
    })
    .await;
    eventually("they go", async || (bytes(dir.path()) == 0).then_some(())).await;
    let (_, totals) = hourglass.get("/v1/rejected/totals").await;
    assert_eq!(totals["rejected"], json!({ "nested_value": 3 }));
    assert_eq!(totals["kept"], json!({}));
}

#[tokio::test]
async fn nothing_is_kept_where_that_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let hourglass = Start::on(dir.path())
        .set("QUARANTINE__ITEMS_MAX", "0")
        .start();
    assert_eq!(hourglass.post(&faulty(0..3)).await.0, 422);
    assert!(records(&hourglass, "/v1/rejected").await.is_empty());
    let (_, totals) = hourglass.get("/v1/rejected/totals").await;
    assert_eq!(
        (&totals["notKept"], &totals["kept"]),
        (&json!(3), &json!({}))
    );
    assert!(!dir.path().join("quarantine").exists());
}
