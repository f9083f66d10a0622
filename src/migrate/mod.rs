//! `hourglass migrate`: what one store holds into another one, then both
//! compared.
//!
//! **Exactly once.** A bucket goes in under the fence that every write has. What
//! the target holds already is compared: the same is left, the beginning of the
//! same (a run that was cut off) is gone on with, anything else is a conflict,
//! told and never overwritten. So a run may end anywhere and be made again.
//!
//! **Going on.** A [`Note`] says up to which bucket the target holds the source
//! durably, so that the next run need not look at these before the end. It saves
//! time and is trusted with nothing: the comparison is always of everything.
//!
//! What the source holds is only read. Neither store may be written to meanwhile.

mod buckets;
mod compare;
mod note;
mod progress;
mod registry;
mod report;
mod same;

pub use note::{Note, NoteError, Reached};
pub use progress::{Console, Progress, Stage};
pub use report::Report;

use crate::store::{Store, StoreError, WriterId};

/// Buckets of one round.
const BUCKETS_AT_ONCE: usize = crate::store::LOADS_AT_ONCE;

/// Values of one round, unless a single bucket has more.
const VALUES_AT_ONCE: usize = 1 << 18;

/// Sensors and sites that one call lists.
const RECORDS_AT_ONCE: usize = 500;

/// From where to where.
#[derive(Debug)]
pub struct Migrate<'a> {
    /// What is copied.
    pub from: &'a dyn Store,
    /// Where it goes.
    pub to: &'a dyn Store,
    /// Numbers the writes.
    pub writer: &'a WriterId,
    /// Where it is noted how far it is; without one a run that is made again
    /// looks at everything.
    pub note: Option<&'a Note>,
}

/// Why a migration did not come to its end. The same run may be made again.
#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    /// A store cannot be read, or written to.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// How far it is cannot be noted.
    #[error(transparent)]
    Note(#[from] NoteError),
}

/// Who is told how it goes.
pub trait Watch: Send {
    /// Something that a person must read.
    fn tell(&mut self, line: &str);

    /// So far.
    fn reached(&mut self, progress: &Progress);
}

impl Migrate<'_> {
    /// Copies everything, then compares both stores.
    ///
    /// # Errors
    /// [`MigrateError`].
    pub async fn run(&self, watch: &mut dyn Watch) -> Result<Report, MigrateError> {
        let mut report = Report::default();
        let parts_total = self.from.part_count().await?;
        // What was dropped must be known before buckets of those hours come.
        self.copy_sites(&mut report, watch).await?;
        self.copy_sensors(&mut report, watch).await?;
        self.copy_buckets(parts_total, &mut report, watch).await?;
        self.compare(parts_total, &mut report, watch).await?;
        if let Some(note) = self.note {
            // Where something differs, the next run is to look at everything.
            note.remove()?;
        }
        Ok(report)
    }
}
