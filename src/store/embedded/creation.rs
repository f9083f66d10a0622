//! Making a store so that a kill or a power cut leaves it whole or not at all.
//!
//! The library cannot open what it had begun to make, and does not sync the
//! directory that holds its key spaces: a power cut may take whole key spaces
//! with it, whatever was synced in them. So a store is made beside its place,
//! synced with all its directories, and moved there. A directory that is the root
//! of a disk of its own cannot be replaced: there it is made in place, under a mark
//! that goes last; a start that finds the mark makes the store anew.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::errors::unavailable;
use crate::store::StoreError;

/// Where the library has its key spaces, in its directory.
const KEY_SPACES: &str = "keyspaces";

/// A store that was begun in place and is not whole; nothing was ever stored in it.
const UNFINISHED: &str = "unfinished";

/// What file systems have at their root, and is not ours.
const LOST_AND_FOUND: &str = "lost+found";

/// Whether a whole store lies in `dir`, as far as names tell.
pub(super) fn is_made(dir: &Path) -> bool {
    dir.join(KEY_SPACES).is_dir() && !dir.join(UNFINISHED).exists()
}

/// Has `make` make a store where `dir` is absent or empty.
pub(super) fn make_where_absent(
    dir: &Path,
    make: impl Fn(&Path) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let is_unfinished = dir.join(UNFINISHED).try_exists().map_err(failed(dir))?;
    if is_unfinished {
        return make_in_place(dir, make);
    }
    if !is_absent(dir).map_err(failed(dir))? {
        return Ok(());
    }
    let making = place_of_making(dir);
    // Left by a start that was cut off.
    remove_dir(&making).map_err(failed(&making))?;
    make(&making)?;
    sync_all(&making).map_err(failed(&making))?;
    match fs::rename(&making, dir) {
        Ok(()) => sync_parent(dir).map_err(failed(dir)),
        Err(error) if is_of_its_own_disk(&error) => {
            remove_dir(&making).map_err(failed(&making))?;
            make_in_place(dir, make)
        }
        Err(error) => Err(failed(dir)(error)),
    }
}

/// Has `make` make a store in `dir`, which is there and holds no store, or one that
/// was begun so.
fn make_in_place(
    dir: &Path,
    make: impl Fn(&Path) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mark = dir.join(UNFINISHED);
    let begin = || {
        File::create(&mark)?.sync_all()?;
        sync(dir)?;
        clear(dir)
    };
    begin().map_err(failed(dir))?;
    make(dir)?;
    let end = || {
        sync_all(dir)?;
        fs::remove_file(&mark)?;
        sync(dir)
    };
    end().map_err(failed(dir))
}

/// Whether a directory was not replaced for being where a disk begins: it is in
/// use, lies on another disk than what is beside it, or has what such roots have.
fn is_of_its_own_disk(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ResourceBusy
            | io::ErrorKind::CrossesDevices
            | io::ErrorKind::DirectoryNotEmpty
    )
}

/// Removes what a store that was begun in place has so far.
fn clear(dir: &Path) -> io::Result<()> {
    for entry in entries(dir)? {
        if entry.file_name() == UNFINISHED {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn remove_dir(dir: &Path) -> io::Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Makes the names of the key spaces durable.
pub(super) fn sync_key_spaces(dir: &Path) -> Result<(), StoreError> {
    let key_spaces = dir.join(KEY_SPACES);
    sync(&key_spaces).map_err(failed(&key_spaces))
}

fn is_absent(dir: &Path) -> io::Result<bool> {
    match entries(dir) {
        Ok(entries) => Ok(entries.is_empty()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}

/// What `dir` has that may be a store's.
fn entries(dir: &Path) -> io::Result<Vec<fs::DirEntry>> {
    let is_ours = |entry: &io::Result<fs::DirEntry>| {
        !entry
            .as_ref()
            .is_ok_and(|entry| entry.file_name() == LOST_AND_FOUND)
    };
    fs::read_dir(dir)?.filter(is_ours).collect()
}

/// Beside `dir`, so that it can be moved there in one step.
fn place_of_making(dir: &Path) -> PathBuf {
    let mut name = dir.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    dir.with_file_name(name)
}

fn sync_all(dir: &Path) -> io::Result<()> {
    for entry in entries(dir)? {
        if entry.file_type()?.is_dir() {
            sync_all(&entry.path())?;
        } else {
            sync(&entry.path())?;
        }
    }
    sync(dir)
}

fn sync_parent(dir: &Path) -> io::Result<()> {
    dir.canonicalize()?.parent().map_or(Ok(()), sync)
}

fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

fn failed(path: &Path) -> impl Fn(io::Error) -> StoreError {
    move |error| unavailable(format_args!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::super::{EmbeddedSettings, EmbeddedStore};
    use super::*;

    #[test]
    fn what_a_start_left_that_was_cut_off_does_not_stand_in_the_way() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("store");
        fs::create_dir_all(root.path().join("store.new/keyspaces")).unwrap();
        fs::write(root.path().join("store.new/lock"), b"").unwrap();
        EmbeddedStore::open(&dir, EmbeddedSettings::default()).unwrap();
        assert!(dir.join(KEY_SPACES).is_dir());
        assert!(!root.path().join("store.new").exists());
    }

    #[test]
    fn what_is_no_whole_store_is_not_made_anew() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("store");
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("0.jnl"), b"readings").unwrap();
        assert!(EmbeddedStore::open(&dir, EmbeddedSettings::default()).is_err());
        assert_eq!(fs::read(dir.join("0.jnl")).unwrap(), b"readings");
    }

    #[test]
    fn what_was_begun_in_place_and_cut_off_is_made_anew() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("store");
        fs::create_dir_all(dir.join("lost+found")).unwrap();
        fs::create_dir(dir.join(KEY_SPACES)).unwrap();
        for begun in [UNFINISHED, "lock", "0.jnl"] {
            fs::write(dir.join(begun), b"").unwrap();
        }
        EmbeddedStore::open(&dir, EmbeddedSettings::default()).unwrap();
        assert!(!dir.join(UNFINISHED).exists());
        assert!(dir.join("lost+found").exists());
    }

    #[test]
    fn the_root_of_a_disk_takes_a_store_beside_what_such_roots_have() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("store");
        fs::create_dir_all(dir.join("lost+found")).unwrap();
        for _ in 0..2 {
            EmbeddedStore::open(&dir, EmbeddedSettings::default()).unwrap();
            assert!(dir.join(KEY_SPACES).is_dir() && !dir.join(UNFINISHED).exists());
            assert!(!root.path().join("store.new").exists());
        }
    }
}
