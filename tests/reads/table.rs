//! The table of reads: printed, held against `docs/patterns.md` line by line, and
//! against what must be true of it.

use std::fmt;

use futures_util::TryStreamExt;
use hourglass::model::{HourRange, HourStart, Micros, Order};
use hourglass::store::mongodb::{MongoSettings, MongoStore};
use hourglass::store::{AttributeFilter, SensorFilter, Store};
use mongodb::Database;

use super::fleet::{FIRST_HOUR, MONTH_HOURS, fill, month, sensor, sensors, site};
use super::profile::{Reads, profiled};
use super::without;
use crate::support::mongod::TestDatabase;

/// An action, what it costs, and what it would without its pattern.
struct Row {
    action: &'static str,
    with: Reads,
    pattern: &'static str,
    instead: &'static str,
    without: Reads,
}

/// As the document shows it.
impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "| {} | {} | {} | {} | {} |",
            self.action, self.with, self.pattern, self.instead, self.without
        )
    }
}

/// The same question to both designs, which must give as many answers.
struct Asked<'a> {
    database: &'a Database,
    rows: Vec<Row>,
}

impl Asked<'_> {
    async fn ask(
        &mut self,
        (action, pattern, instead): (&'static str, &'static str, &'static str),
        with: impl Future<Output = usize>,
        without: impl Future<Output = usize>,
    ) {
        let (answers, with) = profiled(self.database, with).await;
        let (same_answers, without) = profiled(self.database, without).await;
        assert_eq!(answers, same_answers, "{action}");
        assert!(!with.is_scan(), "{action}: {with:?}");
        self.rows.push(Row {
            action,
            with,
            pattern,
            instead,
            without,
        });
    }
}

fn silent_since() -> Micros {
    // Five of each site were heard of before: those silent for 15 to 19 hours.
    HourStart::from_hours(FIRST_HOUR + MONTH_HOURS - 14).start()
}

fn attribute(key: &str, text: &str) -> AttributeFilter {
    AttributeFilter::Equals {
        key: key.into(),
        text: text.into(),
    }
}

async fn found(store: &MongoStore, filter: SensorFilter) -> usize {
    store.find_sensors(&filter, None, 1000).await.unwrap().len()
}

async fn day_of_a_site(store: &MongoStore) -> usize {
    let end = FIRST_HOUR + MONTH_HOURS;
    let filter = SensorFilter {
        site: Some(site(0)),
        ..SensorFilter::default()
    };
    let found = store.find_sensors(&filter, None, 1000).await.unwrap();
    let ids: Vec<_> = found.into_iter().map(|stored| stored.id).collect();
    let day = HourRange {
        from: HourStart::from_hours(end - 24),
        to: HourStart::from_hours(end),
    };
    let hours = store.hours(&ids, day).await.unwrap();
    let hours: std::collections::BTreeSet<_> = hours.iter().map(|hour| hour.key.hour).collect();
    hours.len()
}

async fn rows(store: &MongoStore, database: &Database) -> Vec<Row> {
    let mut asked = Asked {
        database,
        rows: Vec::new(),
    };
    asked
        .ask(
            (
                "raw readings of a sensor, 30 days",
                "Bucket",
                "a document a reading",
            ),
            async {
                let scan = store.scan(&sensor(0), month(), Order::Ascending);
                let buckets: Vec<_> = scan.try_collect().await.unwrap();
                let parts = buckets.iter().flat_map(|bucket| &bucket.parts);
                parts.map(|part| part.elements.len()).sum()
            },
            without::month_of_readings(database),
        )
        .await;
    let hours = async || store.hours(&[sensor(0)], month()).await.unwrap().len();
    asked
        .ask(
            (
                "hourly fields of a sensor, 30 days",
                "Computed",
                "a document a reading, added up",
            ),
            hours(),
            without::month_of_hours(database),
        )
        .await;
    asked
        .ask(
            ("the same", "Computed", "buckets, added up"),
            hours(),
            without::month_of_hours_from_buckets(database),
        )
        .await;
    asked
        .ask(
            (
                "a day of a site by hour, 20 sensors",
                "Computed",
                "buckets, added up",
            ),
            day_of_a_site(store),
            without::day_of_a_site(database),
        )
        .await;
    asked
        .ask(
            (
                "60 sensors with name and city of their sites",
                "Extended Reference",
                "`$lookup` of each site",
            ),
            found(store, SensorFilter::default()),
            without::sensors_with_sites(database),
        )
        .await;
    asked
        .ask(
            (
                "the page of a sensor, its newest 20 readings on it",
                "Subset",
                "record and newest bucket",
            ),
            async {
                let stored = store.sensors(&[sensor(0)]).await.unwrap();
                assert_eq!(stored[0].recent.readings.len(), 20);
                // Its record and its readings: two things to show.
                stored.len() + 1
            },
            without::page_of_a_sensor(database),
        )
        .await;
    asked
        .ask(
            ("newest reading of 60 sensors", "Subset", "newest buckets"),
            async { store.sensors(&sensors()).await.unwrap().len() },
            without::latest_of_all(database),
        )
        .await;
    let filter = SensorFilter {
        attributes: vec![attribute("firmware", "2.1"), attribute("room", "1b")],
        ..SensorFilter::default()
    };
    asked
        .ask(
            (
                "sensors by two attributes, 3 of 60",
                "Attribute",
                "a field for each, no index",
            ),
            found(store, filter),
            without::by_two_attributes(database),
        )
        .await;
    asked.rows
}

#[tokio::test]
async fn the_table_of_reads_holds_and_is_what_the_document_says() {
    let test = TestDatabase::new().await;
    let store = MongoStore::connect(&test.uri(), MongoSettings::default()).unwrap();
    fill(&store).await;
    let database = test.open().await;
    without::fill(&database).await;
    let rows = rows(&store, &database).await;
    let document =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/patterns.md"));
    let document = document.unwrap();
    println!("| action | reads | pattern | without it | reads |");
    for row in &rows {
        println!("{row}");
    }
    for row in &rows {
        assert!(row.with.documents <= row.without.documents, "{row}");
        assert!(row.with.round_trips <= row.without.round_trips, "{row}");
        let line = row.to_string();
        assert!(
            document.lines().any(|l| l == line),
            "docs/patterns.md lacks\n{line}"
        );
    }
    // Silence is a question without a bucket in it.
    let filter = SensorFilter {
        silent_since: Some(silent_since()),
        ..SensorFilter::default()
    };
    let (silent, reads) = profiled(&database, found(&store, filter)).await;
    assert_eq!((silent, reads.documents), (15, 15), "{reads:?}");
    assert!(!reads.is_scan());
}
