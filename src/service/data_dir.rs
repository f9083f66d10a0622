//! The data directory, held by one process at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::journal::disk::create_dir_durably;

/// Name of the embedded store's directory.
pub(super) const STORE_DIR: &str = "store";

/// A locked data directory. The lock goes with the process, however it ends.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    _lock: File,
}

/// Why a data directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    /// Another process has it.
    #[error(
        "the data directory {} is in use by another hourglass; stop it, or give this one another \
         --data-dir", .0.display()
    )]
    InUse(PathBuf),
    /// The file system says no.
    #[error("the data directory {} cannot be used: {source}", .path.display())]
    Disk {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl DataDir {
    /// Creates `path` so that a power cut leaves it there, and locks it.
    ///
    /// # Errors
    /// [`DataDirError`].
    pub fn open(path: &Path) -> Result<Self, DataDirError> {
        let failed = |source| DataDirError::Disk {
            path: path.to_owned(),
            source,
        };
        create_dir_durably(path).map_err(failed)?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path.join("LOCK"))
            .map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self {
                path: path.to_owned(),
                _lock: lock,
            }),
            Err(TryLockError::WouldBlock) => Err(DataDirError::InUse(path.to_owned())),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }

    /// Where the journal's segments lie.
    #[must_use]
    pub fn journal(&self) -> PathBuf {
        self.path.join("journal")
    }

    /// Where the log of idempotency keys lies.
    #[must_use]
    pub fn keys(&self) -> PathBuf {
        self.path.join("keys")
    }

    /// Where refused items are kept.
    #[must_use]
    pub fn quarantine(&self) -> PathBuf {
        self.path.join("quarantine")
    }

    /// Where the embedded store lies.
    #[must_use]
    pub fn store(&self) -> PathBuf {
        self.path.join(STORE_DIR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_never_share_a_data_directory() {
        let dir = tempfile::tempdir().unwrap();
        let first = DataDir::open(dir.path()).unwrap();
        let second = DataDir::open(dir.path()).unwrap_err();
        assert!(matches!(second, DataDirError::InUse(_)));
        drop(first);
        assert!(DataDir::open(dir.path()).is_ok());
    }
}
