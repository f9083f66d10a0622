//! How many commands a call sends (I11).

use hourglass::model::{HourRange, Tags};
use hourglass::store::{Expect, SensorCursor, SensorFilter, SensorTold, Store};

use super::builders::{Commands, HOUR, first, key, next, sensor, temps, version, written};
use crate::support::mongod::TestDatabase;

#[tokio::test]
async fn a_write_of_many_buckets_is_one_command() {
    let database = TestDatabase::new().await;
    let commands = Commands::default();
    let store = commands.store(&database.uri());
    store.ping().await.unwrap();
    commands.take();

    let creates: Vec<_> = (0..50)
        .map(|n| first(key(&format!("S{n}"), HOUR), 7, &temps(0..60)))
        .collect();
    assert_eq!(written(&store, &creates).await, "s".repeat(50));
    assert_eq!(commands.names(), ["update"]);

    // Appends and creates share a command.
    let mut mixed: Vec<_> = (0..50)
        .map(|n| next(key(&format!("S{n}"), HOUR), version(0, 1, 7), 8, 60..90))
        .collect();
    mixed.push(first(key("S1", HOUR + 1), 9, &temps(0..5)));
    assert_eq!(written(&store, &mixed).await, "s".repeat(51));
    assert_eq!(commands.names(), ["update"]);
}

#[tokio::test]
async fn a_lost_fence_costs_one_find_and_says_which_write_lost() {
    let database = TestDatabase::new().await;
    let commands = Commands::default();
    let store = commands.store(&database.uri());
    let created = ["A", "B", "C"].map(|id| first(key(id, HOUR), 7, &temps(0..10)));
    assert_eq!(written(&store, &created).await, "sss");
    commands.take();

    let writes = [
        next(key("A", HOUR), version(0, 1, 7), 8, 10..20),
        next(key("B", HOUR), version(0, 1, 6), 8, 10..20),
        next(key("C", HOUR), version(0, 1, 7), 8, 10..20),
        next(key("gone", HOUR), version(0, 4, 7), 8, 10..20),
    ];
    assert_eq!(written(&store, &writes).await, "sfsf");
    assert_eq!(commands.names(), ["update", "find"]);
    // Where all lost, the count alone says so.
    let stale = [next(key("A", HOUR), version(0, 1, 7), 9, 10..20)];
    assert_eq!(written(&store, &stale).await, "f");
    assert_eq!(commands.names(), ["update"]);
    // A fence that expects a part never makes one.
    let loaded = store.load(&[key("gone", HOUR)]).await.unwrap();
    assert_eq!(loaded, [None]);
}

/// E11000 stays inside: it is a lost fence, known from the reply.
#[tokio::test]
async fn a_bucket_that_is_there_already_fences_its_first_write_only() {
    let database = TestDatabase::new().await;
    let commands = Commands::default();
    let store = commands.store(&database.uri());
    let there = first(key("A", HOUR), 7, &temps(0..10));
    assert_eq!(written(&store, std::slice::from_ref(&there)).await, "s");
    commands.take();

    let writes = [there, first(key("B", HOUR), 7, &temps(0..10))];
    assert_eq!(written(&store, &writes).await, "fs");
    assert_eq!(commands.names(), ["update"]);
}

#[tokio::test]
async fn a_next_part_costs_one_command_more_for_all_closings() {
    let database = TestDatabase::new().await;
    let commands = Commands::default();
    let store = commands.store(&database.uri());
    let created = ["A", "B", "C"].map(|id| first(key(id, HOUR), 7, &temps(0..10)));
    assert_eq!(written(&store, &created).await, "sss");
    commands.take();

    let next_part = |id: &str, last_by: i64, closing: i64| {
        let mut write = first(key(id, HOUR), 9, &temps(10..20));
        write.expect = Expect::Next {
            last: version(0, 1, last_by),
            closing: Some(version(0, 2, closing)),
        };
        write.target = version(1, 1, 9);
        write
    };
    let writes = [
        next_part("A", 7, 8),
        next_part("B", 6, 8),
        first(key("D", HOUR), 7, &temps(0..10)),
    ];
    assert_eq!(written(&store, &writes).await, "sfs");
    assert_eq!(commands.names(), ["update", "find", "update"]);

    let loaded = store.load(&[key("A", HOUR), key("B", HOUR)]).await.unwrap();
    let (a, b) = (loaded[0].as_ref().unwrap(), loaded[1].as_ref().unwrap());
    assert_eq!((a.parts.len(), b.parts.len()), (2, 1));
    assert!(a.parts[0].full && !a.parts[1].full);
    assert_eq!(a.parts[0].version, version(0, 2, 8));
    assert_eq!(a.version(), version(1, 1, 9));
    assert!(!b.parts[0].full);
}

#[tokio::test]
async fn reads_of_many_sensors_are_one_round_trip() {
    let database = TestDatabase::new().await;
    let commands = Commands::default();
    let store = commands.store(&database.uri());
    let sensors: Vec<_> = (0..200).map(|n| sensor(&format!("S{n:03}"))).collect();
    let writes: Vec<_> = sensors
        .iter()
        .flat_map(|s| [HOUR, HOUR + 1].map(|hour| first(key(s.as_str(), hour), 7, &temps(0..60))))
        .collect();
    assert_eq!(written(&store, &writes).await, "s".repeat(400));
    commands.take();

    let keys: Vec<_> = writes.iter().map(|write| write.key.clone()).collect();
    let loaded = store.load(&keys).await.unwrap();
    assert!(
        loaded
            .iter()
            .zip(&keys)
            .all(|(l, k)| l.as_ref().is_some_and(|l| l.key == *k))
    );
    assert_eq!(commands.names(), ["find"]);

    let hours = HourRange {
        from: key("x", HOUR).hour,
        to: key("x", HOUR + 2).hour,
    };
    assert_eq!(store.hours(&sensors, hours).await.unwrap().len(), 400);
    assert_eq!(commands.names(), ["find"]);

    let newest = store.newest(&sensors).await.unwrap();
    assert_eq!(newest.len(), 200);
    assert!(
        newest
            .iter()
            .all(|bucket| bucket.key.hour.hours() == HOUR + 1)
    );
    assert_eq!(commands.names(), ["aggregate", "find"]);

    let seen: Vec<_> = sensors
        .iter()
        .map(|sensor| SensorTold {
            sensor: sensor.clone(),
            last_seen: Some(key("x", HOUR).hour.at(1_234_567)),
            attributes: Tags::new([("room", "4b")]),
            recent: None,
        })
        .collect();
    store.touch(&seen).await.unwrap();
    assert_eq!(commands.names(), ["update"]);
    let after = SensorCursor {
        id: sensors[9].clone(),
        last_seen: None,
    };
    let all = SensorFilter::default();
    let listed = store.find_sensors(&all, Some(&after), 5).await.unwrap();
    assert_eq!(listed[0].id, sensors[10]);
    let cut = key("x", HOUR).hour.at(1_234_000);
    assert_eq!(listed[0].last_seen, Some(cut));
    assert_eq!(listed.len(), 5);
    assert_eq!(commands.names(), ["find"]);
}

#[tokio::test]
async fn what_no_single_command_holds_goes_in_several() {
    let database = TestDatabase::new().await;
    let commands = Commands::default();
    let store = commands.store(&database.uri());
    let hour = temps(0..3600);
    let writes: Vec<_> = (0..150)
        .map(|n| first(key(&format!("S{n}"), HOUR), 7, &hour))
        .collect();
    store.ping().await.unwrap();
    commands.take();
    assert_eq!(written(&store, &writes).await, "s".repeat(150));
    // 150 documents of 120 KB are 18 MB; a command ends at 15.5 MiB.
    assert_eq!(commands.names(), ["update", "update"]);
    let loaded = store.load(&[key("S149", HOUR)]).await.unwrap();
    let bucket = loaded[0].as_ref().unwrap();
    assert_eq!(&bucket.parts[0].elements, hour.elements());
}
