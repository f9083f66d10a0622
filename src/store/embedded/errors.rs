//! Errors of the library and of records as those of the store.

use std::fmt::Display;

use super::NAME;
use super::keys::readable;
use crate::store::StoreError;

pub(super) fn unavailable(reason: impl Display) -> StoreError {
    StoreError::Unavailable {
        store: NAME,
        reason: reason.to_string(),
    }
}

pub(super) fn refused(reason: impl Display) -> StoreError {
    StoreError::Refused {
        store: NAME,
        reason: reason.to_string(),
    }
}

/// `record` is its kind; `key` names the bucket or sensor it belongs to.
pub(super) fn corrupt(record: &str, key: &[u8], reason: impl Display) -> StoreError {
    StoreError::Corrupt {
        store: NAME,
        what: format!("{record} of `{}`", readable(key)),
        reason: reason.to_string(),
    }
}

/// What the library says about a read or an open.
pub(super) fn library(error: fjall::Error) -> StoreError {
    let damaged = |reason: String| StoreError::Corrupt {
        store: NAME,
        what: "a file".to_owned(),
        reason: format!("{reason}; restore the store's directory from a backup"),
    };
    match error {
        fjall::Error::Io(error) | fjall::Error::Storage(fjall::LsmError::Io(error)) => {
            unavailable(error)
        }
        fjall::Error::Poisoned => unavailable(
            "its library stopped after a failure on disk; look at the disk, then restart hourglass",
        ),
        fjall::Error::Locked => {
            refused("another process has it open; stop that one or choose another data directory")
        }
        fjall::Error::InvalidVersion(version) => damaged(format!(
            "written by a version of the library ({version:?}) that this one does not know"
        )),
        other => damaged(other.to_string()),
    }
}
