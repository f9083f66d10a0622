//! A journal with its writer thread and the applier behind it.

use std::sync::Arc;

use hourglass::apply::{Applier, Progress};
use hourglass::buffer::Buffer;
use hourglass::clock::{Clock, ManualClock};
use hourglass::config::{BufferSettings, JournalSettings};
use hourglass::journal::disk::Disk;
use hourglass::journal::{Journal, JournalError, Recovered, WriterThread};
use hourglass::metrics::Ledger;
use hourglass::model::Micros;
use hourglass::store::WriterId;
use tokio::task::JoinHandle;

use super::builders::{NOON, record};
use crate::support::sim_disk::SimDisk;

pub(super) struct Running {
    pub(super) journal: Journal,
    pub(super) recovered: Recovered,
    pub(super) progress: Arc<Progress>,
    pub(super) buffer: Arc<Buffer>,
    writer: WriterThread,
    applier: JoinHandle<std::io::Result<()>>,
}

impl Running {
    /// With a bound of `bytes_max` and segments of a quarter of it.
    pub(super) fn start(disk: &SimDisk, bytes_max: u64) -> Self {
        let settings = JournalSettings {
            segment_bytes: bytes_max / 4,
            bytes_max,
            queue_bytes_max: 1 << 20,
        };
        let disk: Arc<dyn Disk> = Arc::new(disk.clone());
        let ledger = Arc::new(Ledger::default());
        let opened = Journal::open(Arc::clone(&disk), settings, Arc::clone(&ledger));
        let (journal, recovered, writer) = opened.unwrap();
        let first_seq = recovered.first_seq.unwrap_or(recovered.end_seq);
        let tail = Arc::clone(journal.tail());
        let progress = Progress::new(Arc::clone(&tail), first_seq, recovered.end_seq);
        let buffer = Arc::new(Buffer::new(
            BufferSettings::default(),
            ledger,
            WriterId::new(1),
            None,
        ));
        let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(Micros::new(NOON).unwrap()));
        let applier = Applier::new(
            tail,
            disk,
            Arc::clone(&buffer),
            clock,
            Arc::clone(&progress),
            Vec::new(),
        );
        Self {
            journal,
            recovered,
            progress,
            buffer,
            writer,
            applier: tokio::spawn(applier.run()),
        }
    }

    /// Appends record `number`.
    pub(super) fn append(
        &self,
        number: u64,
    ) -> impl Future<Output = Result<u64, JournalError>> + 'static + use<> {
        let journal = self.journal.clone();
        async move {
            let record = record(number);
            let encoded = record.encode();
            journal.append(record, encoded, || ()).await
        }
    }

    /// Ends the writer, then [`Running::end`].
    pub(super) async fn stop(self) {
        self.journal.finish(0).await;
        self.end().await;
    }

    /// Waits for the applier after the writer has ended: how far it came.
    pub(super) async fn end(self) -> u64 {
        self.writer.join();
        self.applier.await.unwrap().unwrap();
        self.progress.applied_end()
    }
}
