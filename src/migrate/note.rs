//! How far a run is, in a small file beside a store: a run that is made again
//! goes on from there.
//!
//! Only what the target holds durably is noted. The file is replaced in one
//! step, so a crash leaves the old note or the new one. It names both stores and
//! is never used for others; one that cannot be read counts as none, as the
//! comparison at the end trusts no note.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::model::{BucketKey, HourStart, SensorId};

/// Name of the file, in a data directory.
const FILE: &str = "migration.json";

/// The form of the file.
const FORM: u32 = 1;

/// The file of one migration.
#[derive(Debug)]
pub struct Note {
    path: PathBuf,
    from: String,
    to: String,
}

/// What a note says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    /// The last bucket that was looked at; all up to it are in the target.
    pub last: BucketKey,
    /// How many these are.
    pub buckets: u64,
    /// Parts of these at the source.
    pub parts: u64,
    /// Readings (instants) in these.
    pub readings: u64,
}

/// A note that cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[error("the note of how far the migration is, {}: {source}", .path.display())]
pub struct NoteError {
    path: PathBuf,
    source: io::Error,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    form: u32,
    from: String,
    to: String,
    sensor_id: String,
    /// Hours since the epoch.
    hour: i32,
    buckets: u64,
    parts: u64,
    readings: u64,
}

impl Note {
    /// The note in the data directory `dir` on the migration between two stores,
    /// named without secrets.
    #[must_use]
    pub fn in_dir(dir: &Path, from: String, to: String) -> Self {
        Self {
            path: dir.join(FILE),
            from,
            to,
        }
    }

    /// What an earlier run between the same stores noted.
    ///
    /// # Errors
    /// When there is a file and the system does not let it be read.
    pub(super) fn read(&self) -> Result<Option<Reached>, NoteError> {
        let bytes = match fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.failed(error)),
        };
        Ok(self.understood(&bytes))
    }

    fn understood(&self, bytes: &[u8]) -> Option<Reached> {
        let written: Written = serde_json::from_slice(bytes).ok()?;
        let hour = HourStart::from_hours(written.hour);
        let is_this = written.form == FORM && written.from == self.from && written.to == self.to;
        (is_this && hour.hours() == written.hour).then_some(())?;
        Some(Reached {
            last: BucketKey {
                sensor: SensorId::new(&written.sensor_id).ok()?,
                hour,
            },
            buckets: written.buckets,
            parts: written.parts,
            readings: written.readings,
        })
    }

    /// Replaces what is noted; durable when it returns.
    ///
    /// # Errors
    /// What the file system says; the old note stays.
    pub(super) fn write(&self, reached: &Reached) -> Result<(), NoteError> {
        let written = Written {
            form: FORM,
            from: self.from.clone(),
            to: self.to.clone(),
            sensor_id: reached.last.sensor.to_string(),
            hour: reached.last.hour.hours(),
            buckets: reached.buckets,
            parts: reached.parts,
            readings: reached.readings,
        };
        let replace = || {
            let new = self.path.with_extension("json.new");
            let mut file = File::create(&new)?;
            file.write_all(&serde_json::to_vec(&written)?)?;
            file.sync_all()?;
            fs::rename(&new, &self.path)?;
            self.sync_dir()
        };
        replace().map_err(|error| self.failed(error))
    }

    /// Forgets what is noted.
    ///
    /// # Errors
    /// What the file system says.
    pub(super) fn remove(&self) -> Result<(), NoteError> {
        let removed = match fs::remove_file(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            removed => removed.and_then(|()| self.sync_dir()),
        };
        removed.map_err(|error| self.failed(error))
    }

    fn sync_dir(&self) -> io::Result<()> {
        self.path
            .parent()
            .map_or(Ok(()), |dir| File::open(dir)?.sync_all())
    }

    fn failed(&self, source: io::Error) -> NoteError {
        NoteError {
            path: self.path.clone(),
            source,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reached() -> Reached {
        Reached {
            last: BucketKey {
                sensor: SensorId::new("S|1 \"é").unwrap(),
                hour: HourStart::from_hours(-7),
            },
            buckets: 5,
            parts: 6,
            readings: 70,
        }
    }

    #[test]
    fn a_note_is_of_its_two_stores_only_until_it_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let note = |from: &str, to: &str| Note::in_dir(dir.path(), from.into(), to.into());
        let this = note("embedded:/a", "mongodb://h/b");
        assert_eq!(this.read().unwrap(), None);
        this.write(&reached()).unwrap();
        assert_eq!(this.read().unwrap(), Some(reached()));
        let next = Reached {
            buckets: 9,
            ..reached()
        };
        this.write(&next).unwrap();
        assert_eq!(this.read().unwrap(), Some(next));
        for other in [
            note("embedded:/c", "mongodb://h/b"),
            note("embedded:/a", "mongodb://h/c"),
            note("mongodb://h/b", "embedded:/a"),
        ] {
            assert_eq!(other.read().unwrap(), None);
        }
        this.remove().unwrap();
        this.remove().unwrap();
        assert_eq!(this.read().unwrap(), None);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_is_no_whole_note_of_this_form_counts_as_none() {
        let dir = tempfile::tempdir().unwrap();
        let note = Note::in_dir(dir.path(), "a".into(), "b".into());
        note.write(&reached()).unwrap();
        let whole = fs::read(&note.path).unwrap();
        for len in 0..whole.len() {
            fs::write(&note.path, &whole[..len]).unwrap();
            assert_eq!(note.read().unwrap(), None, "{len} bytes");
        }
        let newer = String::from_utf8(whole.clone()).unwrap();
        fs::write(&note.path, newer.replace("\"form\":1", "\"form\":2")).unwrap();
        assert_eq!(note.read().unwrap(), None);
        fs::write(&note.path, whole).unwrap();
        assert_eq!(note.read().unwrap(), Some(reached()));
    }

    #[test]
    fn a_write_that_was_cut_off_leaves_the_old_note() {
        let dir = tempfile::tempdir().unwrap();
        let note = Note::in_dir(dir.path(), "a".into(), "b".into());
        note.write(&reached()).unwrap();
        fs::write(dir.path().join("migration.json.new"), "{\"form\":1,").unwrap();
        assert_eq!(note.read().unwrap(), Some(reached()));
        note.write(&reached()).unwrap();
        assert_eq!(note.read().unwrap(), Some(reached()));
        assert!(!dir.path().join("migration.json.new").exists());
    }

    #[test]
    fn a_note_that_cannot_be_written_is_told_with_its_path() {
        let dir = tempfile::tempdir().unwrap();
        let note = Note::in_dir(&dir.path().join("gone"), "a".into(), "b".into());
        let error = note.write(&reached()).unwrap_err().to_string();
        assert!(error.contains("gone/migration.json"), "{error}");
    }
}
