//! The open database, which is opened again by itself after its disk was full.
//!
//! The library takes no writes after one failed, so the store closes it and opens
//! it again, as a restart would. That is sound where the failure was a lack of
//! room, or one of the library's own threads (see `database`): file systems that
//! reserve room at the write (ext4, XFS, Btrfs, tmpfs) say so there and not at the
//! sync, so nothing that a sync may have lost is read back. What the failed write
//! left is cut by the library, or whole, and then synced before anybody sees it;
//! the fence of the next try tells which.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use super::EmbeddedSettings;
use super::database::Database;
use super::errors::unavailable;
use crate::store::StoreError;

/// Room that there must be before it is opened again: an open writes, too, and
/// until then the closed one could not answer what it holds.
const ROOM_BYTES: usize = 1 << 20;

/// Written and removed to see whether there is room; the library passes over it.
const ROOM_FILE: &str = "room";

/// All of it blocks.
pub(super) struct Slot {
    dir: PathBuf,
    settings: EmbeddedSettings,
    /// `None` where it was closed and could not be opened again.
    database: RwLock<Option<Database>>,
}

impl Slot {
    /// Opens the database in `dir`.
    ///
    /// # Errors
    /// As [`Database::open`].
    pub(super) fn open(dir: &Path, settings: EmbeddedSettings) -> Result<Self, StoreError> {
        let database = Database::open(dir, settings)?;
        Ok(Self {
            dir: dir.to_owned(),
            settings,
            database: RwLock::new(Some(database)),
        })
    }

    /// Calls `read`, also where writes are refused.
    ///
    /// # Errors
    /// Those of `read`, and of opening a closed database.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&Database) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if self.is(Option::is_none) {
            self.open_again()?;
        }
        self.with(read)
    }

    /// Calls `write`; opens the database again first where it had no room and now
    /// has.
    ///
    /// # Errors
    /// Those of `write`; [`StoreError::Unavailable`] while there is no room.
    pub(super) fn write<T>(
        &self,
        write: impl FnOnce(&Database) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if self.is(is_to_be_opened) {
            self.open_again()?;
        }
        self.with(write)
    }

    fn with<T>(
        &self,
        call: impl FnOnce(&Database) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let database = self.database.read().unwrap_or_else(PoisonError::into_inner);
        match &*database {
            Some(database) => call(database),
            None => Err(unavailable("it is closed until it can be opened again")),
        }
    }

    fn is(&self, condition: impl FnOnce(&Option<Database>) -> bool) -> bool {
        condition(&self.database.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits for the calls under way, closes and opens.
    fn open_again(&self) -> Result<(), StoreError> {
        has_room(&self.dir)
            .map_err(|error| unavailable(format_args!("{}: {error}", self.dir.display())))?;
        let mut database = self
            .database
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        // Another call may have been here in between.
        if !is_to_be_opened(&database) {
            return Ok(());
        }
        // The library lets a directory be open once.
        *database = None;
        let opened = Database::open(&self.dir, self.settings)?;
        opened.sync()?;
        *database = Some(opened);
        tracing::info!(
            "the embedded store was opened again after a failure for lack of room; it takes writes"
        );
        Ok(())
    }
}

fn is_to_be_opened(database: &Option<Database>) -> bool {
    database
        .as_ref()
        .is_none_or(Database::is_to_be_opened_again)
}

fn has_room(dir: &Path) -> io::Result<()> {
    let path = dir.join(ROOM_FILE);
    let mut file = File::create(&path)?;
    let written = file
        .write_all(&vec![1; ROOM_BYTES])
        .and_then(|()| file.sync_all());
    fs::remove_file(&path)?;
    written
}

/// The database itself, for tests that look into it.
#[cfg(test)]
pub(super) struct Opened<'a>(std::sync::RwLockReadGuard<'a, Option<Database>>);

#[cfg(test)]
impl std::ops::Deref for Opened<'_> {
    type Target = Database;

    fn deref(&self) -> &Database {
        self.0.as_ref().unwrap()
    }
}

#[cfg(test)]
impl super::EmbeddedStore {
    pub(super) fn database(&self) -> Opened<'_> {
        Opened(self.slot.database.read().unwrap())
    }
}
