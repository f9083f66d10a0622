//! Whether the disk of the store has room.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

/// Room that is taken for a look: opening a store writes, too, and what is closed
/// and cannot be opened answers nothing.
const ROOM_BYTES: usize = 1 << 20;

/// Room that must be free before any is taken for a look: on a disk shared with
/// the service's journal the last of it is the journal's.
const FREE_BYTES_MIN: u64 = 2 * ROOM_BYTES as u64;

/// Written and removed, as a quota does not show in what is free; the library
/// passes over it.
const FILE: &str = "room";

/// Looks whether `dir` has room for a little. Blocks.
///
/// # Errors
/// What keeps it from being written; [`is_lack`] tells whether that is a lack of
/// room.
pub(super) fn look(dir: &Path) -> io::Result<()> {
    let disk = rustix::fs::statvfs(dir)?;
    if disk.f_bavail.saturating_mul(disk.f_frsize) < FREE_BYTES_MIN {
        return Err(ErrorKind::StorageFull.into());
    }
    let path = dir.join(FILE);
    let mut file = File::create(&path)?;
    let written = file
        .write_all(&vec![1; ROOM_BYTES])
        .and_then(|()| file.sync_all());
    fs::remove_file(&path)?;
    written
}

/// Whether that is a lack of room.
pub(super) fn is_lack(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        look(dir.path()).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_is_not_there_is_no_lack_of_room() {
        let dir = tempfile::tempdir().unwrap();
        let error = look(&dir.path().join("absent")).unwrap_err();
        assert!(!is_lack(&error), "{error}");
        assert!(is_lack(&ErrorKind::StorageFull.into()));
    }
}
