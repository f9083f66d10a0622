//! `hourglass verify`: every document and record of a store against what it must
//! be: its key, its form, its order and version; computed fields against readings,
//! newest readings of sensors against their buckets, copies of sites against
//! the sites; and whether every sensor with buckets has a record.
//!
//! **What is not known is left alone.** A field, format or type that this version
//! does not know may be right for another one: it is told, and nothing is written
//! to what holds it.
//!
//! **Repairs.** Each is one atomic, fenced step: the computed fields of a part, the
//! closing of a part, the newest readings of a sensor; the copies of a site go
//! batch by batch, and the site notes how far they are. So a run may end anywhere:
//! what it did is right, and the next one looks at everything anew. What another
//! process changed in between is not repaired, as the fence does not hold; it is
//! told.
//!
//! **Beside a running service.** A run sees documents of different moments. What
//! does not fit is looked at once more, of one instant and a while later, before it
//! is told; where it was written to in between, again and again.

mod buckets;
mod copies;
mod form;
mod progress;
mod recent;
mod records;
mod report;
mod unrecorded;

pub use progress::{Console, Progress};
pub use report::Report;

use std::time::Duration;

use self::unrecorded::Unrecorded;
use crate::store::{Store, StoreError, WriterId};

/// How much later something is looked at again: a deletion changes parts one by
/// one, and a service stores readings first and then tells the sensor's record.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// How often what is written to all the time is looked at again before it is told:
/// one look may meet the moment between two writes that belong together, so many in
/// a row do not.
const LOOKS_MAX: usize = 5;

/// Most things that wait to be looked at again.
const LOOK_AGAIN_MAX: usize = 1000;

/// What is done about what is found.
#[derive(Debug)]
pub struct Verify<'a> {
    /// Where.
    pub store: &'a dyn Store,
    /// Whether it is put right.
    pub repair: bool,
    /// Numbers the repairs.
    pub writer: &'a WriterId,
    /// Newest readings that a sensor's record is to keep.
    pub recent_readings: usize,
}

/// Who is told how it goes.
pub trait Watch: Send {
    /// A finding, or a repair.
    fn tell(&mut self, line: &str);

    /// So far.
    fn reached(&mut self, progress: &Progress);
}

/// Who hears of findings alone.
impl<F: FnMut(&str) + Send> Watch for F {
    fn tell(&mut self, line: &str) {
        self(line);
    }

    fn reached(&mut self, _: &Progress) {}
}

impl Verify<'_> {
    /// Checks every bucket, every sensor and every site.
    ///
    /// # Errors
    /// When the store cannot be read on.
    pub async fn run(&self, watch: &mut dyn Watch) -> Result<Report, StoreError> {
        let mut report = Report::default();
        let mut unrecorded = Unrecorded::default();
        let unsound = self.buckets(&mut unrecorded, &mut report, watch).await?;
        self.records(&unsound, &mut report, watch).await?;
        // Last, so that a service had all this time to make them.
        unrecorded.look_again(self, &mut report, watch).await?;
        Ok(report)
    }

    /// Waits until what others were about to write is written.
    async fn pause(&self) {
        if self.store.is_shared() {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
}
