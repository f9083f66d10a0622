//! The parts between the journal and the embedded store, wired as the service
//! wires them, on real files in one data directory.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hourglass::apply::{Applier, Progress, Turn};
use hourglass::buffer::{Buffer, DuePolicy};
use hourglass::clock::{Clock, ManualClock};
use hourglass::config::{BufferSettings, IngestSettings, JournalSettings};
use hourglass::flush::{FlushRound, RoundTurn, low_water};
use hourglass::idempotency::Saver;
use hourglass::journal::disk::{Disk, FsDisk};
use hourglass::journal::{Journal, LogReader, Recovered, WriterThread};
use hourglass::metrics::Ledger;
use hourglass::model::{HourStart, Micros};
use hourglass::service::DataDir;
use hourglass::store::embedded::{EmbeddedSettings, EmbeddedStore};
use hourglass::store::{Store, StoreError, WriterId};
use tokio::task::JoinHandle;

/// 2026-05-01T10 in hours since 1970.
pub(crate) const HOUR: i32 = 493_786;

/// Small enough for several segments in a run.
const SEGMENT_BYTES: u64 = 24 * 1024;
const KEYS_SEGMENT_BYTES: u64 = 4 * 1024;

pub(crate) struct Parts {
    pub(crate) journal: Journal,
    pub(crate) recovered: Recovered,
    pub(crate) progress: Arc<Progress>,
    pub(crate) buffer: Arc<Buffer>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) saver: Saver,
    /// One that the store did not let through; it goes on with the next flush.
    round: Option<FlushRound>,
    clock: Arc<ManualClock>,
    disk: Arc<dyn Disk>,
    applier: JoinHandle<()>,
    writer: WriterThread,
    _data: DataDir,
}

/// The moment of every run.
pub(crate) fn now() -> Micros {
    HourStart::from_hours(HOUR + 48).at(1)
}

impl Parts {
    /// A start on `dir`, in the order of the service's. `number` tells its
    /// writes from those of other processes.
    pub(crate) fn start(dir: &Path, number: u32) -> Result<Self, String> {
        let say = |what: &'static str| move |error: String| format!("{what}: {error}");
        let data = DataDir::open(dir).map_err(|e| say("data directory")(e.to_string()))?;
        let settings = EmbeddedSettings {
            cache_bytes: 1 << 20,
            memtable_bytes: EmbeddedSettings::MEMTABLE_BYTES_MIN,
        };
        let store = EmbeddedStore::open(&data.store(), settings)
            .map_err(|e| say("the store")(e.to_string()))?;
        let store: Arc<dyn Store> = Arc::new(store);
        let clock = Arc::new(ManualClock::new(now()));
        let disk = |dir| FsDisk::open(dir).map_err(|e| say("a directory")(e.to_string()));
        let journal_disk: Arc<dyn Disk> = Arc::new(disk(data.journal())?);
        let (saver, _) = Saver::open_in_segments(
            Arc::new(disk(data.keys())?),
            &IngestSettings::default(),
            Arc::clone(&clock) as Arc<dyn Clock>,
            KEYS_SEGMENT_BYTES,
        )
        .map_err(|e| say("the log of keys")(e.to_string()))?;
        let settings = JournalSettings {
            segment_bytes: SEGMENT_BYTES,
            bytes_max: 64 << 20,
            queue_bytes_max: 1 << 20,
        };
        let ledger = Arc::new(Ledger::default());
        let (journal, recovered, writer) = Journal::open_watched(
            Arc::clone(&journal_disk),
            settings,
            Arc::clone(&ledger),
            saver.keys().watch(),
        )
        .map_err(|e| say("the journal")(e.to_string()))?;
        let tail = Arc::clone(journal.tail());
        let first_seq = recovered.first_seq.unwrap_or(recovered.end_seq);
        let progress = Progress::new(Arc::clone(&tail), first_seq, recovered.end_seq);
        let settings = BufferSettings {
            bytes_max: 64 << 20,
            conflicts_kept: 100,
            conflicts_age_max: std::time::Duration::from_secs(3600),
            recent_readings: 20,
        };
        let buffer = Arc::new(Buffer::new(settings, ledger, WriterId::new(number), None));
        let mut applier = Applier::new(
            tail,
            Arc::clone(&journal_disk),
            Arc::clone(&buffer),
            Arc::clone(&clock) as Arc<dyn Clock>,
            Arc::clone(&progress),
            recovered.deletions.clone(),
        );
        // What a start found is moved in at once; what comes later by a task.
        let mut held = None;
        while applier.turn(&mut held).map_err(|e| e.to_string())? == Turn::Applied {}
        if progress.lag() > 0 {
            return Err("the applier did not get through the journal".to_owned());
        }
        let applier = tokio::spawn(async move {
            applier.run().await.unwrap();
        });
        Ok(Self {
            journal,
            recovered,
            progress,
            buffer,
            store,
            saver,
            round: None,
            clock,
            disk: journal_disk,
            applier,
            writer,
            _data: data,
        })
    }

    /// The records of the journal, read back.
    pub(crate) fn reader(&self, seq: u64) -> LogReader {
        LogReader::new(Arc::clone(&self.disk), seq)
    }

    /// Flushes up to `buckets` of what waits, saves keys, and lets the journal
    /// go on.
    pub(crate) async fn flush(&mut self, buckets: usize) -> Result<(), StoreError> {
        let policy = DuePolicy {
            hour: HourStart::from_hours(HOUR),
            elapsed: self.clock.elapsed(),
            closed_age_max: Duration::ZERO,
            age_max: Duration::ZERO,
            readings_max: 1,
            release_below: None,
            everything: true,
        };
        let new = || FlushRound::new(self.buffer.lease(&policy, buckets));
        let mut round = self.round.take().unwrap_or_else(new);
        loop {
            match round.turn(&self.store, &self.buffer, &*self.clock).await {
                RoundTurn::More => {}
                RoundTurn::Done => break,
                RoundTurn::Refused(error) | RoundTurn::Failed(error) => {
                    self.round = Some(round);
                    return Err(error);
                }
            }
        }
        while self.saver.turn() {}
        let low_water = low_water(&self.progress, &self.buffer);
        let low_water = self.saver.keys().hold(low_water);
        self.journal.release(low_water).await;
        Ok(())
    }

    /// Whether something applied is not confirmed by the store.
    pub(crate) fn is_behind(&self) -> bool {
        low_water(&self.progress, &self.buffer) < self.progress.applied_end()
    }

    /// Flushes all there is.
    pub(crate) async fn drain(&mut self) -> Result<(), StoreError> {
        self.progress.caught_up().await;
        while self.buffer.pending_values() > 0 {
            self.flush(1000).await?;
        }
        self.flush(1000).await
    }

    /// Ends the threads; nothing is tidied up.
    pub(crate) async fn end(self) {
        self.journal.finish(0).await;
        self.writer.join();
        self.applier.abort();
    }
}
