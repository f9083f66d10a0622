//! C02: the key of a bucket holds the whole identity, escaped.

use std::collections::BTreeSet;

use mongodb::bson::{Document, doc};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::builders::{hours, on_each_store, percent, post, readings, until_ready, until_stored};
use crate::support::hourglass::Start;
use crate::support::mongod::TestDatabase;

/// Every id of one to three characters of what keys and escapes are made of,
/// and ids that look like the keys of others.
fn ids() -> Vec<String> {
    let alphabet = ['a', '|', '#', '%'];
    let mut ids: BTreeSet<String> = BTreeSet::new();
    let mut last = vec![String::new()];
    for _ in 0..3 {
        last = last
            .iter()
            .flat_map(|id| alphabet.map(|c| format!("{id}{c}")))
            .collect();
        ids.extend(last.iter().cloned());
    }
    let lookalikes = [
        "a|2026-05-01T10",
        "a|2026-05-01T10#1",
        "a%7C2026-05-01T10",
        "a#1",
        "a%231",
        "a%7C",
        "%7C",
        "a/b",
        "a/../a",
        "a%2Fb",
        "...",
        "$a",
        "a b",
        "a+b",
        " a",
        "A",
    ];
    ids.extend(lookalikes.map(str::to_owned));
    ids.into_iter().collect()
}

/// One reading per id and hour, each with a value of its own.
fn batch(ids: &[String]) -> Value {
    let reading = |(n, id): (usize, &String), hour: usize| {
        let ts = format!("2026-05-01T{:02}:00:00Z", 10 + hour);
        json!({ "sensorId": id, "ts": ts, "n": 2 * n + hour })
    };
    let of_hour = |hour| ids.iter().enumerate().map(move |id| reading(id, hour));
    of_hour(0).chain(of_hour(1)).collect()
}

#[tokio::test]
async fn c02_ids_with_separators_never_share_a_bucket() {
    on_each_store(async |start| {
        let ids = ids();
        let hourglass = start.start();
        post(&hourglass, &batch(&ids).to_string()).await;
        until_stored(&hourglass).await;
        assert!(hourglass.stop().0.success());

        // From the store alone.
        let hourglass = start.start();
        until_ready(&hourglass).await;
        for (n, id) in ids.iter().enumerate() {
            let values: Vec<Value> = readings(&hourglass, id)
                .await
                .iter()
                .map(|reading| reading["measures"]["n"].clone())
                .collect();
            let expected = [2.0 * n as f64, 2.0 * n as f64 + 1.0];
            assert_eq!(values, expected, "{id}");
            let counts: Vec<Value> = hours(&hourglass, id)
                .await
                .iter()
                .map(|hour| hour["count"].clone())
                .collect();
            assert_eq!(counts, [1, 1], "{id}");
        }

        let asked: Vec<String> = ids.iter().map(|id| percent(id)).collect();
        let path = format!("/v1/latest?sensor={}", asked.join("&sensor="));
        let (_, latest) = hourglass.get(&path).await;
        for (n, (id, latest)) in ids
            .iter()
            .zip(latest["sensors"].as_array().unwrap())
            .enumerate()
        {
            assert_eq!(latest["sensorId"], id.as_str());
            let value = &latest["latest"]["measures"]["n"];
            assert_eq!(*value, 2.0 * n as f64 + 1.0, "{id}");
        }
        let (_, page) = hourglass.get("/v1/sensors?limit=1000").await;
        let page = page["sensors"].as_array().unwrap();
        let listed: Vec<&str> = page
            .iter()
            .map(|sensor| sensor["sensorId"].as_str().unwrap())
            .collect();
        assert_eq!(listed, ids);
    })
    .await;
}

#[tokio::test]
async fn c02_each_id_and_hour_is_a_document_of_its_own() {
    let database = TestDatabase::new().await;
    let dir = TempDir::new().unwrap();
    let hourglass = Start::on(dir.path()).store(&database.uri()).start();
    let ids = ids();
    post(&hourglass, &batch(&ids).to_string()).await;
    until_stored(&hourglass).await;
    let buckets = database.open().await.collection::<Document>("buckets");
    for id in &ids {
        let own = doc! { "sensorId": id, "count": 1, "readings": { "$size": 1 } };
        assert_eq!(buckets.count_documents(own).await.unwrap(), 2, "{id}");
    }
    let all = buckets.count_documents(doc! {}).await.unwrap();
    assert_eq!(all, 2 * ids.len() as u64);
}
