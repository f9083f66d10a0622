//! Every index has a query that needs it: `docs/patterns.md` names it in its
//! table of indexes, and names no other.

use std::collections::BTreeSet;

use hourglass::model::{HourStart, Retention, SensorId, Site, SiteId, Tags};
use hourglass::store::mongodb::{MongoSettings, MongoStore};
use hourglass::store::{RecordVersion, SensorTold, SitePut, Store};
use mongodb::bson::Document;

use super::{quoted, read};
use crate::support::mongod::TestDatabase;

/// `collection: keys`, from the rows of the table of indexes.
fn documented() -> BTreeSet<String> {
    let text = read("docs/patterns.md");
    let mut lines = text.lines();
    lines
        .find(|line| *line == "| collection | index | the query that needs it |")
        .expect("the table of indexes");
    let rows = lines.skip(1).take_while(|line| line.starts_with('|'));
    let row = |row: &str| {
        let cells: Vec<_> = row.trim_matches('|').split('|').collect();
        assert!(!cells[2].trim().is_empty(), "no query: {row}");
        format!("{}: {}", quoted(cells[0])[0], quoted(cells[1])[0])
    };
    rows.map(row).collect()
}

#[tokio::test]
async fn every_index_there_is_stands_in_the_table_with_its_query() {
    let database = TestDatabase::new().await;
    let store = MongoStore::connect(&database.uri(), MongoSettings::default()).unwrap();
    // The first call makes `buckets` and `sensors`, the first site makes `sites`.
    let seen = SensorTold {
        sensor: SensorId::new("S1").unwrap(),
        last_seen: Some(HourStart::from_hours(1).start()),
        attributes: Tags::new([("room", "4b")]),
        recent: None,
    };
    store.touch(&[seen]).await.unwrap();
    let site = SitePut {
        site: Site {
            id: SiteId::new("plant").unwrap(),
            name: None,
            city: None,
            address: None,
            position: None,
            contacts: Vec::new(),
            time_zone: None,
            notes: None,
            retention: Retention::default(),
        },
        expect: None,
        target: RecordVersion { rev: 1, by: 1 },
        rewrite_copies: false,
    };
    store.put_site(&site).await.unwrap();

    let database = database.open().await;
    let mut created = BTreeSet::new();
    for collection in database.list_collection_names().await.unwrap() {
        let collection = database.collection::<Document>(&collection);
        let mut indexes = collection.list_indexes().await.unwrap();
        while indexes.advance().await.unwrap() {
            let index = indexes.deserialize_current().unwrap();
            let keys: Vec<String> = index
                .keys
                .iter()
                .map(|(k, v)| format!("{k}: {v}"))
                .collect();
            created.insert(format!("{}: {{ {} }}", collection.name(), keys.join(", ")));
        }
    }
    assert_eq!(documented(), created);
}

/// One that is made only in some circumstances would be missed above.
#[test]
fn indexes_are_made_in_one_place() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store/mongodb");
    let mut places = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        for what in ["create_index", "createIndexes", "IndexModel::builder"] {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            places.extend(text.matches(what).map(|_| format!("{name} {what}")));
        }
    }
    places.sort();
    let expected = ["indexes.rs IndexModel::builder", "indexes.rs create_index"];
    assert_eq!(places, expected);
}
