//! What must not be there: arrays without a bound, a collection more, joins, an
//! index that no query uses.

use std::collections::BTreeSet;

use futures_util::TryStreamExt;
use hourglass::model::{ATTRIBUTES_MAX, BucketKey, HourStart, Micros, Order, SensorId, Tags};
use hourglass::store::mongodb::{MongoSettings, MongoStore};
use hourglass::store::{AttributeFilter, SensorFilter, SensorTold, Store};
use mongodb::bson::{Bson, Document, doc};

use super::fleet::{FIRST_HOUR, MONTH_HOURS, fill, month, sensor, sensors, site};
use super::profile::profiled;
use crate::support::mongod::TestDatabase;

async fn filled() -> (TestDatabase, MongoStore) {
    let test = TestDatabase::new().await;
    let store = MongoStore::connect(&test.uri(), MongoSettings::default()).unwrap();
    fill(&store).await;
    (test, store)
}

/// Every query that the store has, once.
async fn every_query(store: &MongoStore) {
    let one = [sensor(0)];
    let hour = HourStart::from_hours(FIRST_HOUR);
    let key = BucketKey {
        sensor: sensor(0),
        hour,
    };
    store.load(&[key]).await.unwrap();
    store.hours(&one, month()).await.unwrap();
    let scan = store.scan(&sensor(0), month(), Order::Descending);
    scan.try_collect::<Vec<_>>().await.unwrap();
    store.newest(&sensors()).await.unwrap();
    store.oldest_hours(&sensors()).await.unwrap();
    store.sensors(&one).await.unwrap();
    let attribute = AttributeFilter::Between {
        key: "firmware".into(),
        min: Some(2.0),
        max: Some(2.15),
    };
    let silent_since = HourStart::from_hours(FIRST_HOUR + MONTH_HOURS - 5).start();
    for filter in [
        SensorFilter::default(),
        SensorFilter {
            site: Some(site(1)),
            ..SensorFilter::default()
        },
        SensorFilter {
            attributes: vec![attribute],
            ..SensorFilter::default()
        },
        SensorFilter {
            silent_since: Some(silent_since),
            ..SensorFilter::default()
        },
    ] {
        let found = store.find_sensors(&filter, None, 10).await.unwrap();
        assert!(!found.is_empty(), "{filter:?}");
    }
    store.count_silent(silent_since, None).await.unwrap();
    store.site(&site(0)).await.unwrap();
    store.sites(None, 10).await.unwrap();
}

#[tokio::test]
async fn every_index_is_used_by_a_query_and_there_are_three_collections() {
    let (test, store) = filled().await;
    let database = test.open().await;
    let ((), reads) = profiled(&database, every_query(&store)).await;
    assert!(!reads.is_scan(), "{reads:?}");

    let mut collections = database.list_collection_names().await.unwrap();
    collections.retain(|name| name != "system.profile");
    collections.sort_unstable();
    assert_eq!(collections, ["buckets", "sensors", "sites"]);
    for collection in collections {
        let collection = database.collection::<Document>(&collection);
        let indexes = collection.list_indexes().await.unwrap();
        for index in indexes.try_collect::<Vec<_>>().await.unwrap() {
            let keys: Vec<String> = index
                .keys
                .iter()
                .map(|(key, direction)| format!("{key}: {direction}"))
                .collect();
            let plan = format!("{{ {} }}", keys.join(", "));
            let is_used = reads.plans.iter().any(|used| {
                used.contains(&plan) || (plan == "{ _id: 1 }" && used.contains("IDHACK"))
            });
            assert!(
                is_used,
                "{plan} of {collection:?} is in no plan of {:?}",
                reads.plans
            );
        }
    }
}

/// The longest array anywhere in a document.
fn longest_array(value: &Bson) -> usize {
    match value {
        Bson::Array(values) => {
            let inner = values.iter().map(longest_array).max().unwrap_or(0);
            inner.max(values.len())
        }
        Bson::Document(document) => document
            .iter()
            .map(|(_, value)| longest_array(value))
            .max()
            .unwrap_or(0),
        _ => 0,
    }
}

#[tokio::test]
async fn no_array_of_a_sensor_grows_with_what_devices_send() {
    let (test, store) = filled().await;
    let id = SensorId::new("S000").unwrap();
    let mut longest = BTreeSet::new();
    for round in 0..5 {
        let pairs: Vec<(String, String)> = (0..ATTRIBUTES_MAX)
            .map(|n| (format!("key{round}-{n}"), n.to_string()))
            .collect();
        let told = SensorTold {
            sensor: id.clone(),
            last_seen: Some(Micros::new(1).unwrap()),
            attributes: Tags::new(pairs.iter().map(|(k, v)| (k.as_str(), v.as_str()))),
            recent: None,
        };
        store.touch(&[told]).await.unwrap();
        let sensors = test.open().await.collection::<Document>("sensors");
        let found = sensors.find_one(doc! { "_id": "S000" }).await.unwrap();
        longest.insert(longest_array(&Bson::Document(found.unwrap())));
    }
    // Each attribute may stand there as a text and as a number.
    assert!(
        longest.iter().all(|n| *n <= 2 * ATTRIBUTES_MAX),
        "{longest:?}"
    );
    let stored = store.sensors(&[id]).await.unwrap();
    assert_eq!(stored[0].attributes.len(), ATTRIBUTES_MAX);
}
