//! Parts of one hour: their numbers, their marks, who wrote them.

use std::path::Path;

use mongodb::bson::{Document, doc};
use serde_json::{Value, json};

use super::mongodb::{all, change};
use super::{assert_ends_well, assert_tells};
use crate::operation::builders::{count, post, readings, until_stored};
use crate::support::hourglass::{Hourglass, Start};
use crate::support::mongod::TestDatabase;

fn small_parts(dir: &Path, uri: &str) -> Start {
    Start::on(dir)
        .store(uri)
        .set("STORE__PART_BYTES_MAX", "64KiB")
}

/// Hours of several parts.
async fn filled(sensors: &[&str]) -> TestDatabase {
    let database = TestDatabase::new().await;
    let dir = tempfile::tempdir().unwrap();
    let hourglass = small_parts(dir.path(), &database.uri()).start();
    for sensor in sensors {
        // Two measures, so that there are three parts and more.
        let mut items = readings(sensor, 0..3000);
        for item in items.as_array_mut().unwrap() {
            item["a measure with a long name"] = json!(1);
        }
        assert_eq!(hourglass.post(&items).await.0, 202);
    }
    until_stored(&hourglass).await;
    assert!(hourglass.stop().0.success());
    database
}

fn id(sensor: &str, part: u32) -> Document {
    let part = match part {
        0 => String::new(),
        part => format!("#{part}"),
    };
    doc! { "_id": format!("{sensor}|2026-05-01T10{part}") }
}

async fn seconds(hourglass: &Hourglass, sensor: &str) -> usize {
    let path = format!(
        "/v1/sensors/{sensor}/readings?from=2026-05-01T10:00:00Z&to=2026-05-01T11:00:00Z&limit=10000"
    );
    let (status, answer) = hourglass.get(&path).await;
    assert_eq!(status, 200, "{answer}");
    answer["readings"].as_array().unwrap().len()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_that_was_not_closed_is_closed_where_all_else_is_right() {
    let database = filled(&["S1"]).await;
    let uri = database.uri();
    let dir = tempfile::tempdir().unwrap();
    assert_ends_well(dir.path(), &uri, false);
    let buckets = database.open().await.collection::<Document>("buckets");
    change(&buckets, id("S1", 1), doc! { "$unset": { "full": "" } }).await;
    // Its fields are false too: these come first, in one run.
    change(&buckets, id("S1", 1), doc! { "$inc": { "count": 1 } }).await;
    let before = all(&buckets).await;
    let line = "S1|2026-05-01T10#1 is not closed, and part 2 follows";
    let said = assert_tells(dir.path(), &uri, false, &[line]);
    assert!(said.contains("2 parts differ, 0 repaired"), "{said}");
    assert_eq!(all(&buckets).await, before);
    let said = assert_ends_well(dir.path(), &uri, true);
    for line in ["S1|2026-05-01T10#1 repaired", "S1|2026-05-01T10#1 closed"] {
        assert!(said.lines().any(|said| said == line), "{line}: {said}");
    }
    assert_ends_well(dir.path(), &uri, true);
    let after = all(&buckets).await;
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before.get("readings"), after.get("readings"));
    }
    let data = tempfile::tempdir().unwrap();
    let hourglass = small_parts(data.path(), &uri).start();
    assert_eq!(seconds(&hourglass, "S1").await, 3000);
    post(&hourglass, "S1", 3000..3600).await;
    until_stored(&hourglass).await;
    assert_eq!(count(&hourglass, "S1").await, 3600);
    assert!(hourglass.stop().0.success());
    assert_ends_well(dir.path(), &uri, false);
}

/// What two processes may have done to such parts.
#[tokio::test(flavor = "multi_thread")]
async fn a_part_that_was_not_closed_stays_where_an_instant_stands_twice() {
    let database = filled(&["S1"]).await;
    let dir = tempfile::tempdir().unwrap();
    let buckets = database.open().await.collection::<Document>("buckets");
    change(&buckets, id("S1", 0), doc! { "$unset": { "full": "" } }).await;
    let twice = doc! { "$push": { "readings": { "sec": 0, "temp": 0.0 } } };
    change(&buckets, id("S1", 1), twice).await;
    let before = all(&buckets).await;
    let lines = [
        "S1|2026-05-01T10: 1 values stand twice",
        "S1|2026-05-01T10 is not closed, and part 1 follows",
        "S1|2026-05-01T10: not closed: other findings come first",
    ];
    for _ in 0..2 {
        assert_tells(dir.path(), &database.uri(), true, &lines);
        assert_eq!(all(&buckets).await, before);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_that_are_missing_or_of_one_write_or_too_large_are_told_and_stay() {
    let database = filled(&["S1", "S2", "S3", "S4"]).await;
    let uri = database.uri();
    let dir = tempfile::tempdir().unwrap();
    let buckets = database.open().await.collection::<Document>("buckets");
    buckets.delete_one(id("S1", 0)).await.unwrap();
    buckets.delete_one(id("S2", 1)).await.unwrap();
    let by = buckets.find_one(id("S3", 0)).await.unwrap().unwrap();
    let by = by.get_i64("by").unwrap();
    change(&buckets, id("S3", 1), doc! { "$set": { "by": by } }).await;
    // A field of a kind that is known, larger than all that is written.
    let huge = "x".repeat(10 << 20);
    change(&buckets, id("S4", 0), doc! { "$set": { "note": huge } }).await;
    let before = all(&buckets).await;
    let lines = [
        "S1|2026-05-01T10: part 0 is missing, and part 1 is there",
        "S2|2026-05-01T10: part 1 is missing, and part 2 is there",
        "S3|2026-05-01T10: parts 0 and 1 have the same by ",
        "S4|2026-05-01T10 has 10",
        "document \"S4|2026-05-01T10\": not understood: note is no field that is known here",
    ];
    for repair in [false, true] {
        let said = assert_tells(dir.path(), &uri, repair, &lines);
        assert!(
            said.contains("0 parts differ, 0 repaired, 4 buckets damaged, 1 not understood"),
            "{said}"
        );
        assert!(all(&buckets).await == before);
    }
    let data = tempfile::tempdir().unwrap();
    let hourglass = small_parts(data.path(), &uri).start();
    assert_eq!(count(&hourglass, "S3").await, 3000);
    assert!(hourglass.stop().0.success());
}

/// A deletion empties parts, and leaves them.
#[tokio::test(flavor = "multi_thread")]
async fn parts_that_a_deletion_emptied_are_counted_and_no_finding() {
    let database = filled(&["S1"]).await;
    let uri = database.uri();
    let (data, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let hourglass = small_parts(data.path(), &uri).start();
    let range = "from=2026-05-01T10:00:00Z&to=2026-05-01T11:00:00Z";
    let url = hourglass.url(&format!("/v1/sensors/S1/readings?{range}"));
    let deleted = hourglass.http().delete(url).send().await.unwrap();
    assert_eq!(deleted.status().as_u16(), 200);
    let said = assert_ends_well(dir.path(), &uri, true);
    assert!(
        said.contains("1 buckets with 0 readings: 0 parts differ"),
        "{said}"
    );
    assert!(!said.contains(" 0 empty"), "{said}");
    let (status, answer): (u16, Value) = hourglass.post(&readings("S1", 0..3000)).await;
    assert_eq!(status, 202, "{answer}");
    until_stored(&hourglass).await;
    assert!(hourglass.stop().0.success());
    let said = assert_ends_well(dir.path(), &uri, false);
    assert!(said.contains("1 buckets with 3000 readings"), "{said}");
}
