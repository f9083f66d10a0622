//! C07, C09: many buckets in one command, each with a fate of its own.

use futures_util::future::join_all;
use mongodb::bson::{Document, doc};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::builders::{hours, post, readings, until_stored};
use crate::support::eventually::eventually;
use crate::support::hourglass::{Hourglass, Start};
use crate::support::mongod::TestDatabase;

const SENSORS: u32 = 60;

/// A reading of every sensor at `second`; alike whoever sends it.
fn round(second: u32) -> Value {
    let reading = |n: u32| {
        let ts = 1_777_629_600 + second;
        json!({ "sensorId": format!("S{n}"), "ts": ts, "temp": f64::from(n + second) })
    };
    (0..SENSORS).map(reading).collect()
}

async fn fenced(hourglass: &Hourglass) -> u64 {
    let (_, page) = hourglass.get_text("/metrics").await;
    let sample = |line: &str| {
        line.strip_prefix("hourglass_flush_fenced_total ")?
            .parse()
            .ok()
    };
    page.lines().find_map(sample).unwrap_or(0)
}

#[tokio::test]
async fn c07_first_writes_of_one_bucket_by_two_processes_are_all_stored_once() {
    let database = TestDatabase::new().await;
    let dirs = [TempDir::new().unwrap(), TempDir::new().unwrap()];
    let both = dirs
        .each_ref()
        .map(|dir| Start::on(dir.path()).store(&database.uri()).start());
    // One sends the even seconds and the other the odd ones, both the first.
    join_all(both.iter().zip(1..).map(async |(hourglass, own)| {
        for second in [0].into_iter().chain((own..40).step_by(2)) {
            post(hourglass, &round(second).to_string()).await;
        }
    }))
    .await;
    for hourglass in &both {
        until_stored(hourglass).await;
    }
    let buckets = database.open().await.collection::<Document>("buckets");
    let mut cursor = buckets.find(doc! {}).await.unwrap();
    let mut seen = 0;
    while cursor.advance().await.unwrap() {
        let bucket = cursor.deserialize_current().unwrap();
        let list = bucket.get_array("readings").unwrap();
        let mut seconds: Vec<i32> = list
            .iter()
            .map(|reading| reading.as_document().unwrap().get_i32("sec").unwrap())
            .collect();
        seconds.sort_unstable();
        assert_eq!(seconds, (0..40).collect::<Vec<_>>(), "{bucket}");
        seen += 1;
    }
    assert_eq!(seen, SENSORS);

    let mut sums = [0.0; 3];
    let mut met = 0;
    for hourglass in &both {
        for (sum, metric) in sums.iter_mut().zip(["stored", "duplicate", "conflict"]) {
            let metric = format!("hourglass_values_{metric}_total");
            *sum += hourglass.metric(&metric).await;
        }
        met += fenced(hourglass).await;
        for n in 0..SENSORS {
            assert_eq!(hours(hourglass, &format!("S{n}")).await[0]["count"], 40);
        }
    }
    assert_eq!(sums, [40.0, 1.0, 0.0].map(|each| each * f64::from(SENSORS)));
    // Of two first writes of a bucket one loses; nobody was told.
    assert!(met >= u64::from(SENSORS), "{met}");
    for hourglass in both {
        let (status, log) = hourglass.stop();
        assert!(status.success());
        assert!(!log.iter().any(|line| line.contains("E11000")), "{log:#?}");
    }
}

#[tokio::test]
async fn c09_one_bad_bucket_fails_alone_and_is_told() {
    let whole = doc! {
        "hour": mongodb::bson::DateTime::from_millis(1_777_629_600_000), "part": 0,
        "rev": 1_i64, "by": 1_i64, "count": 1, "readings": [{ "sec": 0, "temp": 1.0 }],
        "sumTemp": 1.0,
        "computed": { "temp": { "count": 1, "sum": 1.0, "min": 1.0, "max": 1.0 } },
    };
    let faults = [
        ("text", "readings", Some("nonsense")),
        ("unversioned", "rev", None),
        ("timeless", "hour", Some("10:00")),
        ("empty", "computed", None),
    ];
    let database = TestDatabase::new().await;
    let buckets = database.open().await.collection::<Document>("buckets");
    let mut planted = Vec::new();
    for (sensor, field, value) in faults {
        let mut bad = whole.clone();
        bad.insert("_id", format!("{sensor}|2026-05-01T10"));
        bad.insert("sensorId", sensor);
        match value {
            Some(value) => drop(bad.insert(field, value)),
            None => drop(bad.remove(field)),
        }
        buckets.insert_one(&bad).await.unwrap();
        planted.push(bad);
    }
    let dir = TempDir::new().unwrap();
    let hourglass = Start::on(dir.path())
        .store(&database.uri())
        .set("FLUSH__RETRY_MAX", "100ms")
        .start();
    // One batch, so one flush holds them all.
    let mut batch = round(5);
    for (sensor, ..) in faults {
        let item = json!({ "sensorId": sensor, "ts": 1_777_629_605, "temp": 2 });
        batch.as_array_mut().unwrap().insert(0, item);
    }
    post(&hourglass, &batch.to_string()).await;
    eventually("the others are stored", async || {
        let stored = hourglass.metric("hourglass_values_stored_total").await;
        (stored == f64::from(SENSORS)).then_some(())
    })
    .await;
    let pending = hourglass.metric("hourglass_values_pending").await;
    assert_eq!(pending, faults.len() as f64);
    for n in 0..SENSORS {
        assert_eq!(hours(&hourglass, &format!("S{n}")).await[0]["count"], 1);
    }
    eventually("each is told by its key", async || {
        let log = hourglass.log();
        let told = |sensor: &str| {
            let key = format!("{sensor}|2026-05-01T10");
            log.iter()
                .any(|line| line.contains(&key) && line.contains("WARN"))
        };
        faults.iter().all(|(sensor, ..)| told(sensor)).then_some(())
    })
    .await;
    assert!(hourglass.metric("hourglass_flush_set_aside_total").await >= faults.len() as f64);
    // Those that come later are stored too.
    post(&hourglass, &round(6).to_string()).await;
    eventually("what came later is stored", async || {
        let stored = hourglass.metric("hourglass_values_stored_total").await;
        (stored == f64::from(2 * SENSORS)).then_some(())
    })
    .await;
    assert_eq!(readings(&hourglass, "S0").await.len(), 2);
    assert_eq!(hourglass.get("/readyz").await.0, 200);

    // Nothing was written over. Once they are gone their readings go in.
    for bad in planted {
        let key = doc! { "_id": bad.get_str("_id").unwrap() };
        let found = buckets.find_one_and_delete(key).await.unwrap();
        assert_eq!(found, Some(bad));
    }
    until_stored(&hourglass).await;
    for (sensor, ..) in faults {
        assert_eq!(readings(&hourglass, sensor).await.len(), 1);
    }
}
