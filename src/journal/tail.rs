//! Durable records on their way to the applier.
//!
//! Bounded in bytes: what does not fit is left out, and the applier reads it
//! from disk. The sender's answer travels with the record, so that it is given
//! when the applier has it in the buffer; what is left out, or waits while the
//! applier has to wait for memory, is answered as durable at once.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, oneshot};

use super::record::Record;

/// Told to a sender: its record is durable, with this sequence.
pub type Reply = oneshot::Sender<Result<u64, super::AppendError>>;

/// A durable record in memory.
#[derive(Debug)]
pub struct TailRecord {
    /// Its sequence.
    pub seq: u64,
    /// The record.
    pub record: Record,
    /// Bytes of it in the journal.
    pub bytes: u64,
    /// Who waits for it, unless already answered.
    pub reply: Option<Reply>,
}

/// The queue between the writer and the applier.
#[derive(Debug)]
pub struct Tail {
    state: Mutex<State>,
    bytes_max: usize,
    changed: Notify,
}

#[derive(Debug)]
struct State {
    queue: VecDeque<(TailRecord, usize)>,
    bytes: usize,
    /// Sequence behind the last durable record.
    durable_end: u64,
    /// Bytes in the journal of all durable records since the start, those it
    /// found included.
    durable_bytes: u64,
    /// Sequence behind the last record answered before it was applied.
    promised_end: u64,
    /// The applier waits for memory: answers are not to wait for it.
    stalled: bool,
    closed: bool,
}

/// What the applier is to do next.
#[derive(Debug)]
pub enum Next {
    /// Apply this record from memory.
    Memory(Box<TailRecord>),
    /// Read the record that was asked for from disk.
    Disk,
    /// Everything durable is applied; wait for [`Tail::changed`].
    Idle,
    /// Everything durable is applied and no more will come.
    Closed,
}

impl Tail {
    /// A tail of at most `bytes_max` bytes behind a log whose records, of
    /// `durable_bytes` together, end before `durable_end`; those are on disk and
    /// were promised to someone.
    #[must_use]
    pub fn new(bytes_max: usize, durable_end: u64, durable_bytes: u64) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                queue: VecDeque::new(),
                bytes: 0,
                durable_end,
                durable_bytes,
                promised_end: durable_end,
                stalled: false,
                closed: false,
            }),
            bytes_max,
            changed: Notify::new(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes records that just became durable, in order of sequence.
    pub fn push(&self, records: impl Iterator<Item = (TailRecord, usize)>) {
        let mut state = self.lock();
        for (mut record, bytes) in records {
            state.durable_end = record.seq + 1;
            state.durable_bytes += record.bytes;
            let fits = state.bytes + bytes <= self.bytes_max || state.queue.is_empty();
            if !fits || state.stalled {
                state.promise(&mut record);
            }
            if fits {
                state.bytes += bytes;
                state.queue.push_back((record, bytes));
            }
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// What the applier does when the next record it wants is `seq`.
    pub fn next(&self, seq: u64) -> Next {
        let mut state = self.lock();
        state.stalled = false;
        while let Some((front, _)) = state.queue.front() {
            if front.seq > seq {
                return Next::Disk;
            }
            let Some((record, bytes)) = state.queue.pop_front() else {
                break;
            };
            state.bytes -= bytes;
            if record.seq == seq {
                return Next::Memory(Box::new(record));
            }
            // Applied from disk already.
            drop(record);
        }
        if seq < state.durable_end {
            Next::Disk
        } else if state.closed {
            Next::Closed
        } else {
            Next::Idle
        }
    }

    /// The applier has to wait for memory: everybody is answered now, durable
    /// is enough.
    pub fn stall(&self, held: &mut TailRecord) {
        let mut state = self.lock();
        state.stalled = true;
        state.promise(held);
        state.promise_all();
    }

    /// No more records will come. Whoever still waits is answered now: the
    /// applier may be stopped before it gets that far.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.promise_all();
        drop(state);
        self.changed.notify_waiters();
    }

    /// Resolves at the next change after it was created.
    pub fn changed(&self) -> tokio::sync::futures::Notified<'_> {
        self.changed.notified()
    }

    /// Sequence behind the last durable record.
    #[must_use]
    pub fn durable_end(&self) -> u64 {
        self.lock().durable_end
    }

    /// Bytes in the journal of all durable records since the start, those it found
    /// included.
    #[must_use]
    pub fn durable_bytes(&self) -> u64 {
        self.lock().durable_bytes
    }

    /// Sequence behind the last record whose sender was told "accepted" before
    /// it was applied: a query is complete once all below it is applied.
    #[must_use]
    pub fn promised_end(&self) -> u64 {
        self.lock().promised_end
    }

    /// Whether the applier waits for memory.
    #[must_use]
    pub fn is_stalled(&self) -> bool {
        self.lock().stalled
    }
}

impl State {
    fn promise_all(&mut self) {
        let mut queue = std::mem::take(&mut self.queue);
        for (record, _) in &mut queue {
            self.promise(record);
        }
        self.queue = queue;
    }

    fn promise(&mut self, record: &mut TailRecord) {
        self.promised_end = self.promised_end.max(record.seq + 1);
        if let Some(reply) = record.reply.take() {
            // A sender that went away needs no answer.
            drop(reply.send(Ok(record.seq)));
        }
    }
}
