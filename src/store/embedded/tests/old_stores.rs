//! Stores of a version that had no index.

use std::path::Path;

use fjall::{KeyspaceCreateOptions, PersistMode, Readable};

use super::registry::{assert_index_is_that_of_the_records, records};
use crate::store::embedded::EmbeddedSettings;
use crate::store::embedded::bytes::{put_text, put_varint, seal};
use crate::store::embedded::database::Database;
use crate::store::embedded::index::MARKER;
use crate::store::{AttributeFilter, SensorFilter};

/// Enough for several batches.
const SENSORS: i64 = 2500;

/// A store as it was before there was an index, with records of both formats.
fn make_old(dir: &Path) {
    let database = fjall::Database::builder(dir).open().unwrap();
    let options = KeyspaceCreateOptions::default;
    let sensors = database.keyspace("sensors", options).unwrap();
    for n in 0..SENSORS {
        let has_attributes = n % 2 == 1;
        let mut record = vec![1 + u8::from(has_attributes)];
        record.extend_from_slice(&n.to_le_bytes());
        if has_attributes {
            put_varint(&mut record, 1);
            put_text(&mut record, "room");
            put_text(&mut record, &(n % 10).to_string());
        }
        seal(&mut record);
        sensors.insert(format!("S{n:04}"), record).unwrap();
    }
    database.persist(PersistMode::SyncAll).unwrap();
}

fn open(dir: &Path) -> Database {
    Database::open(dir, EmbeddedSettings::default()).unwrap()
}

#[test]
fn an_old_store_is_indexed_when_it_is_opened() {
    let dir = tempfile::tempdir().unwrap();
    make_old(dir.path());
    for _ in 0..2 {
        let database = open(dir.path());
        assert_eq!(records(&database).len(), SENSORS as usize);
        assert_index_is_that_of_the_records(&database);
        let filter = SensorFilter {
            attributes: vec![AttributeFilter::Equals {
                key: "room".into(),
                text: "7".into(),
            }],
            ..SensorFilter::default()
        };
        let found = database.find_sensors(&filter, None, 1000).unwrap();
        assert_eq!(found.len(), SENSORS as usize / 10);
    }
}

/// What is left of an indexing that was cut off, and of sensors that changed
/// since, is no harm.
#[test]
fn an_indexing_that_was_cut_off_begins_anew() {
    let dir = tempfile::tempdir().unwrap();
    make_old(dir.path());
    let database = open(dir.path());
    let entries: Vec<_> = database
        .snapshot()
        .iter(&database.index)
        .map(|guard| guard.key().unwrap().to_vec())
        .collect();
    for entry in entries.iter().skip(1500) {
        database.index.remove(entry.as_slice()).unwrap();
    }
    database.index.remove(MARKER).unwrap();
    database.index.insert(b"t\0\x01\0\x01S9999", []).unwrap();
    drop(database);
    assert_index_is_that_of_the_records(&open(dir.path()));
}
