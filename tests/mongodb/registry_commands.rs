//! How many commands the calls of the registry, of edits and of drops send (I11).

use hourglass::bucket::{Computed, Elements};
use hourglass::model::{HourRange, HourStart, Micros, RecentReading, SensorDetails, SiteId, Tags};
use hourglass::store::{
    AttributeFilter, BucketEdit, PartChange, PartEdit, RecentWrite, RecordVersion, SensorFilter,
    SensorHoursRange, SensorTold, SitePut, Store, WriteOutcome,
};
use mongodb::bson::doc;

use super::builders::{
    Commands, HOUR, contents, first, key, letters, measure, put, record, sensor, site, temps, told,
    version, written,
};
use crate::support::mongod::TestDatabase;

/// A sensor with its newest reading.
fn with_recent(id: &str, expect: Option<RecordVersion>, by: i64) -> SensorTold {
    let reading = RecentReading {
        at: Micros::new(by).unwrap(),
        values: vec![(measure("temp"), 24.1)],
    };
    SensorTold {
        recent: Some(RecentWrite {
            expect,
            target: record(expect.map_or(1, |version| version.rev + 1), by),
            readings: vec![reading],
        }),
        ..told(id, by, &[("room", "4b")])
    }
}

#[tokio::test]
async fn what_is_told_of_many_sensors_is_one_command() {
    let database = TestDatabase::new().await;
    let commands = Commands::default();
    let store = commands.store(&database.uri());
    store.ping().await.unwrap();
    commands.take();

    // First ones, later ones, with tags and without, with recent readings and
    // without.
    let mut round: Vec<_> = (0..40)
        .map(|n| with_recent(&format!("S{n:02}"), None, 5))
        .collect();
    round.extend((40..50).map(|n| told(&format!("S{n:02}"), 5, &[])));
    assert_eq!(letters(&store.touch(&round).await.unwrap()), "s".repeat(50));
    assert_eq!(commands.names(), ["update"]);
    let mut round: Vec<_> = (0..40)
        .map(|n| with_recent(&format!("S{n:02}"), Some(record(1, 5)), 6))
        .collect();
    round[0].attributes = Tags::default();
    round.extend((40..60).map(|n| with_recent(&format!("S{n:02}"), None, 6)));
    assert_eq!(letters(&store.touch(&round).await.unwrap()), "s".repeat(60));
    assert_eq!(commands.names(), ["update"]);

    // Lost fences are told apart by one find; a first write that meets the
    // record, too.
    let round = [
        with_recent("S00", Some(record(2, 6)), 7),
        with_recent("S01", Some(record(1, 5)), 7),
        with_recent("S02", None, 7),
        with_recent("S03", Some(record(1, 5)), 6),
        told("S04", 9, &[("fw", "1")]),
        with_recent("none", Some(record(1, 5)), 7),
    ];
    assert_eq!(letters(&store.touch(&round).await.unwrap()), "sffssf");
    assert_eq!(commands.names(), ["update", "find"]);
}

/// E11000 of a record that somebody else makes at this moment is no lost fence.
#[tokio::test]
async fn what_is_told_first_by_two_goes_in_from_both() {
    let database = TestDatabase::new().await;
    let ours = super::builders::store(&database.uri());
    let theirs = super::builders::store(&database.uri());
    for n in 0..30 {
        let id = format!("S{n}");
        let heard = [told(&id, 1, &[("a", "1")])];
        let with_recent = [with_recent(&id, None, 2)];
        let puts = [put(&id, SensorDetails::default())];
        let (heard, with_recent, puts) = tokio::join!(
            ours.touch(&heard),
            theirs.touch(&with_recent),
            theirs.put_sensors(&puts),
        );
        for outcomes in [heard, with_recent, puts] {
            assert_eq!(letters(&outcomes.unwrap()), "s");
        }
        let stored = ours.sensors(&[sensor(&id)]).await.unwrap().remove(0);
        assert_eq!(stored.attributes, Tags::new([("a", "1"), ("room", "4b")]));
        assert_eq!(stored.recent.version, Some(record(1, 2)));
        assert_eq!(stored.version, Some(record(1, 7)));
        assert_eq!(stored.last_seen, Some(Micros::new(2000).unwrap()));
    }
}

#[tokio::test]
async fn puts_of_many_sensors_are_one_command() {
    let database = TestDatabase::new().await;
    let commands = Commands::default();
    let store = commands.store(&database.uri());
    store.ping().await.unwrap();
    commands.take();
    let puts: Vec<_> = (0..50)
        .map(|n| put(&format!("S{n:02}"), SensorDetails::default()))
        .collect();
    let outcomes = store.put_sensors(&puts).await.unwrap();
    assert_eq!(letters(&outcomes), "s".repeat(50));
    assert_eq!(commands.names(), ["update"]);
    // Again, as if the reply had been lost: they are in.
    let outcomes = store.put_sensors(&puts).await.unwrap();
    assert_eq!(letters(&outcomes), "s".repeat(50));
    assert_eq!(commands.names(), ["update", "find"]);

    let ids: Vec<_> = puts.iter().map(|put| put.id.clone()).collect();
    assert_eq!(store.sensors(&ids).await.unwrap().len(), 50);
    assert_eq!(commands.names(), ["find"]);
    let filter = SensorFilter {
        site: Some(SiteId::new("s").unwrap()),
        attributes: vec![AttributeFilter::Prefix {
            key: "fw".into(),
            prefix: "2.".into(),
        }],
        silent_since: Some(Micros::MAX),
    };
    assert!(
        store
            .find_sensors(&filter, None, 9)
            .await
            .unwrap()
            .is_empty()
    );
    assert_eq!(commands.names(), ["find"]);
    assert_eq!(store.count_silent(Micros::MAX, None).await.unwrap(), 0);
    let among = Some(&ids[..]);
    assert_eq!(store.count_silent(Micros::MAX, among).await.unwrap(), 0);
    assert_eq!(commands.names(), ["count", "count"]);
}

#[tokio::test]
async fn a_site_is_one_command_and_a_batch_of_its_copies_four() {
    let database = TestDatabase::new().await;
    let commands = Commands::default();
    let store = commands.store(&database.uri());
    let details = SensorDetails {
        site: Some(site("s", "old").copy(0)),
        ..SensorDetails::default()
    };
    let puts = ["A", "B", "C"].map(|id| put(id, details.clone()));
    store.put_sensors(&puts).await.unwrap();
    commands.take();

    let id = SiteId::new("s").unwrap();
    let put = SitePut {
        site: site("s", "new"),
        expect: None,
        target: record(1, 7),
        rewrite_copies: true,
    };
    let outcome = store.put_site(&put).await.unwrap();
    assert!(matches!(outcome, WriteOutcome::Stored));
    assert_eq!(commands.names(), ["update"]);
    assert!(store.site(&id).await.unwrap().is_some());
    assert_eq!(store.sites(None, 9).await.unwrap().len(), 1);
    assert_eq!(commands.names(), ["find", "find"]);

    assert!(store.rewrite_copies(&id, 2).await.unwrap().is_some());
    assert_eq!(commands.names(), ["find", "find", "update", "update"]);
    // A crash before the progress was noted: nothing is written twice.
    let sites = database
        .open()
        .await
        .collection::<mongodb::bson::Document>("sites");
    let back = doc! { "$set": { "copies": { "done": 0_i64 } } };
    sites.update_one(doc! { "_id": "s" }, back).await.unwrap();
    let progress = store.rewrite_copies(&id, 2).await.unwrap().unwrap();
    assert_eq!((progress.after, progress.done), (Some(sensor("B")), 0));
    assert_eq!(commands.names(), ["find", "find", "update"]);
    assert_eq!(store.rewrite_copies(&id, 2).await.unwrap(), None);
    assert_eq!(commands.names(), ["find", "find", "update", "update"]);
    assert_eq!(store.rewrite_copies(&id, 2).await.unwrap(), None);
    assert_eq!(commands.names(), ["find"]);
}

#[tokio::test]
async fn an_edit_costs_two_commands_a_part_and_a_removal_one() {
    let database = TestDatabase::new().await;
    let commands = Commands::default();
    let store = commands.store(&database.uri());
    let created = ["A", "B"].map(|id| first(key(id, HOUR), 7, &temps(0..10)));
    assert_eq!(written(&store, &created).await, "ss");
    commands.take();

    let edit = |id: &str, rev: i64, change: PartChange| BucketEdit {
        key: key(id, HOUR),
        parts: vec![PartEdit {
            expected: version(0, rev, 7),
            change,
        }],
    };
    let (elements, computed) = contents(&temps(0..4));
    let target = version(0, 2, 8);
    let fewer = PartChange::Replace {
        target,
        elements,
        computed,
    };
    let nothing = PartChange::Replace {
        target,
        elements: Elements::default(),
        computed: Computed::default(),
    };
    for (edit, expected, names) in [
        (edit("A", 9, fewer.clone()), "f", vec!["find", "update"]),
        (edit("A", 1, fewer), "s", vec!["find", "update"]),
        (edit("B", 1, nothing), "s", vec!["find", "update"]),
        (edit("A", 1, PartChange::Remove), "f", vec!["delete"]),
        (edit("none", 1, PartChange::Remove), "f", vec!["delete"]),
    ] {
        let outcome = store.edit(&edit).await.unwrap();
        assert_eq!(letters(&[outcome]), expected);
        assert_eq!(commands.names(), names);
    }
    let removal = BucketEdit {
        key: key("A", HOUR),
        parts: vec![PartEdit {
            expected: version(0, 2, 8),
            change: PartChange::Remove,
        }],
    };
    assert_eq!(letters(&[store.edit(&removal).await.unwrap()]), "s");
    assert_eq!(commands.names(), ["delete"]);
    assert_eq!(store.load(&[key("A", HOUR)]).await.unwrap(), [None]);
}

#[tokio::test]
async fn hours_of_many_sensors_are_dropped_by_one_command() {
    let database = TestDatabase::new().await;
    let commands = Commands::default();
    let store = commands.store(&database.uri());
    let ids = ["A", "B", "C"];
    let writes: Vec<_> = (0..6)
        .flat_map(|hour| ids.map(|id| first(key(id, HOUR + hour), 7, &temps(0..2))))
        .collect();
    assert_eq!(written(&store, &writes).await, "s".repeat(18));
    commands.take();
    let ranges = |from: i32, to: i32| {
        ids.map(|id| SensorHoursRange {
            sensor: sensor(id),
            hours: HourRange {
                from: HourStart::from_hours(HOUR + from),
                to: HourStart::from_hours(HOUR + to),
            },
        })
    };
    assert_eq!(store.oldest_hours(&ids.map(sensor)).await.unwrap().len(), 3);
    assert_eq!(commands.names(), ["aggregate"]);
    assert_eq!(store.drop_hours(&ranges(0, 2)).await.unwrap(), 6);
    assert_eq!(commands.names(), ["delete"]);
    // Buckets, then the marks in the sensors; again, nothing changes.
    assert_eq!(store.drop_readings(&ranges(0, 5), 9).await.unwrap(), 9);
    assert_eq!(commands.names(), ["update", "update"]);
    assert_eq!(store.drop_readings(&ranges(0, 5), 10).await.unwrap(), 0);
    let loaded = store.load(&[key("A", HOUR + 4)]).await.unwrap();
    let part = &loaded[0].as_ref().unwrap().parts[0];
    assert_eq!(part.version, version(0, 2, 9));
    assert!(part.raw_dropped && part.elements.is_empty());
    assert!(part.stray_fields.is_empty());
}
