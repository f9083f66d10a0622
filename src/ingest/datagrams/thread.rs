//! The thread that decodes datagrams and hands them to the journal.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::super::{Admitted, Ingest};
use super::refusals::source_of;
use super::{DatagramBatch, Refusals};
use crate::decode::{DecodedDatagrams, RefusedItem, TimeUnit};
use crate::journal::{Answer, AppendError, JournalError, JournalState, Record, Reservation};
use crate::metrics::UdpDrop;
use crate::model::Micros;
use crate::quarantine::Source;
use crate::receive::{Block, BlockQueue, Most, give_way};

/// What is decoded into one batch at most. Whoever posts over HTTP waits for the
/// batches before it, so they are short: a few milliseconds each.
const BATCH: Most = Most {
    datagrams: 5_000,
    bytes: 4 << 20,
    span_us: 1_000_000,
};

/// Batches that the journal has and has not answered; further ones wait.
const UNDER_WAY_MAX: usize = 2;

/// Pause before a journal without room is tried again.
const RETRY_AFTER: Duration = Duration::from_millis(100);

/// The running thread.
#[derive(Debug)]
pub struct DatagramThread {
    queue: Arc<BlockQueue>,
    ended: CancellationToken,
}

impl DatagramThread {
    /// Starts it: it takes what comes into `queue` until that is closed and
    /// drained, or abandoned.
    ///
    /// # Errors
    /// Where the system has no means for it.
    pub fn start(
        ingest: Ingest,
        queue: Arc<BlockQueue>,
        unit: Option<TimeUnit>,
        runtime: Handle,
    ) -> io::Result<Self> {
        let ended = CancellationToken::new();
        let end = ended.clone().drop_guard();
        let worker = Worker {
            ingest,
            queue: Arc::clone(&queue),
            unit,
            runtime,
            under_way: VecDeque::new(),
            refusals: Refusals::default(),
            is_waiting: false,
        };
        std::thread::Builder::new()
            .name("udp-decode".into())
            .spawn(move || {
                give_way();
                worker.run();
                drop(end);
            })?;
        Ok(Self { queue, ended })
    }

    /// Resolves when the thread has ended.
    pub async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// Resolves when everything in the queue, into which nothing may come any
    /// more, is durable or dropped and the thread has ended. What is left at the
    /// deadline is dropped.
    pub async fn finish(self, deadline: &CancellationToken) {
        self.queue.close();
        tokio::select! {
            () = self.ended.cancelled() => return,
            () = deadline.cancelled() => self.queue.abandon(),
        }
        self.ended.cancelled().await;
    }
}

/// A batch that the journal has.
struct UnderWay {
    /// What it was decoded from, should the journal have had no room after all.
    blocks: Vec<Block>,
    datagrams: u64,
    empty: u64,
    admitted: Admitted,
    answer: Answer,
}

/// Whether a batch comes to the journal for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Try {
    First,
    /// Its rejections are counted and told.
    Again,
}

struct Worker {
    ingest: Ingest,
    queue: Arc<BlockQueue>,
    unit: Option<TimeUnit>,
    runtime: Handle,
    under_way: VecDeque<UnderWay>,
    refusals: Refusals,
    /// Whether the journal has no room; said once.
    is_waiting: bool,
}

impl Worker {
    fn run(mut self) {
        loop {
            // While something waits it is decoded; else the answers are waited
            // for, and what comes meanwhile is one batch.
            let blocks = if self.under_way.is_empty() {
                self.queue.take(BATCH)
            } else {
                self.queue.take_now(BATCH)
            };
            if blocks.is_empty() || self.under_way.len() == UNDER_WAY_MAX {
                match self.under_way.pop_front() {
                    Some(oldest) => self.settle(oldest),
                    None => break,
                }
            }
            if !blocks.is_empty() {
                self.submit(blocks, Try::First);
            }
        }
        self.refusals.tell();
    }

    /// Decodes blocks and hands them to the journal, in the order of the calls.
    fn submit(&mut self, blocks: Vec<Block>, at: Try) {
        if let Some(reason) = self.refusal() {
            return self.drop_blocks(&blocks, reason);
        }
        let DatagramBatch {
            mut all,
            admitted,
            received_at,
        } = self.ingest.decode_datagrams(&blocks, self.unit);
        let batch = std::mem::take(&mut all.decoded.batch);
        let accepted = batch.len() as u64;
        let ledger = Arc::clone(&self.ingest.ledger);
        if accepted == 0 {
            if at == Try::First {
                self.ingest.count(&all.decoded);
                self.note(&mut all, &blocks, received_at);
            }
            return ledger.udp().decode(all.datagrams, all.empty);
        }
        let record = Record::Batch {
            received_at,
            batch,
            keyed: None,
        };
        let encoded = record.encode();
        let reservation = match self.room(encoded.len()) {
            Room::Reserved(reservation) => reservation,
            Room::Never => {
                self.ingest.cap.forget(&admitted.sensors);
                return self.submit_halves(blocks, at);
            }
            Room::Refused(reason) => {
                self.ingest.cap.forget(&admitted.sensors);
                return self.drop_blocks(&blocks, reason);
            }
        };
        let count = || match at {
            Try::First => self.ingest.count(&all.decoded),
            Try::Again => ledger.receive(accepted),
        };
        let journal = &self.ingest.journal;
        let queued = journal.enqueue(record, encoded, reservation, count);
        match self.runtime.block_on(queued) {
            Ok(answer) => {
                if at == Try::First {
                    self.note(&mut all, &blocks, received_at);
                }
                self.under_way.push_back(UnderWay {
                    blocks,
                    datagrams: all.datagrams,
                    empty: all.empty,
                    admitted,
                    answer,
                });
            }
            Err(_) => {
                self.ingest.cap.forget(&admitted.sensors);
                self.drop_blocks(&blocks, UdpDrop::Stopping);
            }
        }
    }

    /// Why nothing can be taken now, nor later.
    fn refusal(&self) -> Option<UdpDrop> {
        if self.queue.is_abandoned() {
            Some(UdpDrop::Stopping)
        } else if matches!(self.ingest.journal.state(), JournalState::Poisoned(_)) {
            Some(UdpDrop::JournalFailed)
        } else {
            None
        }
    }

    /// Room in the journal for `bytes`; waits until there is some.
    fn room(&mut self, bytes: usize) -> Room {
        loop {
            match self.ingest.journal.reserve(bytes) {
                Ok(reservation) => {
                    if std::mem::take(&mut self.is_waiting) {
                        tracing::info!("the journal has room for datagrams again");
                    }
                    return Room::Reserved(reservation);
                }
                Err(JournalError::TooLarge { .. }) => return Room::Never,
                Err(error) => {
                    if !std::mem::replace(&mut self.is_waiting, true) {
                        tracing::warn!(%error, "datagrams wait for room in the journal");
                    }
                }
            }
            self.queue.pause(RETRY_AFTER);
            if let Some(reason) = self.refusal() {
                return Room::Refused(reason);
            }
        }
    }

    /// Tells what was refused, and keeps it.
    fn note(&mut self, all: &mut DecodedDatagrams, blocks: &[Block], received_at: Micros) {
        self.refusals.note(all, blocks, Instant::now());
        let source = Source {
            name: "udp",
            unit: self.unit,
        };
        let refused = std::mem::take(&mut all.decoded.refused);
        let total = all.decoded.rejections.total();
        let peer = |item: &RefusedItem| source_of(blocks, item.body).map(|peer| peer.ip());
        let held = self.ingest.quarantine.hold(refused, total);
        held.keep(source, received_at, peer);
    }

    /// Submits in two pieces what the journal never takes as one.
    fn submit_halves(&mut self, mut blocks: Vec<Block>, at: Try) {
        if blocks.len() > 1 {
            let second = blocks.split_off(blocks.len() / 2);
            self.submit_piece(blocks, at);
            return self.submit_piece(second, at);
        }
        for block in blocks {
            match block.halves() {
                Ok((first, second)) => {
                    self.submit_piece(vec![first], at);
                    self.submit_piece(vec![second], at);
                }
                Err(whole) => self.drop_blocks(&[whole], UdpDrop::TooLarge),
            }
        }
    }

    fn submit_piece(&mut self, blocks: Vec<Block>, at: Try) {
        if self.under_way.len() == UNDER_WAY_MAX
            && let Some(oldest) = self.under_way.pop_front()
        {
            self.settle(oldest);
        }
        self.submit(blocks, at);
    }

    /// Waits for the journal's answer to a batch.
    fn settle(&mut self, batch: UnderWay) {
        let UnderWay {
            blocks,
            datagrams,
            empty,
            admitted,
            answer,
        } = batch;
        let answer = self.runtime.block_on(answer.wait());
        if answer.is_err() {
            self.ingest.cap.forget(&admitted.sensors);
        }
        match answer {
            Ok(_) => {
                self.ingest.cap.settle(&admitted.sensors);
                self.ingest.measure_cap.settle(admitted.measures);
                self.ingest.ledger.udp().decode(datagrams, empty);
            }
            Err(JournalError::Append(AppendError::NoRoom(_))) => {
                self.queue.pause(RETRY_AFTER);
                self.submit(blocks, Try::Again);
            }
            Err(JournalError::Append(_)) => self.drop_blocks(&blocks, UdpDrop::JournalFailed),
            Err(_) => self.drop_blocks(&blocks, UdpDrop::Stopping),
        }
    }

    fn drop_blocks(&self, blocks: &[Block], reason: UdpDrop) {
        let datagrams = blocks.iter().map(|block| block.len() as u64).sum();
        self.ingest.ledger.udp().drop_datagrams(reason, datagrams);
    }
}

/// Room in the journal.
enum Room {
    Reserved(Reservation),
    /// It takes no record of this size, however empty it is.
    Never,
    Refused(UdpDrop),
}
