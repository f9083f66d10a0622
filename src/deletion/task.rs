//! The task that does deletions, one after the other.

use std::sync::Arc;
use std::time::Duration;

use metrics::counter;

use super::{DeletionRun, DeletionTurn, Deletions};
use crate::buffer::{Buffer, OpenDeletion};
use crate::config::FlushSettings;
use crate::flush::Backoff;
use crate::metrics::names;
use crate::store::{Store, StoreError, WriterId};

/// How often it looks though nobody called.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// The task. Runs until it is dropped.
#[derive(Debug)]
pub struct DeletionTask {
    deletions: Deletions,
    buffer: Arc<Buffer>,
    store: Arc<dyn Store>,
    writer: WriterId,
    settings: FlushSettings,
}

impl DeletionTask {
    /// Does what `deletions` asks for, at `store`; pauses as flushes do.
    #[must_use]
    pub fn new(
        deletions: Deletions,
        buffer: Arc<Buffer>,
        store: Arc<dyn Store>,
        writer: WriterId,
        settings: FlushSettings,
    ) -> Self {
        Self {
            deletions,
            buffer,
            store,
            writer,
            settings,
        }
    }

    /// Does one after the other.
    pub async fn run(self) {
        loop {
            let buffer = Arc::clone(&self.buffer);
            let wanted = buffer.deletion_wanted();
            tokio::pin!(wanted);
            // Registered before looking, so that nothing is missed in between.
            wanted.as_mut().enable();
            match self.buffer.next_deletion() {
                Some(deletion) => self.finish(deletion).await,
                None => {
                    tokio::select! {
                        () = wanted => {}
                        () = tokio::time::sleep(LOOK_EVERY) => {}
                    }
                }
            }
        }
    }

    async fn finish(&self, deletion: OpenDeletion) {
        let seq = deletion.seq;
        let sensor = deletion.sensor.clone();
        let mut is_told = false;
        let mut run = DeletionRun::new(deletion);
        let mut backoff = Backoff::new(self.settings.retry_min, self.settings.retry_max);
        let report = loop {
            match run.turn(&self.store, &self.buffer, &self.writer).await {
                DeletionTurn::More => backoff.reset(),
                DeletionTurn::Failed(error) => {
                    let is_away = matches!(error, StoreError::Unavailable { .. });
                    if is_away || is_told {
                        tracing::debug!(%error, "a deletion waits for the store");
                    } else {
                        tracing::warn!(%sensor, %error, "a deletion, and all behind it, wait for a sensor to be mended");
                        is_told = true;
                    }
                    tokio::time::sleep(backoff.wait()).await;
                }
                DeletionTurn::Done(report) => break report,
            }
        };
        counter!(names::DELETIONS_TOTAL).increment(1);
        counter!(names::DELETED_READINGS_TOTAL).increment(report.readings);
        // Durable before its buckets are flushed again: a start that did not know
        // would delete what was flushed, and store it once more from the journal;
        // but readings of other processes would be lost. Where the journal takes
        // nothing it must be let go all the same, or it would never have room.
        if let Err(error) = self.deletions.note_done(seq).await {
            tracing::warn!(%error, "a deletion is done and the journal does not say so; a start before the journal moved on does it again");
        }
        self.buffer.end_deletion(seq);
        self.buffer.unpin_deletion(seq);
        self.deletions.tell(seq, report);
    }
}
