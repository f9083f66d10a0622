//! What the server examines for the reads of the store (I11): the commands that
//! the store sent are explained.

use futures_util::StreamExt;
use hourglass::model::{HourRange, HourStart, Order};
use hourglass::store::Store;
use mongodb::bson::Document;

use super::builders::{Commands, HOUR, first, key, sensor, temps, written};
use super::explained::explain;
use crate::support::mongod::TestDatabase;

const MONTH_HOURS: i32 = 720;

fn month(from: i32) -> HourRange {
    HourRange {
        from: HourStart::from_hours(from),
        to: HourStart::from_hours(from + MONTH_HOURS),
    }
}

#[tokio::test]
async fn thirty_days_of_hours_examine_720_keys_and_no_document() {
    let database = TestDatabase::new().await;
    let commands = Commands::default();
    let store = commands.store(&database.uri());
    let merge = temps(0..30);
    let writes: Vec<_> = (-24..MONTH_HOURS + 24)
        .flat_map(|hour| ["R", "S", "T"].map(|id| first(key(id, HOUR + hour), 7, &merge)))
        .collect();
    assert_eq!(written(&store, &writes).await, "s".repeat(writes.len()));
    commands.take();

    let hours = store.hours(&[sensor("S")], month(HOUR)).await.unwrap();
    assert_eq!(hours.len(), 720);
    assert!(hours.iter().all(|hour| hour.computed.count == 30));
    let sent = commands.take();
    assert_eq!(sent.len(), 1);
    let examined = explain(&database.open().await, &sent[0]).await;
    assert_eq!(examined.documents, 0);
    assert!(
        (720..=721).contains(&examined.keys),
        "{} keys",
        examined.keys
    );
    assert!(!examined.has("SORT") && !examined.has("FETCH"));

    // Three sensors: as many keys, and one seek each between the ranges.
    let all = ["R", "S", "T"].map(sensor);
    assert_eq!(store.hours(&all, month(HOUR)).await.unwrap().len(), 2160);
    let examined = explain(&database.open().await, &commands.take()[0]).await;
    assert_eq!(examined.documents, 0);
    assert!(
        (2160..=2166).contains(&examined.keys),
        "{} keys",
        examined.keys
    );

    // Ranges of readings come in order from the index: nothing is sorted.
    for order in [Order::Ascending, Order::Descending] {
        let scanned: Vec<_> = store.scan(&sensor("S"), month(HOUR), order).collect().await;
        assert_eq!(scanned.len(), 720);
        let examined = explain(&database.open().await, &commands.take()[0]).await;
        assert_eq!(examined.documents, 720);
        assert!(!examined.has("SORT"));
    }

    let all_buckets: Vec<_> = store.all().collect().await;
    assert_eq!(all_buckets.len(), writes.len());
    let examined = explain(&database.open().await, &commands.take()[0]).await;
    assert!(!examined.has("SORT"));

    // The newest hour of a sensor is a step into the index, not a walk.
    let newest = store.newest(&all).await.unwrap();
    assert_eq!(newest.len(), 3);
    let sent = commands.take();
    let examined = explain(&database.open().await, &sent[0]).await;
    assert_eq!(examined.documents, 0);
    assert!(
        examined.keys <= 6,
        "{} keys, {:?}",
        examined.keys,
        examined.stages
    );
    let examined = explain(&database.open().await, &sent[1]).await;
    assert_eq!(examined.documents, 3);
}

#[tokio::test]
async fn the_buckets_have_no_index_but_those_with_a_query() {
    let database = TestDatabase::new().await;
    let store = super::builders::store(&database.uri());
    store.ping().await.unwrap();
    // A second process, and a second start, add none.
    super::builders::store(&database.uri())
        .ping()
        .await
        .unwrap();
    let buckets = database.open().await.collection::<Document>("buckets");
    let mut names = buckets.list_index_names().await.unwrap();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "_id_",
            "sensorId_1_hour_1_part_1_rev_1_by_1_count_1_computed_1"
        ]
    );
}
