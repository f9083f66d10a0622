//! Making a store so that a kill or a power cut leaves it whole or not at all.
//!
//! The library cannot open what it had begun to make, and does not sync the
//! directory that holds its key spaces: a power cut may take whole key spaces
//! with it, whatever was synced in them. So a store is made beside its place,
//! synced with all its directories, and moved there.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::errors::unavailable;
use crate::store::StoreError;

/// Where the library has its key spaces, in its directory.
const KEY_SPACES: &str = "keyspaces";

/// Has `make` make a store where `dir` is absent or empty.
pub(super) fn make_where_absent(
    dir: &Path,
    make: impl FnOnce(&Path) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    if !is_absent(dir).map_err(failed(dir))? {
        return Ok(());
    }
    let making = place_of_making(dir);
    // Left by a start that was cut off.
    match fs::remove_dir_all(&making) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(failed(&making)(error));
        }
        _ => {}
    }
    make(&making)?;
    let moved = || {
        sync_all(&making)?;
        fs::rename(&making, dir)?;
        let parent = dir.canonicalize()?;
        parent.parent().map_or(Ok(()), sync)
    };
    moved().map_err(failed(dir))
}

/// Makes the names of the key spaces durable.
pub(super) fn sync_key_spaces(dir: &Path) -> Result<(), StoreError> {
    let key_spaces = dir.join(KEY_SPACES);
    sync(&key_spaces).map_err(failed(&key_spaces))
}

fn is_absent(dir: &Path) -> io::Result<bool> {
    match fs::read_dir(dir) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}

/// Beside `dir`, so that it can be moved there in one step.
fn place_of_making(dir: &Path) -> PathBuf {
    let mut name = dir.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    dir.with_file_name(name)
}

fn sync_all(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_all(&entry.path())?;
        } else {
            sync(&entry.path())?;
        }
    }
    sync(dir)
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
}
