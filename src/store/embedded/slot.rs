//! The open database, which is opened again by itself after its disk was full.
//!
//! The library takes no writes after one failed, so the store closes it and opens
//! it again, as a restart would. That is sound where the failure was a lack of
//! room: file systems that reserve room at the write (ext4, XFS, Btrfs, tmpfs) say
//! so there and not at the sync, so nothing that a sync may have lost is read
//! back. What the failed write left is cut by the library, or whole, and then
//! synced before anybody sees it; the fence of the next try tells which.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use super::EmbeddedSettings;
use super::database::Database;
use super::errors::unavailable;
use super::room;
use crate::store::StoreError;

/// How long the files of a closed database may take to be closed.
const CLOSED_WITHIN: Duration = Duration::from_secs(5);
const CLOSED_LOOK: Duration = Duration::from_millis(1);

/// The process's descriptors as links to their files, and what they are open for.
const OPEN_FILES: &str = "/proc/self/fd";
const OPEN_FILES_INFO: &str = "/proc/self/fdinfo";
/// `O_WRONLY` and `O_RDWR`.
const WRITABLE: u32 = 3;

/// All of it blocks.
pub(super) struct Slot {
    dir: PathBuf,
    settings: EmbeddedSettings,
    /// `None` where it was closed and could not be opened again.
    database: RwLock<Option<Database>>,
    /// Held by the one call that opens it again; taken before `database`.
    opening: Mutex<()>,
    closed_within: Duration,
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
            opening: Mutex::new(()),
            closed_within: CLOSED_WITHIN,
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
    ///
    /// # Errors
    /// [`StoreError::Unavailable`], whatever it is: the next call tries again.
    fn open_again(&self) -> Result<(), StoreError> {
        let _opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        // Another call may have been here in between.
        if !self.is(is_to_be_opened) {
            return Ok(());
        }
        room::look(&self.dir)
            .map_err(|error| unavailable(format_args!("{}: {error}", self.dir.display())))?;
        let mut database = self
            .database
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        // The library lets a directory be open once.
        *database = None;
        wait_until_closed(&self.dir, self.closed_within)?;
        if is_empty(&self.dir) {
            return Err(unavailable(format_args!(
                "{} is empty, and was not when the store was opened: mount it again; \
                 no new store is made in its place",
                self.dir.display()
            )));
        }
        let opened = Database::open(&self.dir, self.settings)
            .and_then(|opened| opened.sync().map(|()| opened))
            .map_err(|error| {
                unavailable(format_args!(
                    "it was closed for lack of room and cannot be opened again: {error}"
                ))
            })?;
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

fn is_empty(dir: &Path) -> bool {
    fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none())
}

/// Waits until the closed database has no file open that it may write.
///
/// The library's threads are past their work when it is closed, and may yet hold
/// its log, whose buffer has what a failed write left and is written when the last
/// of them lets go: into a log that was opened again it would go over new records.
#[expect(
    clippy::disallowed_methods,
    reason = "no event says that another thread has closed a file"
)]
fn wait_until_closed(dir: &Path, within: Duration) -> Result<(), StoreError> {
    let began = Instant::now();
    while has_open_files(dir) {
        if began.elapsed() > within {
            return Err(unavailable(
                "files of it are still open after it was closed; it is tried again",
            ));
        }
        thread::sleep(CLOSED_LOOK);
    }
    Ok(())
}

/// Whether this process has files below `dir` open for writing. `false` where the
/// system does not tell (it is Linux that does): then the wait is what cannot be
/// had.
fn has_open_files(dir: &Path) -> bool {
    let (Ok(dir), Ok(files)) = (dir.canonicalize(), fs::read_dir(OPEN_FILES)) else {
        return false;
    };
    let is_below = |file: &fs::DirEntry| {
        fs::read_link(file.path()).is_ok_and(|target| target.starts_with(&dir))
    };
    files
        .flatten()
        .any(|file| is_below(&file) && may_be_written(&file.file_name()))
}

/// Whether the descriptor `number` is open for writing; true where that is not
/// known.
fn may_be_written(number: &OsStr) -> bool {
    let Ok(told) = fs::read_to_string(Path::new(OPEN_FILES_INFO).join(number)) else {
        return true;
    };
    let flags = told.lines().find_map(|line| line.strip_prefix("flags:"));
    flags
        .and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok())
        .is_none_or(|flags| flags & WRITABLE != 0)
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

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn a_file_that_is_open_below_the_directory_is_seen_until_it_is_closed() {
        let dir = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let _other = File::create(elsewhere.path().join("0.jnl")).unwrap();
        assert!(!has_open_files(dir.path()));
        fs::create_dir(dir.path().join("tables")).unwrap();
        let path = dir.path().join("tables/0");
        let file = File::create(&path).unwrap();
        assert!(has_open_files(dir.path()));
        fs::remove_file(path).unwrap();
        assert!(has_open_files(dir.path()), "removed and still open");
        drop(file);
        assert!(!has_open_files(dir.path()));
        let path = dir.path().join("0.jnl");
        fs::write(&path, b"").unwrap();
        let _read = File::open(&path).unwrap();
        assert!(!has_open_files(dir.path()), "only read");
        let _appended = File::options().append(true).open(&path).unwrap();
        assert!(has_open_files(dir.path()));
    }

    #[test]
    fn it_is_opened_again_only_after_the_last_file_of_it_is_closed() {
        let dir = tempfile::tempdir().unwrap();
        let mut slot = Slot::open(dir.path(), EmbeddedSettings::default()).unwrap();
        slot.closed_within = Duration::ZERO;
        *slot.database.write().unwrap() = None;
        let held = File::create(dir.path().join("held")).unwrap();
        let told = slot.open_again();
        let Err(StoreError::Unavailable { reason, .. }) = told else {
            panic!("{told:?}");
        };
        assert!(reason.contains("still open"), "{reason}");
        drop(held);
        slot.closed_within = CLOSED_WITHIN;
        slot.open_again().unwrap();
        assert!(slot.read(|_| Ok(())).is_ok());
    }

    #[test]
    fn what_keeps_it_from_being_opened_again_is_passing_and_named() {
        let dir = tempfile::tempdir().unwrap();
        let slot = Slot::open(dir.path(), EmbeddedSettings::default()).unwrap();
        *slot.database.write().unwrap() = None;
        let version = dir.path().join("version");
        let kept = fs::read(&version).unwrap();
        fs::write(&version, b"rubbish").unwrap();
        let told = slot.write(|_| Ok(()));
        let Err(StoreError::Unavailable { reason, .. }) = told else {
            panic!("{told:?}");
        };
        assert!(reason.contains("cannot be opened again"), "{reason}");
        fs::write(&version, kept).unwrap();
        assert!(slot.write(|_| Ok(())).is_ok());
    }

    #[test]
    fn a_directory_that_was_emptied_in_between_gets_no_new_store() {
        let root = tempfile::tempdir().unwrap();
        let (dir, away) = (root.path().join("store"), root.path().join("away"));
        let slot = Slot::open(&dir, EmbeddedSettings::default()).unwrap();
        *slot.database.write().unwrap() = None;
        fs::rename(&dir, &away).unwrap();
        fs::create_dir(&dir).unwrap();
        let told = slot.write(|_| Ok(()));
        let Err(StoreError::Unavailable { reason, .. }) = told else {
            panic!("{told:?}");
        };
        assert!(reason.contains("is empty"), "{reason}");
        assert!(is_empty(&dir));
        fs::rename(&away, &dir).unwrap();
        assert!(slot.write(|_| Ok(())).is_ok());
    }
}
