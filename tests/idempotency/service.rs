//! The accept path with journal, applier and keys, on disks that a test holds
//! and fails.

use std::sync::Arc;

use bytes::Bytes;
use hourglass::apply::{Applier, Progress};
use hourglass::buffer::Buffer;
use hourglass::clock::{Clock, ManualClock};
use hourglass::config::{BufferSettings, IngestSettings, JournalSettings, LineProtocolSettings};
use hourglass::idempotency::{IdempotencyKey, Keys};
use hourglass::ingest::{Format, Ingest, IngestError, Intake, KeyedOutcome, KeyedRequest};
use hourglass::journal::disk::Disk;
use hourglass::journal::{Journal, WriterThread};
use hourglass::metrics::Ledger;
use hourglass::model::Micros;
use hourglass::store::WriterId;
use tokio::task::JoinHandle;

use super::builders::NOON;
use crate::support::sim_disk::SimDisk;

pub(super) struct Service {
    pub(super) disk: SimDisk,
    pub(super) keys: Arc<Keys>,
    pub(super) ledger: Arc<Ledger>,
    pub(super) buffer: Arc<Buffer>,
    ingest: Ingest,
    journal: Journal,
    writer: WriterThread,
}

/// The future of a request, on its way.
pub(super) type Request = JoinHandle<Result<KeyedOutcome, IngestError>>;

impl Service {
    pub(super) fn start() -> Self {
        let disk = SimDisk::default();
        let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(Micros::new(NOON).unwrap()));
        let settings = IngestSettings::default();
        let keys = Keys::new(&settings, Arc::clone(&clock));
        let ledger = Arc::new(Ledger::default());
        let (journal, _, writer) = Journal::open_watched(
            Arc::new(disk.clone()),
            JournalSettings::default(),
            Arc::clone(&ledger),
            keys.watch(),
        )
        .unwrap();
        let progress = Progress::new(Arc::clone(journal.tail()), 1, 1);
        let buffer = Arc::new(Buffer::new(
            BufferSettings::default(),
            Arc::clone(&ledger),
            WriterId::new(1),
            None,
        ));
        let applier = Applier::new(
            Arc::clone(journal.tail()),
            Arc::new(disk.clone()) as Arc<dyn Disk>,
            Arc::clone(&buffer),
            Arc::clone(&clock),
            progress,
            Vec::new(),
        );
        tokio::spawn(applier.run());
        let ingest = Ingest::new(
            journal.clone(),
            Arc::clone(&keys),
            Arc::clone(&ledger),
            clock,
            settings,
            LineProtocolSettings::default(),
        );
        Self {
            disk,
            keys,
            ledger,
            buffer,
            ingest,
            journal,
            writer,
        }
    }

    /// A request of `route` with `key`, begun.
    pub(super) fn send_to(
        &self,
        route: &'static str,
        key: &str,
        format: Format,
        body: &str,
    ) -> Request {
        let request = KeyedRequest {
            key: IdempotencyKey::new(key.as_bytes()).unwrap(),
            route,
        };
        let how = Intake {
            format,
            unit: None,
            unit_parameter: "unit",
            source: "/v1/readings",
            peer: None,
        };
        let (ingest, body) = (self.ingest.clone(), Bytes::from(body.to_owned()));
        tokio::spawn(async move { ingest.accept_keyed(request, body, how, ()).await })
    }

    pub(super) fn send(&self, key: &str, body: &str) -> Request {
        self.send_to("readings", key, Format::Json, body)
    }

    /// Requests for the journal that have reached its writer or wait for it.
    pub(super) fn queued(&self) -> usize {
        self.journal.queued()
    }

    /// Ends the writer's thread, then says what the ledger has.
    pub(super) async fn stop(self) -> hourglass::metrics::LedgerSnapshot {
        self.journal.finish(0).await;
        self.writer.join();
        self.ledger.snapshot(self.buffer.pending_values())
    }
}
