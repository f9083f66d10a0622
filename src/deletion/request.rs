//! Asking for a deletion.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::DeletionReport;
use crate::buffer::Buffer;
use crate::journal::{Journal, JournalError, Record};
use crate::model::{Micros, SensorId, TimeRange};

/// Most deletions that are not done at once.
pub const DELETIONS_MAX: usize = 1000;

/// Reports that are kept for those who ask, the newest.
const REPORTS_KEPT: usize = 1024;

/// How long whoever asks waits for the store.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// Asks for deletions; cheap to clone.
#[derive(Debug, Clone)]
pub struct Deletions {
    journal: Journal,
    buffer: Arc<Buffer>,
    reports: Arc<Mutex<VecDeque<(u64, DeletionReport)>>>,
    reported: Arc<watch::Sender<()>>,
}

/// Why a deletion was not taken.
#[derive(Debug, thiserror::Error)]
pub enum DeletionError {
    /// Too many are not done.
    #[error("{DELETIONS_MAX} deletions are not done yet; ask again once some are")]
    TooMany,
    /// The journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl Deletions {
    /// Deletions noted in `journal`, from what `buffer` and the store behind it
    /// hold.
    #[must_use]
    pub fn new(journal: Journal, buffer: Arc<Buffer>) -> Self {
        Self {
            journal,
            buffer,
            reports: Arc::default(),
            reported: Arc::new(watch::channel(()).0),
        }
    }

    /// Deletes the readings of `sensor` in `range` that were accepted before: once
    /// this is durable they never come back. Answers what was deleted; `None`
    /// where the store has not done it within 30 s, and it will be done later.
    ///
    /// # Errors
    /// [`DeletionError`]: nothing is deleted.
    pub async fn delete(
        &self,
        sensor: SensorId,
        range: TimeRange,
        received_at: Micros,
    ) -> Result<Option<DeletionReport>, DeletionError> {
        if self.buffer.open_deletions() >= DELETIONS_MAX {
            return Err(DeletionError::TooMany);
        }
        let mut reported = self.reported.subscribe();
        let record = Record::Deletion {
            received_at,
            sensor,
            range,
        };
        let encoded = record.encode();
        let seq = self.journal.append(record, encoded, || ()).await?;
        let report = async {
            loop {
                if let Some(report) = self.report_of(seq) {
                    return Some(report);
                }
                if reported.changed().await.is_err() {
                    return None;
                }
            }
        };
        Ok(tokio::time::timeout(WAIT_MAX, report).await.ok().flatten())
    }

    fn report_of(&self, seq: u64) -> Option<DeletionReport> {
        let reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        let found = reports.iter().find(|(of, _)| *of == seq);
        found.map(|(_, report)| *report)
    }

    /// Tells whoever waits what became of the deletion `seq`.
    pub(super) fn tell(&self, seq: u64, report: DeletionReport) {
        let mut reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        if reports.len() == REPORTS_KEPT {
            reports.pop_front();
        }
        reports.push_back((seq, report));
        drop(reports);
        self.reported.send_replace(());
    }

    /// Notes in the journal that the store has done the deletion `seq`.
    pub(super) async fn note_done(&self, seq: u64) -> Result<(), JournalError> {
        let record = Record::DeletionDone { deletion: seq };
        let encoded = record.encode();
        self.journal.append(record, encoded, || ()).await?;
        Ok(())
    }
}
