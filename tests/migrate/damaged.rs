//! What a source or a target has that is not true, and what one of them lacks:
//! told by its key, the rest is copied, nothing is changed that was there.

use mongodb::Collection;
use mongodb::bson::{Bson, Document, doc};
use serde_json::{Value, json};

use super::there_and_back::{embedded, migrate};
use crate::operation::verify::verify;
use crate::support::false_sum;
use crate::support::hourglass::Start;
use crate::support::mongod::TestDatabase;

const SENSORS: [&str; 5] = ["S1", "S2", "S3", "S4", "S5"];

/// An embedded store with an hour of each sensor, ten readings each.
async fn filled() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let hourglass = Start::on(dir.path()).start();
    let readings: Vec<Value> = SENSORS
        .iter()
        .flat_map(|id| {
            (0..10).map(move |second| {
                let ts = format!("2026-05-01T10:00:0{second}Z");
                json!({ "sensorId": id, "ts": ts, "temp": f64::from(second) / 7.0 })
            })
        })
        .collect();
    assert_eq!(hourglass.post(&Value::Array(readings)).await.0, 202);
    assert!(hourglass.stop().0.success());
    dir
}

fn assert_done(from: &str, to: &str) {
    let (code, stdout, stderr) = migrate(from, to);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
}

/// Exit code 3, all of these lines, and nothing told of other sensors.
#[track_caller]
fn assert_tells(from: &str, to: &str, lines: &[&str]) {
    let (code, stdout, stderr) = migrate(from, to);
    assert_eq!(code, Some(3), "{stdout}{stderr}");
    for line in lines {
        assert!(
            stdout.lines().any(|l| l.starts_with(line)),
            "{line}: {stdout}"
        );
    }
    let told = stdout.lines().filter(|line| !line.contains(" buckets "));
    for line in told {
        let is_expected = lines.iter().any(|expected| line.starts_with(expected));
        assert!(is_expected, "{line} is not among {lines:?}");
    }
}

async fn all(collection: &Collection<Document>) -> Vec<Document> {
    let mut cursor = collection
        .find(doc! {})
        .sort(doc! { "_id": 1 })
        .await
        .unwrap();
    let mut all = Vec::new();
    while cursor.advance().await.unwrap() {
        all.push(cursor.deserialize_current().unwrap());
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_in_a_source_on_mongodb_is_told_and_not_copied() {
    let database = TestDatabase::new().await;
    let (dir, last) = (filled().await, tempfile::tempdir().unwrap());
    assert_done(&embedded(dir.path()), &database.uri());
    let buckets = database.open().await.collection::<Document>("buckets");
    for (sensor, damage) in [
        ("S1", doc! { "$inc": { "computed.temp.sum": 0.5 } }),
        ("S2", doc! { "$set": { "sumTemp": 1.0 } }),
        ("S3", doc! { "$set": { "readings": "none" } }),
        ("S4", doc! { "$inc": { "count": 1 } }),
    ] {
        let filter = doc! { "sensorId": sensor };
        let update = buckets.update_one(filter, damage).await.unwrap();
        assert_eq!(update.modified_count, 1, "{sensor}");
    }
    let before = all(&buckets).await;
    assert_tells(
        &database.uri(),
        &embedded(last.path()),
        &[
            "S1|2026-05-01T10: not copied: its computed fields are not true; see `hourglass verify",
            "S1|2026-05-01T10: the target lacks it",
            "S2|2026-05-01T10: not copied: its computed fields are not true",
            "S2|2026-05-01T10: the target lacks it",
            "not copied: document \"S3|2026-05-01T10\" in the mongodb store cannot be read: readings",
            "in the source: document \"S3|2026-05-01T10\"",
            "S4|2026-05-01T10: not copied: its computed fields are not true",
            "S4|2026-05-01T10: the target lacks it",
        ],
    );
    assert_eq!(all(&buckets).await, before);
    // What was copied is true; newest readings stand in records of their own.
    let (_, said, _) = verify(last.path(), "embedded", false);
    let buckets_said = "1 buckets with 10 readings: 0 parts differ, 0 repaired, 0 buckets damaged";
    assert!(said.contains(buckets_said), "{said}");
    let hourglass = Start::on(last.path()).start();
    for sensor in SENSORS {
        let path = format!(
            "/v1/sensors/{sensor}/hourly?from=2026-05-01T00:00:00Z&to=2026-05-02T00:00:00Z"
        );
        let (status, hours) = hourglass.get(&path).await;
        assert_eq!(status, 200, "{hours}");
        let count = hours["hours"].as_array().unwrap().len();
        assert_eq!(count, usize::from(sensor == "S5"), "{sensor}: {hours}");
    }
    assert!(hourglass.stop().0.success());

    // As the lines say: what can be mended at the source is, and copied.
    let beside = tempfile::tempdir().unwrap();
    let (_, said, _) = verify(beside.path(), &database.uri(), true);
    assert!(said.contains("3 parts differ, 3 repaired"), "{said}");
    assert_tells(
        &database.uri(),
        &embedded(last.path()),
        &[
            "not copied: document \"S3|2026-05-01T10\"",
            "in the source: document \"S3|",
        ],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_in_an_embedded_source_is_told_and_mended_there() {
    let database = TestDatabase::new().await;
    let dir = filled().await;
    false_sum::plant(&dir.path().join("store")).await;
    assert_tells(
        &embedded(dir.path()),
        &database.uri(),
        &[
            "S1|2026-05-01T10: not copied: its computed fields are not true",
            "S1|2026-05-01T10: the target lacks it",
        ],
    );
    let buckets = database.open().await.collection::<Document>("buckets");
    let of = |sensor| buckets.count_documents(doc! { "sensorId": sensor });
    assert_eq!((of("S1").await.unwrap(), of("S2").await.unwrap()), (0, 1));
    // As the line says.
    let (_, said, _) = verify(dir.path(), "embedded", true);
    assert!(said.contains("1 parts differ, 1 repaired"), "{said}");
    let (code, stdout, stderr) = migrate(&embedded(dir.path()), &database.uri());
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    assert!(
        stdout.contains("1 buckets copied, 4 there already, 0 done"),
        "{stdout}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_target_has_wrong_or_more_or_less_is_told_and_stays() {
    let database = TestDatabase::new().await;
    let dir = filled().await;
    let uri = database.uri();
    assert_done(&embedded(dir.path()), &uri);
    let target = database.open().await;
    let buckets = target.collection::<Document>("buckets");
    let sensors = target.collection::<Document>("sensors");
    let sites = target.collection::<Document>("sites");
    let change = async |collection: &Collection<Document>, filter, change| {
        let changed = collection.update_one(filter, change).await.unwrap();
        assert_eq!(changed.modified_count, 1);
    };
    // Too much: a bucket, a sensor and a site of its own.
    let mut more = buckets
        .find_one(doc! { "sensorId": "S5" })
        .await
        .unwrap()
        .unwrap();
    more.insert("_id", "S6|2026-05-01T10");
    more.insert("sensorId", "S6");
    buckets.insert_one(more).await.unwrap();
    let mut more = sensors
        .find_one(doc! { "_id": "S5" })
        .await
        .unwrap()
        .unwrap();
    more.insert("_id", "S7");
    sensors.insert_one(more).await.unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let hourglass = Start::on(elsewhere.path()).store(&uri).start();
    let put = hourglass.http().put(hourglass.url("/v1/sites/B9"));
    let put = put.json(&json!({ "name": "Mill" })).send().await.unwrap();
    assert!(put.status().is_success());
    assert!(hourglass.stop().0.success());
    assert_eq!(sites.count_documents(doc! {}).await.unwrap(), 1);
    // Not true.
    let of = |sensor: &str| doc! { "sensorId": sensor };
    change(
        &buckets,
        of("S1"),
        doc! { "$inc": { "computed.temp.sum": 0.5 } },
    )
    .await;
    change(&buckets, of("S2"), doc! { "$set": { "sumTemp": 1.0 } }).await;
    // Another value, with fields that are true of it.
    let mut other = buckets.find_one(of("S3")).await.unwrap().unwrap();
    let mut readings = other.get_array("readings").unwrap().clone();
    let Some(Bson::Document(first)) = readings.first_mut() else {
        panic!("no reading in {other}");
    };
    // The least one, by less than sums are held to.
    first.insert("temp", 1e-300);
    other.insert("readings", readings);
    let computed = other.get_document_mut("computed").unwrap();
    computed
        .get_document_mut("temp")
        .unwrap()
        .insert("min", 1e-300);
    buckets.replace_one(of("S3"), &other).await.unwrap();
    // A sensor that is called something else.
    change(
        &sensors,
        doc! { "_id": "S4" },
        doc! { "$set": { "name": "Other", "rev": 7_i64, "by": 3_i64 } },
    )
    .await;
    let before = (all(&buckets).await, all(&sensors).await, all(&sites).await);
    let lines = [
        "sensor S4: not copied: the target holds something else",
        "sensor S4: the two stores do not say the same",
        "S1|2026-05-01T10: not copied: in the target its computed fields are not true",
        "S1|2026-05-01T10: in the target its computed fields are not true",
        "S2|2026-05-01T10: not copied: in the target its computed fields are not true",
        "S2|2026-05-01T10: in the target its computed fields are not true",
        "S3|2026-05-01T10: not copied: the target holds something else",
        "S3|2026-05-01T10: the two stores do not say the same",
        "S6|2026-05-01T10: the source lacks it",
        "sensor S7: the source lacks it",
        "site B9: the source lacks it",
    ];
    // Made again it says the same.
    for _ in 0..2 {
        assert_tells(&embedded(dir.path()), &uri, &lines);
        let after = (all(&buckets).await, all(&sensors).await, all(&sites).await);
        assert_eq!(after, before);
    }
}
