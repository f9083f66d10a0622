//! The MongoDB store, in a database of the test's own.

use std::sync::Arc;

use async_trait::async_trait;
use hourglass::store::Store;
use hourglass::store::mongodb::{MongoSettings, MongoStore};

use super::Fixture;
use super::suite::for_every_claim;
use crate::support::mongod::TestDatabase;

struct MongoFixture {
    database: TestDatabase,
}

#[async_trait]
impl Fixture for MongoFixture {
    async fn open(&mut self) -> Arc<dyn Store> {
        let settings = MongoSettings::default();
        Arc::new(MongoStore::connect(&self.database.uri(), settings).unwrap())
    }
}

async fn fixture() -> MongoFixture {
    MongoFixture {
        database: TestDatabase::new().await,
    }
}

for_every_claim!(fixture);
