//! Deletions that a start found in the journal: readings of records before them
//! are left out as these are replayed, or a flush in between would bring back
//! what was deleted. Those that come later go through the buffer.

use std::borrow::Cow;

use crate::journal::FoundDeletion;
use crate::metrics::Ledger;
use crate::model::Batch;

/// In journal order.
#[derive(Debug)]
pub(super) struct FoundDeletions(pub(super) Vec<FoundDeletion>);

impl FoundDeletions {
    /// Whether the deletion `seq` was done in an earlier life.
    pub(super) fn is_done(&self, seq: u64) -> bool {
        self.0.iter().any(|found| found.seq == seq && found.is_done)
    }

    /// Takes out of `batch`, the readings of record `seq`, what was deleted later;
    /// its values are counted. To do it again changes nothing.
    pub(super) fn filter(&mut self, seq: u64, batch: &mut Batch, ledger: &Ledger) {
        // What is behind the applier concerns nobody any more.
        self.0.retain(|found| found.seq >= seq);
        let deletions = &self.0;
        if deletions.is_empty() {
            return;
        }
        let values = batch.value_count() as u64;
        let kept = batch.filtered(|reading| {
            deletions.iter().all(|found| {
                found.seq <= seq
                    || found.sensor != *reading.sensor()
                    || !found.range.contains(reading.at())
            })
        });
        if let Cow::Owned(kept) = kept {
            let gone = values - kept.value_count() as u64;
            ledger.apply(gone);
            ledger.delete(gone);
            *batch = kept;
        }
    }
}
