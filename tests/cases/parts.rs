//! C08, C10: a document stays below its bound, and its key never changes.

use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::builders::{hours, post, readings, until_ready, until_stored};
use crate::support::hourglass::Start;
use crate::support::mongod::TestDatabase;

const PART_BYTES_MAX: usize = 64 << 10;
const BATCHES: u32 = 12;
const PER_BATCH: u32 = 1200;

/// Four readings a second.
fn batch(number: u32) -> Value {
    let first = number * PER_BATCH;
    let reading = |n: u32| {
        let ms = 1_777_629_600_000_u64 + u64::from(n) * 250;
        json!({ "sensorId": "huge", "ts": ms, "temp": f64::from(n) })
    };
    (first..first + PER_BATCH).map(reading).collect()
}

async fn parts(database: &TestDatabase) -> Vec<RawDocumentBuf> {
    let buckets = database
        .open()
        .await
        .collection::<RawDocumentBuf>("buckets");
    let find = buckets.find(doc! { "sensorId": "huge" });
    let mut cursor = find.sort(doc! { "part": 1 }).await.unwrap();
    let mut parts = Vec::new();
    while cursor.advance().await.unwrap() {
        parts.push(cursor.current().to_owned());
    }
    parts
}

fn count(part: &RawDocumentBuf) -> u64 {
    match Document::try_from(part.as_ref()).unwrap().get("count") {
        Some(Bson::Int32(count)) => u64::try_from(*count).unwrap(),
        Some(Bson::Int64(count)) => u64::try_from(*count).unwrap(),
        other => panic!("count is {other:?}"),
    }
}

#[tokio::test]
async fn c08_a_huge_hour_goes_on_in_parts_and_blocks_no_other_sensor() {
    let database = TestDatabase::new().await;
    let dir = TempDir::new().unwrap();
    let start = Start::on(dir.path())
        .store(&database.uri())
        .set("STORE__PART_BYTES_MAX", "64KiB");
    let hourglass = start.start();
    for number in 0..BATCHES {
        post(&hourglass, &batch(number).to_string()).await;
        let other = json!({ "sensorId": "other", "ts": 1_777_629_600 + number, "temp": number });
        post(&hourglass, &other.to_string()).await;
        assert_eq!(
            readings(&hourglass, "other").await.len(),
            number as usize + 1
        );
    }
    // A measure that is late for the first part goes to the open one.
    let late = json!({ "sensorId": "huge", "ts": 1_777_629_600, "humidity": 40 });
    post(&hourglass, &late.to_string()).await;
    until_stored(&hourglass).await;
    assert_eq!(hours(&hourglass, "other").await[0]["count"], BATCHES);
    assert!(hourglass.stop().0.success());

    let all = u64::from(BATCHES * PER_BATCH);
    let expect = |parts: &[RawDocumentBuf]| {
        assert!(parts.len() > 3, "{} parts", parts.len());
        for part in parts {
            let bytes = part.as_bytes().len();
            assert!(bytes < PART_BYTES_MAX, "a part has {bytes} bytes");
        }
        assert_eq!(parts.iter().map(count).sum::<u64>(), all);
        let (open, full) = parts.split_last().unwrap();
        assert!(full.iter().all(|part| part.get_bool("full").unwrap()));
        assert!(open.get_bool("full").is_err());
    };
    let stored = parts(&database).await;
    expect(&stored);

    // The same once more, to a process that knows nothing of the parts.
    let hourglass = start.start();
    until_ready(&hourglass).await;
    for number in 0..BATCHES {
        post(&hourglass, &batch(number).to_string()).await;
    }
    until_stored(&hourglass).await;
    let hour = hours(&hourglass, "huge").await.remove(0);
    assert_eq!(hour["count"], all);
    let (temp, humidity) = (&hour["measures"]["temp"], &hour["measures"]["humidity"]);
    assert_eq!(
        (&temp["count"], &humidity["count"]),
        (&json!(all), &json!(1))
    );
    assert_eq!(temp["sum"], (all * (all - 1) / 2) as f64);
    assert_eq!(
        (&temp["min"], &temp["max"]),
        (&json!(0.0), &json!((all - 1) as f64))
    );
    let raw = readings(&hourglass, "huge").await;
    assert_eq!(raw.len() as u64, all);
    assert_eq!(raw[0]["measures"], json!({ "temp": 0.0, "humidity": 40.0 }));
    assert_eq!(parts(&database).await, stored);
}

#[tokio::test]
async fn c10_the_key_of_a_bucket_stays_when_earlier_readings_arrive() {
    let database = TestDatabase::new().await;
    let dir = TempDir::new().unwrap();
    let start = Start::on(dir.path()).store(&database.uri());
    let buckets = database.open().await.collection::<Document>("buckets");
    let hour = mongodb::bson::DateTime::from_millis(1_777_629_600_000);
    let mut hourglass = start.start();
    let times = ["10:59:59.999999", "10:30:00", "10:00:00.000001", "10:00:00"];
    for (n, time) in times.into_iter().enumerate() {
        let item = json!({ "sensorId": "S1", "ts": format!("2026-05-01T{time}Z"), "temp": n });
        post(&hourglass, &item.to_string()).await;
        until_stored(&hourglass).await;
        let bucket = buckets.find_one(doc! {}).await.unwrap().unwrap();
        assert_eq!(bucket.get_str("_id").unwrap(), "S1|2026-05-01T10");
        assert_eq!(bucket.get_datetime("hour").unwrap(), &hour);
        assert_eq!(bucket.get_array("readings").unwrap().len(), n + 1);
        assert_eq!(buckets.count_documents(doc! {}).await.unwrap(), 1);
        if n == 1 {
            // The others come to a process that does not know the bucket.
            assert!(hourglass.stop().0.success());
            hourglass = start.start();
        }
    }
    let earlier = json!({ "sensorId": "S1", "ts": "2026-05-01T09:59:59.999999Z", "temp": 9 });
    post(&hourglass, &earlier.to_string()).await;
    until_stored(&hourglass).await;
    let all = hours(&hourglass, "S1").await;
    let counts: Vec<&Value> = all.iter().map(|hour| &hour["count"]).collect();
    assert_eq!(counts, [1, 4]);
}
