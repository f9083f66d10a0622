//! Where a test's service keeps its data: a data directory, and a database
//! where the store is MongoDB.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use super::hourglass::{Hourglass, Start};
use super::mongod::TestDatabase;

/// The data of one service, from one start to the next.
pub(crate) struct Site {
    data: TempDir,
    database: Option<TestDatabase>,
}

/// A service's place on each kind of store.
pub(crate) async fn each_store() -> [Site; 2] {
    [Site::embedded().await, Site::mongodb().await]
}

impl Site {
    /// On the embedded store.
    pub(crate) async fn embedded() -> Self {
        Self {
            data: tempfile::tempdir().unwrap(),
            database: None,
        }
    }

    /// On a MongoDB database of its own.
    pub(crate) async fn mongodb() -> Self {
        Self {
            data: tempfile::tempdir().unwrap(),
            database: Some(TestDatabase::new().await),
        }
    }

    /// How to start a service here.
    pub(crate) fn start(&self) -> Start {
        let start = Start::on(&self.data.path().join("data"));
        match &self.database {
            Some(database) => start.store(&database.uri()),
            None => start,
        }
    }

    /// The database, where there is one.
    pub(crate) fn database(&self) -> &TestDatabase {
        self.database.as_ref().unwrap()
    }

    fn journal(&self) -> PathBuf {
        self.data.path().join("data/journal")
    }

    /// Bytes of the files of the journal.
    pub(crate) fn journal_bytes_on_disk(&self) -> u64 {
        let files = fs::read_dir(self.journal()).unwrap();
        // A segment may go while it is looked at.
        let sizes = files.filter_map(|file| Some(file.ok()?.metadata().ok()?.len()));
        sizes.sum()
    }

    /// Stops `server` in order, which must leave nothing to recover, removes
    /// the journal and starts `again`: all it knows is from the store.
    pub(crate) fn restart_from_the_store(&self, server: Hourglass, again: &Start) -> Hourglass {
        let (status, log) = server.stop();
        assert!(status.success(), "{log:#?}");
        let drained = |line: &String| line.contains("everything accepted is in the store");
        assert!(log.iter().any(drained), "{log:#?}");
        fs::remove_dir_all(self.journal()).unwrap();
        let server = again.start();
        let log = server.log();
        let empty = |line: &String| line.contains("the journal is empty: no recovery");
        assert!(log.iter().any(empty), "{log:#?}");
        server
    }
}
