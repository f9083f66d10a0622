//! The key spaces, the writer's lock and the state after a failed sync.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock};

use fjall::config::BlockSizePolicy;
use fjall::{Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, PersistMode, Readable, Snapshot};

use super::errors::{library, unavailable};
use super::{EmbeddedSettings, creation};
use crate::store::StoreError;

/// Chunks are read in a row, so larger blocks than the default 4 KiB save
/// index entries and seeks.
const CHUNK_BLOCK_BYTES: u32 = 16 * 1024;

/// Sensors and sites are few and small.
const REGISTRY_MEMTABLE_BYTES: u64 = 1024 * 1024;

/// The open database. All of it blocks; no method is for an async task.
pub(super) struct Database {
    dir: PathBuf,
    inner: fjall::Database,
    /// (sensor, hour, sequence) -> elements.
    pub(super) chunks: Keyspace,
    /// (sensor, hour) -> hour record.
    pub(super) hours: Keyspace,
    /// Sensor id -> its record.
    pub(super) sensors: Keyspace,
    /// Sensor id -> its recent readings.
    pub(super) recents: Keyspace,
    /// Site id -> its record.
    pub(super) sites: Keyspace,
    /// What a sensor has, sensor id -> nothing.
    pub(super) index: Keyspace,
    /// Held from checking a fence until its write is durable.
    writer: Mutex<()>,
    /// Set once by a failed commit: what is on disk is unknown from then on,
    /// and a later sync that succeeds proves nothing.
    failure: OnceLock<Failure>,
}

/// Why no writes are taken.
struct Failure {
    reason: String,
    /// Whether opening it again, once there is room, is sound and may help.
    opening_helps: bool,
}

/// The right to write, one at a time.
pub(super) struct Writer<'a> {
    database: &'a Database,
    _lock: MutexGuard<'a, ()>,
}

impl Database {
    /// Opens the database in `dir`, or makes it there.
    pub(super) fn open(dir: &Path, settings: EmbeddedSettings) -> Result<Self, StoreError> {
        creation::make_where_absent(dir, |dir| Self::open_at(dir, settings).map(drop))?;
        let database = Self::open_at(dir, settings)?;
        // In a store of an older version a key space may have been made just now.
        creation::sync_key_spaces(dir)?;
        database.build_index()?;
        Ok(database)
    }

    fn open_at(dir: &Path, settings: EmbeddedSettings) -> Result<Self, StoreError> {
        let memtable_bytes = settings
            .memtable_bytes
            .max(EmbeddedSettings::MEMTABLE_BYTES_MIN);
        let options = || KeyspaceCreateOptions::default().max_memtable_size(memtable_bytes);
        let inner = fjall::Database::builder(dir)
            .cache_size(settings.cache_bytes)
            .max_journaling_size(EmbeddedSettings::JOURNAL_BYTES_MAX)
            .open()
            .map_err(library)?;
        let keyspace = |name, options: KeyspaceCreateOptions| {
            inner.keyspace(name, || options).map_err(library)
        };
        let registry_bytes = REGISTRY_MEMTABLE_BYTES.min(memtable_bytes);
        let registry = || KeyspaceCreateOptions::default().max_memtable_size(registry_bytes);
        let database = Self {
            dir: dir.to_owned(),
            chunks: keyspace(
                "chunks",
                options().data_block_size_policy(BlockSizePolicy::all(CHUNK_BLOCK_BYTES)),
            )?,
            hours: keyspace("hours", options())?,
            sensors: keyspace("sensors", registry())?,
            recents: keyspace("recents", registry())?,
            sites: keyspace("sites", registry())?,
            index: keyspace("index", registry())?,
            inner,
            writer: Mutex::new(()),
            failure: OnceLock::new(),
        };
        Ok(database)
    }

    /// One moment of all key spaces.
    pub(super) fn snapshot(&self) -> Snapshot {
        self.inner.snapshot()
    }

    /// How many hours there are. Reads all their keys.
    pub(super) fn part_count(&self) -> Result<u64, StoreError> {
        let count = self.snapshot().len(&self.hours).map_err(library)?;
        Ok(count as u64)
    }

    /// Waits for the right to write.
    pub(super) fn writer(&self) -> Result<Writer<'_>, StoreError> {
        let Ok(lock) = self.writer.lock() else {
            return Err(self.poison("a write panicked".to_owned(), false));
        };
        self.check()?;
        Ok(Writer {
            database: self,
            _lock: lock,
        })
    }

    /// Whether writes are still taken.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        self.failure
            .get()
            .map_or(Ok(()), |first| Err(stopped(first)))
    }

    /// Whether it can be read. What the record is like that is read is not the
    /// question.
    pub(super) fn answers(&self) -> Result<(), StoreError> {
        let first = self.snapshot().first_key_value(&self.hours);
        first.map_or(Ok(()), |guard| guard.key().map(drop).map_err(library))
    }

    /// Whether it takes no writes until it is opened again, which is sound.
    pub(super) fn is_to_be_opened_again(&self) -> bool {
        self.failure.get().is_some_and(|first| first.opening_helps)
    }

    /// Makes durable what an open has read back from the library's journals.
    pub(super) fn sync(&self) -> Result<(), StoreError> {
        self.inner.persist(PersistMode::SyncAll).map_err(library)
    }

    /// Refuses every write from now on.
    fn poison(&self, reason: String, opening_helps: bool) -> StoreError {
        stopped(self.failure.get_or_init(|| Failure {
            reason,
            opening_helps,
        }))
    }
}

fn stopped(first: &Failure) -> StoreError {
    let reason = &first.reason;
    if first.opening_helps {
        return unavailable(format_args!(
            "there was no room for a write ({reason}); it goes on by itself once there is some"
        ));
    }
    unavailable(format_args!(
        "it takes no writes since one failed on its way to disk ({reason}); \
         look at the disk, then restart hourglass: the journal has what is missing"
    ))
}

/// Whether a commit failed in a way that opening the database again makes good:
/// for lack of room. The library's own threads, which write its tables, leave word
/// that one of them failed and not why; a table that found no room stays as far
/// as it got, so there is none now. A failed sync is nothing that may be tried
/// again, theirs neither.
fn opening_helps(error: &fjall::Error, dir: &Path) -> bool {
    match error {
        fjall::Error::Io(error) | fjall::Error::Storage(fjall::LsmError::Io(error)) => {
            super::room::is_lack(error)
        }
        fjall::Error::Poisoned => {
            super::room::look(dir).is_err_and(|error| super::room::is_lack(&error))
        }
        _ => false,
    }
}

impl Writer<'_> {
    /// A batch that is synced to disk before any reader sees it.
    pub(super) fn batch(&self) -> OwnedWriteBatch {
        let batch = self.database.inner.batch();
        batch.durability(Some(PersistMode::SyncAll))
    }

    /// Makes `batch` durable, all or nothing.
    pub(super) fn commit(self, batch: OwnedWriteBatch) -> Result<(), StoreError> {
        if batch.is_empty() {
            return Ok(());
        }
        batch.commit().map_err(|error| {
            let helps = opening_helps(&error, &self.database.dir);
            self.database.poison(error.to_string(), helps)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_failed_commit_every_write_is_refused_with_the_first_reason() {
        let dir = tempfile::tempdir().unwrap();
        let database = Database::open(dir.path(), EmbeddedSettings::default()).unwrap();
        assert!(database.writer().is_ok());
        database.poison("an i/o error".to_owned(), false);
        database.poison("no space left".to_owned(), true);
        let Err(StoreError::Unavailable { reason, .. }) = database.writer().map(|_| ()) else {
            panic!("a poisoned database gave the right to write");
        };
        assert!(reason.contains("an i/o error") && reason.contains("restart hourglass"));
        assert!(database.check().is_err() && !database.is_to_be_opened_again());
    }

    #[test]
    fn a_second_opener_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let _first = Database::open(dir.path(), EmbeddedSettings::default()).unwrap();
        let second = Database::open(dir.path(), EmbeddedSettings::default());
        assert!(matches!(second.err(), Some(StoreError::Refused { .. })));
    }
}
