//! One suite of claims that every store must keep, run against each store.
//!
//! A store joins with a [`Fixture`] and one line: `for_every_claim!(make)`,
//! where `make` is an async function that returns a fixture on data of its own.
//! Each claim then is one test, named after the store and the claim.

mod embedded;
mod mongodb;
mod no_room;
mod suite;

use std::sync::Arc;

use async_trait::async_trait;
use hourglass::store::Store;

/// The data of one test.
#[async_trait]
pub(crate) trait Fixture: Send {
    /// Opens the store: the first time on no data, later on what is there. The
    /// caller has dropped what it got before.
    async fn open(&mut self) -> Arc<dyn Store>;
}
