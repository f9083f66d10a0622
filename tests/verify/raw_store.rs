//! The key spaces of an embedded store as its library has them.

use std::collections::BTreeMap;
use std::path::Path;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};

/// Those that a store has.
const KEYSPACES: [&str; 6] = ["chunks", "hours", "sensors", "recents", "sites", "index"];

/// 2026-05-01T10 in hours since the epoch, as keys have it.
pub(crate) const HOUR: [u8; 4] = (493_786_u32 ^ 1 << 31).to_be_bytes();

/// An open one.
pub(crate) struct RawStore {
    database: Database,
    keyspaces: BTreeMap<&'static str, Keyspace>,
}

impl RawStore {
    /// That of a data directory, which nobody has open.
    pub(crate) fn in_data(data_dir: &Path) -> Self {
        let database = Database::builder(data_dir.join("store")).open().unwrap();
        let keyspace = |name| {
            let opened = database.keyspace(name, KeyspaceCreateOptions::default);
            (name, opened.unwrap())
        };
        let keyspaces = KEYSPACES.into_iter().map(keyspace).collect();
        Self {
            database,
            keyspaces,
        }
    }

    pub(crate) fn get(&self, keyspace: &str, key: &[u8]) -> Vec<u8> {
        let value = self.keyspaces[keyspace].get(key).unwrap();
        value
            .unwrap_or_else(|| panic!("no {key:?} in {keyspace}"))
            .to_vec()
    }

    pub(crate) fn put(&self, keyspace: &str, key: &[u8], value: &[u8]) {
        self.keyspaces[keyspace].insert(key, value).unwrap();
    }

    pub(crate) fn remove(&self, keyspace: &str, key: &[u8]) {
        self.keyspaces[keyspace].remove(key).unwrap();
    }

    /// Keys that begin so.
    pub(crate) fn keys(&self, keyspace: &str, prefix: &[u8]) -> Vec<Vec<u8>> {
        let keys = self.keyspaces[keyspace].prefix(prefix);
        keys.map(|guard| guard.key().unwrap().to_vec()).collect()
    }

    /// Changes what stands before the checksum, and makes that fit.
    pub(crate) fn edit(&self, keyspace: &str, key: &[u8], edit: impl FnOnce(&mut Vec<u8>)) {
        let mut value = self.get(keyspace, key);
        value.truncate(value.len() - 4);
        edit(&mut value);
        let checksum = crc32c::crc32c(&value);
        value.extend_from_slice(&checksum.to_le_bytes());
        self.put(keyspace, key, &value);
    }

    /// Makes it durable and closes it.
    pub(crate) fn close(self) {
        self.database.persist(PersistMode::SyncAll).unwrap();
    }

    /// Every key space, key and value.
    pub(crate) fn all(&self) -> Vec<(&'static str, Vec<u8>, Vec<u8>)> {
        let pairs = |(name, keyspace): (&&'static str, &Keyspace)| {
            let name = *name;
            let pairs = keyspace.iter().map(move |guard| {
                let (key, value) = guard.into_inner().unwrap();
                (name, key.to_vec(), value.to_vec())
            });
            pairs.collect::<Vec<_>>()
        };
        self.keyspaces.iter().flat_map(pairs).collect()
    }
}

/// The key of an hour record of [`HOUR`], and what those of its chunks begin with.
pub(crate) fn hour_key(sensor: &str) -> Vec<u8> {
    [sensor.as_bytes(), &[0], &HOUR].concat()
}

/// The key of a chunk of [`HOUR`].
pub(crate) fn chunk_key(sensor: &str, sequence: u64) -> Vec<u8> {
    [&hour_key(sensor)[..], &sequence.to_be_bytes()].concat()
}
