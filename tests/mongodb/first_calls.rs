//! Reads while the catalog changes: the collections of a new database are made
//! by the first calls, and people add indexes. An instant to read at may lie
//! before the change; the server then asks to be asked again.

use futures_util::TryStreamExt;
use hourglass::model::{HourRange, HourStart, Micros, Order, Tags};
use hourglass::store::mongodb::{MongoSettings, MongoStore};
use hourglass::store::{SensorFilter, SensorTold, Store};
use mongodb::IndexModel;
use mongodb::bson::{Document, doc};

use super::builders::{HOUR, first, key, sensor, temps};
use crate::support::mongod::TestDatabase;

/// All hours that a test writes.
fn hours() -> HourRange {
    HourRange {
        from: HourStart::from_hours(0),
        to: HourStart::from_hours(1_000_000),
    }
}

/// Reads again and again until `change` is done; every answer must be one.
async fn read_during(store: &MongoStore, change: impl Future<Output = ()>) {
    let ids = [sensor("A")];
    let keys = [key("A", HOUR)];
    let reading = async {
        loop {
            store
                .find_sensors(&SensorFilter::default(), None, 10)
                .await
                .unwrap();
            store.hours(&ids, hours()).await.unwrap();
            store.newest(&ids).await.unwrap();
            store.load(&keys).await.unwrap();
            let scan = store.scan(&ids[0], hours(), Order::Ascending);
            scan.try_collect::<Vec<_>>().await.unwrap();
        }
    };
    tokio::select! {
        () = change => {}
        () = reading => {}
    }
}

#[tokio::test]
async fn the_first_reads_of_a_new_database_are_answered() {
    for _ in 0..20 {
        let database = TestDatabase::new().await;
        let store = MongoStore::connect(&database.uri(), MongoSettings::default()).unwrap();
        let writes = [first(key("A", HOUR), 7, &temps(0..10))];
        let seen = [SensorTold {
            sensor: sensor("A"),
            last_seen: Some(Micros::new(1_777_629_600_000_000).unwrap()),
            attributes: Tags::default(),
            recent: None,
        }];
        let first_writes = async {
            store.write(&writes).await.unwrap();
            store.touch(&seen).await.unwrap();
        };
        read_during(&store, first_writes).await;
        let all = SensorFilter::default();
        let listed = store.find_sensors(&all, None, 10).await.unwrap();
        assert_eq!(listed[0].last_seen, seen[0].last_seen);
        assert_eq!(store.newest(&[sensor("A")]).await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn reads_are_answered_while_indexes_come_and_go() {
    let database = TestDatabase::new().await;
    let store = MongoStore::connect(&database.uri(), MongoSettings::default()).unwrap();
    store
        .write(&[first(key("A", HOUR), 7, &temps(0..10))])
        .await
        .unwrap();
    let collections = database.open().await;
    let changes = async {
        for _ in 0..20 {
            for name in ["buckets", "sensors"] {
                let collection = collections.collection::<Document>(name);
                let index = IndexModel::builder().keys(doc! { "note": 1 }).build();
                collection.create_index(index).await.unwrap();
                collection.drop_index("note_1").await.unwrap();
            }
        }
    };
    read_during(&store, changes).await;
    let told = store.hours(&[sensor("A")], hours()).await.unwrap();
    assert_eq!(told[0].computed.count, 10);
}
