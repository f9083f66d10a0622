//! The writer thread and its handle: what arrives during one sync is the next
//! group.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};

use super::commit::{Answer, Append, Extent, GroupCommit};
use super::disk::Disk;
use super::frame::{GROUP_HEADER_BYTES, RECORD_HEADER_BYTES};
use super::tail::Tail;
use super::{
    AppendError, KeyedAnswer, LogError, Outlook, Record, Recovered, Reservation, Space, SpaceFull,
};
use crate::config::JournalSettings;
use crate::metrics::Ledger;
use crate::model::Micros;

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
    /// Its disk has no room: it takes writes again once there is some. The
    /// reason.
    NoRoom(String),
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

/// The handle: cheap to clone.
#[derive(Debug, Clone)]
pub struct Journal {
    commands: mpsc::Sender<Command>,
    space: Arc<Space>,
    tail: Arc<Tail>,
    state: watch::Receiver<JournalState>,
    extent: Arc<Extent>,
    outlook: Arc<Mutex<Outlook>>,
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
        let (commit, recovered) =
            GroupCommit::open(disk, Arc::clone(&space), &settings, ledger, watch)?;
        let (commands, receiver) = mpsc::channel(QUEUE_REQUESTS_MAX);
        let (tail, state) = (Arc::clone(commit.tail()), commit.state());
        let extent = Arc::clone(commit.extent());
        let writer = Writer(commit);
        let thread = std::thread::Builder::new()
            .name("journal".into())
            .spawn(move || writer.run(receiver))
            .map_err(|source| LogError::Disk {
                what: "the journal's thread".to_owned(),
                doing: "started",
                source,
            })?;
        let journal = Self {
            commands,
            space,
            tail,
            state,
            extent,
            outlook: Arc::default(),
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
        let (append, answer) = Append::new(record, encoded, reservation);
        let permit = self.commands.reserve().await;
        let permit = permit.map_err(|_| JournalError::Stopping)?;
        permit.send(Command::Append(Box::new(append)));
        admitted();
        Ok(answer)
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

    /// Notes how full it is at `elapsed`; to be called every second or so.
    pub fn note_fill(&self, elapsed: Duration) {
        self.outlook().note(elapsed, self.space.used());
    }

    /// Net growth in bytes per second over the last minute.
    #[must_use]
    pub fn growth(&self) -> f64 {
        self.outlook().growth()
    }

    /// Seconds until it is at its bound if it goes on to grow as in the last
    /// minute; `None` while it does not grow.
    #[must_use]
    pub fn full_in(&self) -> Option<f64> {
        let (used, bytes_max) = (self.space.used(), self.space.bytes_max());
        self.outlook().full_in(used, bytes_max)
    }

    fn outlook(&self) -> MutexGuard<'_, Outlook> {
        self.outlook.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests that wait for the writer.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.commands.max_capacity() - self.commands.capacity()
    }

    /// Segments on disk.
    #[must_use]
    pub fn segments(&self) -> u64 {
        self.extent.segments.load(Ordering::Relaxed)
    }

    /// Records below this sequence pin the oldest segment.
    #[must_use]
    pub fn oldest_segment_end(&self) -> u64 {
        self.extent.oldest_segment_end.load(Ordering::Relaxed)
    }
}

struct Writer(GroupCommit);

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
                        bytes += append.bytes();
                        group.push(*append);
                    }
                    Command::Release(low_water) => self.0.release(low_water),
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
                self.0.commit(std::mem::take(&mut group));
            }
            if let Some((low_water, done)) = end {
                self.finish(low_water, commands);
                if done.send(()).is_err() {
                    tracing::debug!("nobody waits for the end of the journal");
                }
                return;
            }
        }
    }

    /// The last act. A sender that was about to enqueue is waited for and told,
    /// so that none waits for ever.
    fn finish(&mut self, low_water: u64, mut commands: mpsc::Receiver<Command>) {
        self.0.finish(low_water);
        commands.close();
        while let Some(command) = commands.blocking_recv() {
            if let Command::Append(append) = command {
                self.0.refuse_unheard(&append);
            }
        }
    }
}
