//! `hourglass migrate`: what one store holds into another one, then both
//! compared.
//!
//! **Exactly once.** A bucket goes in under the fence that every write has. What
//! the target holds already is compared: the same is left, the beginning of the
//! same (a run that was cut off) is gone on with, anything else is a conflict,
//! told and never overwritten. So a run may end anywhere and be made again.
//!
//! What the source holds is only read. Neither store may be written to meanwhile.

mod buckets;
mod compare;
mod registry;
mod report;
mod same;

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
}

/// Who is told how it goes.
pub trait Watch: Send {
    /// Something that a person must read.
    fn tell(&mut self, line: &str);

    /// So far.
    fn reached(&mut self, report: &Report);
}

impl Migrate<'_> {
    /// Copies everything, then compares both stores.
    ///
    /// # Errors
    /// When a store cannot be read or written on; the same run may be made again.
    pub async fn run(&self, watch: &mut dyn Watch) -> Result<Report, StoreError> {
        let mut report = Report::default();
        // What was dropped must be known before buckets of those hours come.
        self.copy_sites(&mut report, watch).await?;
        self.copy_sensors(&mut report, watch).await?;
        self.copy_buckets(&mut report, watch).await?;
        self.compare(&mut report, watch).await?;
        Ok(report)
    }
}
