//! The embedded store, in a directory of the test's own.

use std::sync::Arc;

use async_trait::async_trait;
use hourglass::store::Store;
use hourglass::store::embedded::{EmbeddedSettings, EmbeddedStore};
use tempfile::TempDir;

use super::Fixture;
use super::suite::for_every_claim;

struct EmbeddedFixture {
    dir: TempDir,
}

#[async_trait]
impl Fixture for EmbeddedFixture {
    async fn open(&mut self) -> Arc<dyn Store> {
        let settings = EmbeddedSettings::default();
        Arc::new(EmbeddedStore::open(&self.dir.path().join("store"), settings).unwrap())
    }
}

async fn fixture() -> EmbeddedFixture {
    EmbeddedFixture {
        dir: tempfile::tempdir().unwrap(),
    }
}

for_every_claim!(fixture);
