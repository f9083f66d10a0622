//! The writer thread and its handle: group commit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use metrics::histogram;
use tokio::sync::{mpsc, oneshot, watch};

use super::disk::Disk;
use super::frame::{GROUP_HEADER_BYTES, RECORD_HEADER_BYTES};
use super::tail::{Reply, Tail, TailRecord};
use super::{
    AppendError, KeyedAnswer, Log, LogError, Record, Recovered, Reservation, Space, SpaceFull,
};
use crate::config::JournalSettings;
use crate::metrics::{Ledger, names};
use crate::model::{Batch, Micros};

/// Told of every keyed answer that is durable, with its record's sequence and
/// when it was received, in order of sequence: first of those that the start
/// finds, then of each before its record counts as durable anywhere else. So
/// whoever it tells can hold the journal before anybody could release it.
pub type KeyedWatch = Arc<dyn Fn(u64, Micros, Box<KeyedAnswer>) + Send + Sync>;

/// Bytes of records that one group takes at most before it is written.
const GROUP_BYTES_MAX: usize = 8 << 20;

/// Requests that wait for the writer at most; further senders wait to enqueue.
const QUEUE_REQUESTS_MAX: usize = 4096;

/// How the journal is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JournalState {
    /// It takes writes.
    Writing,
    /// A sync failed: it takes none until a restart. The reason.
    Poisoned(String),
}

/// Why an append failed.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Larger than the journal can be sure to take once it is empty.
    #[error(
        "the batch takes {bytes} bytes of the journal, which takes at most {bytes_max} at once; \
         send it in smaller ones, or raise journal.bytes_max"
    )]
    TooLarge {
        /// Its size, encoded.
        bytes: u64,
        /// Half of the journal's bound.
        bytes_max: u64,
    },
    /// At its bound: retry later.
    #[error(transparent)]
    Full(#[from] SpaceFull),
    /// The disk.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The process is stopping.
    #[error("hourglass is stopping")]
    Stopping,
}

enum Command {
    Append(Box<Append>),
    Release(u64),
    Finish(u64, oneshot::Sender<()>),
}

struct Append {
    encoded: Vec<u8>,
    record: Record,
    reservation: Reservation,
    reply: Reply,
}

/// The handle: cheap to clone.
#[derive(Debug, Clone)]
pub struct Journal {
    commands: mpsc::Sender<Command>,
    space: Arc<Space>,
    tail: Arc<Tail>,
    state: watch::Receiver<JournalState>,
    segments: Arc<AtomicU64>,
    oldest_segment_end: Arc<AtomicU64>,
}

/// The writer thread; it ends when every handle is dropped or after
/// [`Journal::finish`].
#[derive(Debug)]
pub struct WriterThread(JoinHandle<()>);

impl WriterThread {
    /// Waits for the thread.
    pub fn join(self) {
        // A panic of the thread was printed by its hook; nothing is left to do.
        drop(self.0.join());
    }
}

/// What the journal will say of a record.
#[derive(Debug)]
pub struct Answer(oneshot::Receiver<Result<u64, AppendError>>);

impl Answer {
    /// Resolves as [`Journal::append`] does.
    ///
    /// # Errors
    /// [`JournalError`]: the record is not and will not be durable.
    pub async fn wait(self) -> Result<u64, JournalError> {
        let seq = self.0.await.map_err(|_| JournalError::Stopping)??;
        Ok(seq)
    }
}

impl Journal {
    /// Opens the log on `disk`, checks it, and starts the writer.
    ///
    /// # Errors
    /// [`LogError`] where the log cannot be read whole.
    pub fn open(
        disk: Arc<dyn Disk>,
        settings: JournalSettings,
        ledger: Arc<Ledger>,
    ) -> Result<(Self, Recovered, WriterThread), LogError> {
        Self::open_watched(disk, settings, ledger, Arc::new(|_, _, _| ()))
    }

    /// As [`Journal::open`], and tells `watch` of keyed answers.
    ///
    /// # Errors
    /// As [`Journal::open`].
    pub fn open_watched(
        disk: Arc<dyn Disk>,
        settings: JournalSettings,
        ledger: Arc<Ledger>,
        watch: KeyedWatch,
    ) -> Result<(Self, Recovered, WriterThread), LogError> {
        let space = Space::new(settings.bytes_max);
        let (log, recovered) = Log::open_with(
            disk,
            Arc::clone(&space),
            settings.segment_bytes,
            &mut |seq, received_at, keyed| watch(seq, received_at, keyed),
        )?;
        ledger.recover(recovered.values);
        let tail = Tail::new(settings.queue_bytes_max, log.next_seq());
        let (commands, receiver) = mpsc::channel(QUEUE_REQUESTS_MAX);
        let (state_sender, state) = watch::channel(JournalState::Writing);
        let segments = Arc::new(AtomicU64::new(log.segments() as u64));
        let oldest_segment_end = Arc::new(AtomicU64::new(log.oldest_segment_end()));
        let writer = Writer {
            log,
            is_refusing: false,
            ledger,
            watch,
            tail: Arc::clone(&tail),
            state: state_sender,
            segments: Arc::clone(&segments),
            oldest_segment_end: Arc::clone(&oldest_segment_end),
        };
        let thread = std::thread::Builder::new()
            .name("journal".into())
            .spawn(move || writer.run(receiver))
            .map_err(|source| LogError::Disk {
                doing: "started",
                source,
            })?;
        let journal = Self {
            commands,
            space,
            tail,
            state,
            segments,
            oldest_segment_end,
        };
        Ok((journal, recovered, WriterThread(thread)))
    }

    /// Appends a record that `encoded` holds encoded: reserves room at once,
    /// then resolves when it is durable and applied, or durable while the
    /// applier lags. `admitted` is called once the record is on its way; from
    /// then on dropping the future takes nothing back.
    ///
    /// # Errors
    /// [`JournalError`]; then the record is not and will not be durable.
    pub async fn append(
        &self,
        record: Record,
        encoded: Vec<u8>,
        admitted: impl FnOnce(),
    ) -> Result<u64, JournalError> {
        let reservation = self.reserve(encoded.len())?;
        let queued = self.enqueue(record, encoded, reservation, admitted);
        queued.await?.wait().await
    }

    /// Reserves room for a record of `encoded_bytes`.
    ///
    /// # Errors
    /// [`JournalError::Full`]: later. [`JournalError::TooLarge`]: never.
    pub fn reserve(&self, encoded_bytes: usize) -> Result<Reservation, JournalError> {
        let bytes = (encoded_bytes + RECORD_HEADER_BYTES + GROUP_HEADER_BYTES) as u64;
        // The other half is enough for the segment that is being written.
        let bytes_max = self.space.bytes_max() / 2;
        if bytes > bytes_max {
            return Err(JournalError::TooLarge { bytes, bytes_max });
        }
        Ok(self.space.reserve(bytes)?)
    }

    /// Queues a record that has its room; the order of the records is that of
    /// these calls. See [`Journal::append`].
    ///
    /// # Errors
    /// [`JournalError::Stopping`].
    pub async fn enqueue(
        &self,
        record: Record,
        encoded: Vec<u8>,
        reservation: Reservation,
        admitted: impl FnOnce(),
    ) -> Result<Answer, JournalError> {
        let (reply, answer) = oneshot::channel();
        let append = Append {
            encoded,
            record,
            reservation,
            reply,
        };
        let permit = self.commands.reserve().await;
        let permit = permit.map_err(|_| JournalError::Stopping)?;
        permit.send(Command::Append(Box::new(append)));
        admitted();
        Ok(Answer(answer))
    }

    /// Everything below `low_water` is confirmed by the store: segments that
    /// hold nothing else go.
    pub async fn release(&self, low_water: u64) {
        // A writer that has ended has released what it could.
        drop(self.commands.send(Command::Release(low_water)).await);
    }

    /// Writes what waits, releases what is confirmed, and ends the writer.
    pub async fn finish(&self, low_water: u64) {
        let (done, finished) = oneshot::channel();
        if self
            .commands
            .send(Command::Finish(low_water, done))
            .await
            .is_ok()
        {
            // The writer drops `done` also when it fails; either way it ended.
            drop(finished.await);
        }
    }

    /// The queue to the applier.
    #[must_use]
    pub fn tail(&self) -> &Arc<Tail> {
        &self.tail
    }

    /// How the journal is.
    #[must_use]
    pub fn state(&self) -> JournalState {
        self.state.borrow().clone()
    }

    /// Bytes on disk and reserved, and the bound.
    #[must_use]
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// Requests that wait for the writer.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.commands.max_capacity() - self.commands.capacity()
    }

    /// Segments on disk.
    #[must_use]
    pub fn segments(&self) -> u64 {
        self.segments.load(Ordering::Relaxed)
    }

    /// Records below this sequence pin the oldest segment.
    #[must_use]
    pub fn oldest_segment_end(&self) -> u64 {
        self.oldest_segment_end.load(Ordering::Relaxed)
    }
}

struct Writer {
    log: Log,
    /// Whether the last group was refused; said once.
    is_refusing: bool,
    ledger: Arc<Ledger>,
    watch: KeyedWatch,
    tail: Arc<Tail>,
    state: watch::Sender<JournalState>,
    segments: Arc<AtomicU64>,
    oldest_segment_end: Arc<AtomicU64>,
}

impl Writer {
    fn run(mut self, mut commands: mpsc::Receiver<Command>) {
        let mut group: Vec<Append> = Vec::new();
        while let Some(command) = commands.blocking_recv() {
            let mut next = Some(command);
            let mut bytes = 0;
            let mut end = None;
            while let Some(command) = next.take() {
                match command {
                    Command::Append(append) => {
                        bytes += append.encoded.len();
                        group.push(*append);
                    }
                    Command::Release(low_water) => {
                        if let Err(error) = self.log.release(low_water) {
                            tracing::warn!(%error, "a journal segment could not be removed; it is tried again");
                        }
                    }
                    Command::Finish(low_water, done) => {
                        end = Some((low_water, done));
                        break;
                    }
                }
                if bytes < GROUP_BYTES_MAX {
                    next = commands.try_recv().ok();
                }
            }
            if !group.is_empty() {
                self.commit(std::mem::take(&mut group));
            }
            if let Some((low_water, done)) = end {
                self.finish(low_water, commands);
                if done.send(()).is_err() {
                    tracing::debug!("nobody waits for the end of the journal");
                }
                return;
            }
            self.publish();
        }
    }

    /// The last act. A sender that was about to enqueue is waited for and told,
    /// so that none waits for ever.
    fn finish(&mut self, low_water: u64, mut commands: mpsc::Receiver<Command>) {
        if let Err(error) = self.log.finish(low_water) {
            tracing::warn!(%error, "the journal could not be tidied at the stop; the next start reads it again");
        }
        self.publish();
        commands.close();
        while let Some(command) = commands.blocking_recv() {
            if let Command::Append(append) = command {
                self.ledger.refuse_items(append.record.counts().0);
            }
        }
    }

    fn commit(&mut self, mut group: Vec<Append>) {
        let started = Instant::now();
        let appended = self.log.append(group.iter().map(|a| a.encoded.as_slice()));
        histogram!(names::JOURNAL_SYNC_SECONDS).record(started.elapsed());
        histogram!(names::JOURNAL_GROUP_RECORDS).record(group.len() as f64);
        match appended {
            Ok(first) => {
                self.publish();
                if std::mem::take(&mut self.is_refusing) {
                    tracing::info!("the journal takes writes again");
                }
                self.tell_keyed(&mut group, first);
                let ledger = Arc::clone(&self.ledger);
                let durable = group.into_iter().zip(first..).map(|(append, seq)| {
                    let Append {
                        record,
                        reservation,
                        reply,
                        encoded: _,
                    } = append;
                    drop(reservation);
                    let (items, values) = record.counts();
                    ledger.accept(items, values);
                    // A record of no readings takes room too.
                    let bytes = record.batch().map_or(0, Batch::bytes);
                    let bytes = size_of::<TailRecord>() + bytes;
                    let tail_record = TailRecord {
                        seq,
                        record,
                        reply: Some(reply),
                    };
                    (tail_record, bytes)
                });
                self.tail.push(durable);
            }
            Err(error) => {
                self.refuse(&error);
                for append in group {
                    self.ledger.refuse_items(append.record.counts().0);
                    drop(append.reservation);
                    // A sender that went away needs no answer.
                    drop(append.reply.send(Err(error.clone())));
                }
            }
        }
    }

    /// Hands over the keyed answers of a group that starts at `first`: nobody
    /// behind the journal needs them.
    fn tell_keyed(&self, group: &mut [Append], first: u64) {
        for (append, seq) in group.iter_mut().zip(first..) {
            if let Record::Batch {
                received_at, keyed, ..
            } = &mut append.record
                && let Some(keyed) = keyed.take()
            {
                (self.watch)(seq, *received_at, keyed);
            }
        }
    }

    /// Says once why groups are refused.
    fn refuse(&mut self, error: &AppendError) {
        let is_first = !std::mem::replace(&mut self.is_refusing, true);
        match error {
            AppendError::NoRoom(_) if is_first => {
                tracing::warn!(%error, "readings are refused until there is room");
            }
            AppendError::NoRoom(_) => {}
            AppendError::Poisoned(_) => {
                let poisoned = JournalState::Poisoned(error.to_string());
                let is_news = |state: &mut JournalState| {
                    let is_news = *state == JournalState::Writing;
                    *state = poisoned;
                    is_news
                };
                if self.state.send_if_modified(is_news) {
                    tracing::error!(%error, "the journal takes no more writes");
                }
            }
        }
    }

    fn publish(&self) {
        self.segments
            .store(self.log.segments() as u64, Ordering::Relaxed);
        self.oldest_segment_end
            .store(self.log.oldest_segment_end(), Ordering::Relaxed);
    }
}

/// However the thread ends, a panic included, the applier is told: it ends then
/// too, and the service notices.
impl Drop for Writer {
    fn drop(&mut self) {
        self.tail.close();
    }
}
