//! One consistent view over store and buffer: a reader sees every acknowledged
//! reading exactly once, flushed or not, in mid-flush too; or the answer says
//! that it may be incomplete.
//!
//! The buffer's snapshot is always taken before the store is read, so what
//! moves from one to the other in between is seen at least once; raw readings
//! then join by identity, hourly fields compare versions.

mod hourly;
mod latest;
mod overlay;
mod readings;
mod sensor;
mod sensors;
mod silent;
mod site_hourly;

pub use hourly::{HourlyAnswer, SensorHoursAnswer};
pub use latest::{Latest, LatestAnswer};
pub use readings::{HourOfReadings, ReadingsAnswer, ReadingsQuery};
pub use sensor::SensorAnswer;
pub use sensors::SensorsAnswer;
pub use site_hourly::{SiteHour, SiteHourlyAnswer};

use std::sync::Arc;

use crate::apply::Progress;
use crate::buffer::Buffer;
use crate::store::{Store, StoreError};

/// Why an answer may miss readings that were acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completeness {
    /// It misses none.
    Complete,
    /// The buffer is at its bound: a backlog waits in the journal.
    Backlog,
    /// The store is away: only what the buffer holds was looked at.
    StoreAway,
}

/// Queries; cheap to clone.
#[derive(Debug, Clone)]
pub struct Query {
    buffer: Arc<Buffer>,
    store: Arc<dyn Store>,
    progress: Arc<Progress>,
}

impl Query {
    /// Queries over `buffer` and `store`.
    #[must_use]
    pub fn new(buffer: Arc<Buffer>, store: Arc<dyn Store>, progress: Arc<Progress>) -> Self {
        Self {
            buffer,
            store,
            progress,
        }
    }

    /// Ask before a snapshot is taken.
    fn completeness(&self) -> Completeness {
        if self.progress.is_complete() {
            Completeness::Complete
        } else {
            Completeness::Backlog
        }
    }
}

/// `Ok(None)` where the store is away, so that the buffer alone answers.
fn unless_away<T>(result: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error @ StoreError::Unavailable { .. }) => {
            tracing::debug!(%error, "answering from the buffer alone");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
