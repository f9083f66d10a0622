//! What the server examines for lists of sensors and sites, and for the changes
//! that go over many documents (I11): the commands that the store sent are
//! explained.

use hourglass::model::{HourRange, HourStart, Micros, SensorDetails, SiteId};
use hourglass::store::mongodb::MongoStore;
use hourglass::store::{
    AttributeFilter, SensorCursor, SensorFilter, SensorHoursRange, SitePut, Store, StoredSensor,
};
use mongodb::Database;

use super::builders::{
    Commands, HOUR, first, key, letters, put, record, sensor, site, temps, told, written,
};
use super::explained::{Examined, explain};
use crate::support::mongod::TestDatabase;

const ATTRIBUTES: &str = "attrs.k_1_attrs.v_1__id_1";
const SITE: &str = "site.id_1__id_1";
const SEEN: &str = "lastSeen_1__id_1";
const HOURS: &str = "sensorId_1_hour_1_part_1_rev_1_by_1_count_1_computed_1";

/// 1,000 sensors: ten sites of 100; `fw` has ten numbers, `room` 50 texts; all
/// were heard of in one of two moments.
const SENSORS: usize = 1000;

struct Fleet {
    store: MongoStore,
    commands: Commands,
    server: Database,
    _database: TestDatabase,
}

impl Fleet {
    async fn new() -> Self {
        let database = TestDatabase::new().await;
        let commands = Commands::default();
        let store = commands.store(&database.uri());
        let (mut heard, mut puts) = (Vec::new(), Vec::new());
        for n in 0..SENSORS {
            let id = format!("S{n:04}");
            let (fw, room) = (format!("2.{}", n % 10), format!("{}b", n % 50));
            let tags = [("fw", fw.as_str()), ("room", room.as_str())];
            heard.push(told(&id, if n < 900 { 1000 } else { 2000 }, &tags));
            let details = SensorDetails {
                site: Some(site(&format!("site{}", n / 100), "x").copy(1)),
                ..SensorDetails::default()
            };
            puts.push(put(&id, details));
        }
        let stored = "s".repeat(SENSORS);
        assert_eq!(letters(&store.touch(&heard).await.unwrap()), stored);
        assert_eq!(letters(&store.put_sensors(&puts).await.unwrap()), stored);
        commands.take();
        let server = database.open().await;
        Self {
            store,
            commands,
            server,
            _database: database,
        }
    }

    /// A page, and what the one command for it examined.
    async fn page(
        &self,
        filter: &SensorFilter,
        after: Option<&SensorCursor>,
        limit: usize,
    ) -> (Vec<StoredSensor>, Examined) {
        let page = self.store.find_sensors(filter, after, limit).await.unwrap();
        (page, self.explained().await)
    }

    /// What the one command since the last call examined. None walks over a
    /// collection.
    async fn explained(&self) -> Examined {
        let sent = self.commands.take();
        assert_eq!(sent.len(), 1);
        let examined = explain(&self.server, &sent[0]).await;
        assert!(!examined.has("COLLSCAN"), "{:?}", examined.stages);
        examined
    }
}

fn at_site(id: &str) -> SensorFilter {
    SensorFilter {
        site: Some(SiteId::new(id).unwrap()),
        ..SensorFilter::default()
    }
}

fn with(attributes: &[AttributeFilter]) -> SensorFilter {
    SensorFilter {
        attributes: attributes.to_vec(),
        ..SensorFilter::default()
    }
}

fn equals(key: &str, text: &str) -> AttributeFilter {
    AttributeFilter::Equals {
        key: key.into(),
        text: text.into(),
    }
}

fn prefix(key: &str, prefix: &str) -> AttributeFilter {
    AttributeFilter::Prefix {
        key: key.into(),
        prefix: prefix.into(),
    }
}

fn between(min: f64, max: f64) -> AttributeFilter {
    AttributeFilter::Between {
        key: "fw".into(),
        min: Some(min),
        max: Some(max),
    }
}

fn silent() -> SensorFilter {
    SensorFilter {
        silent_since: Some(Micros::new(1_500_000).unwrap()),
        ..SensorFilter::default()
    }
}

fn behind(page: &[StoredSensor], is_silent: bool) -> SensorCursor {
    let last = page.last().unwrap();
    SensorCursor {
        id: last.id.clone(),
        last_seen: last.last_seen.filter(|_| is_silent),
    }
}

/// Every list whose index has its order reads a page of it and no more, on the
/// first page and on the next.
#[tokio::test]
async fn a_page_in_the_order_of_its_index_examines_that_page_alone() {
    let fleet = Fleet::new().await;
    for (filter, index) in [
        (SensorFilter::default(), "_id_"),
        (at_site("site3"), SITE),
        (with(&[equals("room", "7b")]), ATTRIBUTES),
        (with(&[equals("fw", "2.7")]), ATTRIBUTES),
        (silent(), SEEN),
    ] {
        let (page, examined) = fleet.page(&filter, None, 8).await;
        let cursor = behind(&page, filter.silent_since.is_some());
        let (next, further) = fleet.page(&filter, Some(&cursor), 8).await;
        assert!(next[0].id > page[7].id);
        for examined in [examined, further] {
            assert!(!examined.has("SORT"), "{filter:?}");
            assert_eq!(examined.indexes, [index.to_owned()].into(), "{filter:?}");
            assert_eq!(examined.documents, 8, "{filter:?}");
            assert!((8..=10).contains(&examined.keys), "{} keys", examined.keys);
        }
    }
}

/// All sensors of one body have one time of receipt: a page among them begins
/// where it belongs.
#[tokio::test]
async fn a_page_of_silent_sensors_does_not_walk_over_those_before_it() {
    let fleet = Fleet::new().await;
    let cursor = SensorCursor {
        id: sensor("S0894"),
        last_seen: Some(Micros::new(1_000_000).unwrap()),
    };
    let (page, examined) = fleet.page(&silent(), Some(&cursor), 3).await;
    assert_eq!(page[0].id, sensor("S0895"));
    assert!(examined.keys <= 5, "{} keys", examined.keys);
    assert_eq!(examined.documents, 3);
    assert!(!examined.has("SORT"));

    // From one moment into the next, and with a further condition.
    let later = Micros::new(2_500_000).unwrap();
    let filter = SensorFilter {
        silent_since: Some(later),
        ..SensorFilter::default()
    };
    let (page, examined) = fleet.page(&filter, Some(&cursor), 20).await;
    assert_eq!(page[4].id, sensor("S0899"));
    assert_eq!(page[19].id, sensor("S0914"));
    assert!(examined.keys <= 23, "{} keys", examined.keys);
    let filter = SensorFilter {
        attributes: vec![equals("fw", "2.7")],
        ..filter
    };
    let (page, examined) = fleet.page(&filter, Some(&cursor), 20).await;
    assert_eq!(page[0].id, sensor("S0897"));
    assert!(examined.keys <= 110, "{} keys", examined.keys);
    assert!(!examined.has("SORT"));
    assert_eq!(examined.indexes, [SEEN.to_owned()].into());
}

/// Both bounds hold of one element, so the index is read within them.
#[tokio::test]
async fn ranges_of_attributes_examine_what_is_in_them() {
    let fleet = Fleet::new().await;
    for (condition, found) in [
        (prefix("room", "7"), 20),
        (prefix("room", "49"), 20),
        (prefix("fw", "2.7"), 100),
        (between(2.65, 2.85), 200),
        (between(2.7, 2.7), 100),
        (between(5.0, 9.0), 0),
    ] {
        let (page, examined) = fleet
            .page(&with(std::slice::from_ref(&condition)), None, 500)
            .await;
        assert_eq!(page.len(), found, "{condition:?}");
        assert_eq!(examined.indexes, [ATTRIBUTES.to_owned()].into());
        assert_eq!(examined.documents, found as i64, "{condition:?}");
        let keys = found as i64 + 2;
        assert!(examined.keys <= keys, "{} keys", examined.keys);
    }
}

/// The server takes the index that leaves the least. Only where that is a range
/// of an attribute the few that it leaves are sorted.
#[tokio::test]
async fn several_conditions_are_answered_from_the_index_that_leaves_the_least() {
    let fleet = Fleet::new().await;
    let site = at_site("site3");
    let (room, fw) = (equals("room", "7b"), equals("fw", "2.7"));
    for (attributes, found, documents) in [
        (vec![room.clone()], 2, 20),
        (vec![room.clone(), fw.clone()], 2, 20),
        (vec![fw.clone(), between(0.0, 9.0)], 10, 100),
        (vec![between(0.0, 9.0), prefix("room", "7")], 2, 20),
    ] {
        let is_range = attributes.len() == 2 && attributes[1] == prefix("room", "7");
        let filter = SensorFilter {
            attributes,
            ..site.clone()
        };
        let (page, examined) = fleet.page(&filter, None, 100).await;
        assert_eq!(page.len(), found, "{filter:?}");
        assert!(is_range || !examined.has("SORT"), "{filter:?}");
        assert!(examined.documents <= documents, "{}", examined.documents);
    }
    let both = with(&[fw, room]);
    let (page, examined) = fleet.page(&both, None, 100).await;
    assert_eq!(page.len(), 20);
    assert_eq!(examined.documents, 20);
    assert!(!examined.has("SORT"));
}

#[tokio::test]
async fn records_by_id_and_counts_examine_what_they_answer() {
    let fleet = Fleet::new().await;
    let some = ["S0001", "S0500", "none"].map(sensor);
    assert_eq!(fleet.store.sensors(&some).await.unwrap().len(), 2);
    let examined = fleet.explained().await;
    assert_eq!(examined.documents, 2);
    assert!(!examined.has("SORT"));

    let since = silent().silent_since.unwrap();
    assert_eq!(fleet.store.count_silent(since, None).await.unwrap(), 900);
    let examined = fleet.explained().await;
    assert_eq!(examined.indexes, [SEEN.to_owned()].into());
    assert_eq!(examined.documents, 0);
    let count = fleet.store.count_silent(since, Some(&some)).await.unwrap();
    assert_eq!(count, 2);
    assert_eq!(fleet.explained().await.documents, 2);

    let put = |id: &str| SitePut {
        site: site(id, "x"),
        expect: None,
        target: record(1, 1),
        rewrite_copies: false,
    };
    for n in 0..20 {
        fleet
            .store
            .put_site(&put(&format!("{n:02}")))
            .await
            .unwrap();
    }
    fleet.commands.take();
    let id = |id: &str| SiteId::new(id).unwrap();
    for (after, documents) in [(None, 5), (Some(id("04")), 5), (Some(id("17")), 2)] {
        let page = fleet.store.sites(after.as_ref(), 5).await.unwrap();
        assert_eq!(page.len(), documents);
        let examined = fleet.explained().await;
        assert_eq!(examined.documents, documents as i64);
        assert!(!examined.has("SORT"));
    }
    assert!(fleet.store.site(&id("07")).await.unwrap().is_some());
    assert_eq!(fleet.explained().await.documents, 1);
}

#[tokio::test]
async fn rewriting_copies_examines_its_batch_alone() {
    let fleet = Fleet::new().await;
    let second = SitePut {
        site: site("site3", "new"),
        expect: None,
        target: record(2, 1),
        rewrite_copies: true,
    };
    fleet.store.put_site(&second).await.unwrap();
    let id = SiteId::new("site3").unwrap();
    for done in [30, 60] {
        fleet.commands.take();
        let progress = fleet.store.rewrite_copies(&id, 30).await.unwrap();
        assert_eq!(progress.map(|progress| progress.done), Some(done));
        let sent = fleet.commands.take();
        // The site, its next sensors, their copies, the progress.
        assert_eq!(sent.len(), 4);
        let members = explain(&fleet.server, &sent[1]).await;
        assert_eq!(members.indexes, [SITE.to_owned()].into());
        assert_eq!((members.keys, members.documents), (30, 30));
        assert!(!members.has("SORT"));
        let rewritten = explain(&fleet.server, &sent[2]).await;
        assert!(!rewritten.has("COLLSCAN"));
        assert!(rewritten.documents <= 100, "{}", rewritten.documents);
        let noted = explain(&fleet.server, &sent[3]).await;
        assert_eq!(noted.documents, 1);
    }
}

#[tokio::test]
async fn dropped_hours_are_found_in_the_index() {
    let database = TestDatabase::new().await;
    let commands = Commands::default();
    let store = commands.store(&database.uri());
    let writes: Vec<_> = (0..200)
        .flat_map(|hour| ["R", "S", "T"].map(|id| first(key(id, HOUR + hour), 7, &temps(0..2))))
        .collect();
    assert_eq!(written(&store, &writes).await, "s".repeat(600));
    commands.take();
    let server = database.open().await;

    let sensors = ["R", "S", "T", "none"].map(sensor);
    let oldest = store.oldest_hours(&sensors).await.unwrap();
    assert_eq!(oldest.len(), 3);
    assert!(oldest.iter().all(|(_, hour)| hour.hours() == HOUR));
    let examined = explain(&server, &commands.take()[0]).await;
    assert_eq!(examined.documents, 0);
    assert!(examined.keys <= 8, "{} keys", examined.keys);

    let range = |from: i32, to: i32| SensorHoursRange {
        sensor: sensor("S"),
        hours: HourRange {
            from: HourStart::from_hours(HOUR + from),
            to: HourStart::from_hours(HOUR + to),
        },
    };
    // Explained afterwards: the documents are gone, the way to them is the same.
    assert_eq!(store.drop_hours(&[range(0, 50)]).await.unwrap(), 50);
    let examined = explain(&server, &commands.take()[0]).await;
    assert_eq!(examined.indexes, [HOURS.to_owned()].into());
    assert!(!examined.has("COLLSCAN"));
    assert_eq!((examined.keys, examined.documents), (0, 0));

    let dropped = store.drop_readings(&[range(50, 80)], 9).await.unwrap();
    assert_eq!(dropped, 30);
    let examined = explain(&server, &commands.take()[0]).await;
    assert_eq!(examined.indexes, [HOURS.to_owned()].into());
    assert_eq!(examined.documents, 30);
    assert!(!examined.has("COLLSCAN"));
}
