//! The applier: moves durable records into the buffer, in journal order.
//!
//! From memory while it keeps up, from disk when it lags: normal running,
//! recovery after a start and the backlog of an outage are this one path. When
//! the buffer is at its bound the applier waits; senders are then answered as
//! soon as their batch is durable, and queries say `complete: false`.

mod found_deletions;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::watch;

use found_deletions::FoundDeletions;

use crate::buffer::Buffer;
use crate::clock::Clock;
use crate::journal::disk::Disk;
use crate::journal::tail::{Next, Reply, Tail, TailRecord};
use crate::journal::{FoundDeletion, LogReader, Record};
use crate::metrics::names;

/// How far the applier is; shared with queries, `/readyz` and the flusher.
#[derive(Debug)]
pub struct Progress {
    applied_end: AtomicU64,
    /// Bytes in the journal of the records that are in the buffer, since the start.
    applied_bytes: AtomicU64,
    recovered_end: u64,
    tail: Arc<Tail>,
    changed: watch::Sender<()>,
}

impl Progress {
    /// Progress over a journal whose first record to apply is `first_seq`, and
    /// in which the start found the records before `recovered_end`.
    #[must_use]
    pub fn new(tail: Arc<Tail>, first_seq: u64, recovered_end: u64) -> Arc<Self> {
        Arc::new(Self {
            applied_end: AtomicU64::new(first_seq),
            applied_bytes: AtomicU64::new(0),
            recovered_end,
            tail,
            changed: watch::channel(()).0,
        })
    }

    /// Sequence behind the last record that is in the buffer. Read it before
    /// [`Buffer::lowest_pinned`] when computing what the journal may release.
    #[must_use]
    pub fn applied_end(&self) -> u64 {
        self.applied_end.load(Ordering::Acquire)
    }

    /// Durable records that are not in the buffer.
    #[must_use]
    pub fn lag(&self) -> u64 {
        self.tail.durable_end().saturating_sub(self.applied_end())
    }

    /// Bytes in the journal of durable records that are not in the buffer, without
    /// the heads of their groups.
    #[must_use]
    pub fn lag_bytes(&self) -> u64 {
        let applied = self.applied_bytes.load(Ordering::Relaxed);
        self.tail.durable_bytes().saturating_sub(applied)
    }

    /// Whether the applier waits for memory.
    #[must_use]
    pub fn is_stalled(&self) -> bool {
        self.tail.is_stalled()
    }

    /// Whether every reading that was answered as accepted is in the buffer or
    /// the store. Ask before taking a snapshot of the buffer.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let promised = self.tail.promised_end();
        self.applied_end() >= promised
    }

    /// Whether what the start found is still on its way, and not just waiting
    /// for memory.
    #[must_use]
    pub fn is_recovering(&self) -> bool {
        self.applied_end() < self.recovered_end && !self.tail.is_stalled()
    }

    /// Resolves once everything durable when it is called is applied. It does
    /// not resolve while the applier waits for memory that nobody frees, or when
    /// it has ended early.
    pub async fn caught_up(&self) {
        let end = self.tail.durable_end();
        let mut changed = self.changed.subscribe();
        while self.applied_end() < end {
            if changed.changed().await.is_err() {
                return;
            }
        }
    }

    fn advance(&self, end: u64, bytes: u64) {
        self.applied_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.applied_end.store(end, Ordering::Release);
        self.changed.send_replace(());
    }
}

/// The task.
pub struct Applier {
    tail: Arc<Tail>,
    buffer: Arc<Buffer>,
    clock: Arc<dyn Clock>,
    reader: LogReader,
    progress: Arc<Progress>,
    deletions: FoundDeletions,
}

/// What one turn of the applier did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// A record is in the buffer.
    Applied,
    /// Nothing is durable that is not applied.
    Idle,
    /// The buffer has no room for the next record.
    Full,
    /// The journal has ended.
    Closed,
}

impl Applier {
    /// An applier that continues where `progress` stands, over a journal in which
    /// the start found `deletions`.
    #[must_use]
    pub fn new(
        tail: Arc<Tail>,
        disk: Arc<dyn Disk>,
        buffer: Arc<Buffer>,
        clock: Arc<dyn Clock>,
        progress: Arc<Progress>,
        deletions: Vec<FoundDeletion>,
    ) -> Self {
        let reader = LogReader::new(disk, progress.applied_end());
        Self {
            tail,
            buffer,
            clock,
            reader,
            progress,
            deletions: FoundDeletions(deletions),
        }
    }

    /// Runs until the journal has ended and all of it is applied.
    ///
    /// # Errors
    /// A durable record that cannot be read back: the process must stop, for
    /// nothing is skipped.
    pub async fn run(mut self) -> io::Result<()> {
        let mut held = None;
        loop {
            let (tail, buffer) = (Arc::clone(&self.tail), Arc::clone(&self.buffer));
            let (changed, freed) = (tail.changed(), buffer.freed());
            tokio::pin!(changed, freed);
            // Registered before looking, so that nothing is missed in between.
            changed.as_mut().enable();
            freed.as_mut().enable();
            match self.turn(&mut held)? {
                Turn::Applied => {}
                Turn::Idle => changed.await,
                Turn::Full => freed.await,
                Turn::Closed => return Ok(()),
            }
        }
    }

    /// One turn: at most one record. `held` carries a record that found no room
    /// to the next turn.
    ///
    /// # Errors
    /// As [`Applier::run`].
    pub fn turn(&mut self, held: &mut Option<TailRecord>) -> io::Result<Turn> {
        let seq = self.progress.applied_end();
        let mut record = match held.take() {
            Some(record) => record,
            None => match self.tail.next(seq) {
                Next::Memory(record) => *record,
                Next::Disk => {
                    let (record, bytes) = self.reader.read_sized(seq)?;
                    TailRecord {
                        seq,
                        record,
                        bytes,
                        reply: None,
                    }
                }
                Next::Idle => return Ok(Turn::Idle),
                Next::Closed => return Ok(Turn::Closed),
            },
        };
        let bytes = record.bytes;
        let (received_at, batch) = match &mut record.record {
            Record::Batch {
                received_at, batch, ..
            } => {
                // Once: what is held comes back filtered.
                self.deletions.filter(seq, batch, self.buffer.ledger());
                (&*received_at, &*batch)
            }
            Record::Deletion { sensor, range, .. } => {
                if !self.deletions.is_done(seq) {
                    self.buffer.delete(seq, sensor, *range);
                }
                return Ok(self.advance(seq, bytes, record.reply));
            }
            Record::DeletionDone { .. } => return Ok(self.advance(seq, bytes, record.reply)),
        };
        if !self.buffer.has_room_for(batch) {
            // Once: what frees memory wakes the applier again.
            if !self.tail.is_stalled() {
                self.buffer.want_flush();
            }
            self.tail.stall(&mut record);
            *held = Some(record);
            return Ok(Turn::Full);
        }
        if let Some(oldest) = batch.readings().map(|reading| reading.at()).min() {
            let lateness = received_at.since(oldest) as f64 / 1e6;
            metrics::histogram!(names::LATENESS_SECONDS).record(lateness);
        }
        self.buffer
            .apply(seq, *received_at, batch, self.clock.elapsed());
        Ok(self.advance(seq, bytes, record.reply))
    }

    fn advance(&self, seq: u64, bytes: u64, reply: Option<Reply>) -> Turn {
        self.progress.advance(seq + 1, bytes);
        if let Some(reply) = reply {
            // A sender that went away needs no answer.
            drop(reply.send(Ok(seq)));
        }
        Turn::Applied
    }
}

impl std::fmt::Debug for Applier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Applier")
            .field("progress", &self.progress)
            .finish_non_exhaustive()
    }
}
