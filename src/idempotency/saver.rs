//! The log of keys, and the thread that writes it.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot;

use super::Keys;
use super::table::{Place, Remembered};
use crate::clock::Clock;
use crate::config::IngestSettings;
use crate::journal::disk::Disk;
use crate::journal::{AppendError, Log, LogError, Record, Recovered, Space};
use crate::model::Batch;

/// How often the journal's keys go to the log of keys. The journal has them
/// durable, so this costs no answer; it only holds the journal that much longer.
const TICK: Duration = Duration::from_millis(500);

/// Bytes of answers in one group.
const GROUP_BYTES_MAX: usize = 4 << 20;

/// Bytes of a segment: what is forgotten goes from the disk in pieces of this.
const SEGMENT_BYTES: u64 = 4 << 20;

/// The log of keys: whatever is remembered is there, or held in the journal.
pub struct Saver {
    keys: Arc<Keys>,
    log: Log,
    /// What the log holds, in order, from its first segment on.
    logged: VecDeque<(u64, Place)>,
    /// What failed last; each trouble is told once.
    trouble: Option<String>,
}

/// The running thread.
#[derive(Debug)]
pub struct SaverThread {
    keys: Arc<Keys>,
    thread: JoinHandle<()>,
    ended: oneshot::Receiver<()>,
}

impl Saver {
    /// Reads the log of keys on `disk`, checks it, cuts a torn end, and answers
    /// the keys that are remembered.
    ///
    /// # Errors
    /// [`LogError`] where the log cannot be read whole.
    pub fn open(
        disk: Arc<dyn Disk>,
        settings: &IngestSettings,
        clock: Arc<dyn Clock>,
    ) -> Result<(Self, Recovered), LogError> {
        Self::open_in_segments(disk, settings, clock, SEGMENT_BYTES)
    }

    /// [`Saver::open`] with segments of another size, for tests.
    ///
    /// # Errors
    /// As [`Saver::open`].
    pub fn open_in_segments(
        disk: Arc<dyn Disk>,
        settings: &IngestSettings,
        clock: Arc<dyn Clock>,
        segment_bytes: u64,
    ) -> Result<(Self, Recovered), LogError> {
        let keys = Keys::new(settings, clock);
        let mut logged = VecDeque::new();
        // Its bytes are bounded by what is remembered.
        let space = Space::new(u64::MAX);
        let (log, recovered) = Log::open_with(
            disk,
            space,
            segment_bytes,
            &mut |seq, received_at, keyed| {
                let place = Place::Log(seq);
                logged.push_back((seq, place));
                keys.insert(place, received_at, keyed);
            },
        )?;
        let saver = Self {
            keys,
            log,
            logged,
            trouble: None,
        };
        Ok((saver, recovered))
    }

    /// The keys that it saves.
    #[must_use]
    pub fn keys(&self) -> &Arc<Keys> {
        &self.keys
    }

    /// One turn: saves a group of what only the journal has, and removes the
    /// segments in which nothing is remembered. Whether there may be more to
    /// save.
    pub fn turn(&mut self) -> bool {
        let unsaved = self.keys.next_unsaved(GROUP_BYTES_MAX);
        let done = match self.save(&unsaved) {
            Ok(()) => self.release().map_err(|error| error.to_string()),
            Err(AppendError::NoRoom(why) | AppendError::Poisoned(why)) => Err(why),
        };
        match done {
            Ok(()) => {
                if self.trouble.take().is_some() {
                    tracing::info!("the log of idempotency keys is written again");
                }
            }
            Err(error) => {
                if self.trouble.as_ref() != Some(&error) {
                    tracing::error!(
                        error,
                        "the log of idempotency keys cannot be written; the journal keeps what it lacks"
                    );
                }
                self.trouble = Some(error);
            }
        }
        !unsaved.is_empty() && self.trouble.is_none()
    }

    fn save(&mut self, unsaved: &[Arc<Remembered>]) -> Result<(), AppendError> {
        let Some(last) = unsaved.last() else {
            return Ok(());
        };
        let record = |entry: &Arc<Remembered>| {
            let record = Record::Batch {
                received_at: entry.received_at,
                batch: Batch::default(),
                keyed: Some(entry.keyed.clone()),
            };
            record.encode()
        };
        let encoded: Vec<Vec<u8>> = unsaved.iter().map(record).collect();
        let first = self.log.append(encoded.iter().map(Vec::as_slice))?;
        let places = unsaved.iter().map(|entry| entry.place);
        self.logged.extend((first..).zip(places));
        self.keys.saved(last.place);
        Ok(())
    }

    fn release(&mut self) -> io::Result<()> {
        let places = self.logged.iter().map(|(_, place)| *place);
        let first = self.keys.first_remembered(places);
        self.logged.drain(..first.unwrap_or(self.logged.len()));
        let next_seq = self.log.next_seq();
        let low_water = self.logged.front().map_or(next_seq, |(seq, _)| *seq);
        self.log.release(low_water)
    }

    /// Starts the thread.
    ///
    /// # Errors
    /// What the system says.
    pub fn spawn(self) -> io::Result<SaverThread> {
        let keys = Arc::clone(&self.keys);
        let (alive, ended) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("keys".into())
            .spawn(move || self.run(alive))?;
        Ok(SaverThread {
            keys,
            thread,
            ended,
        })
    }

    fn run(mut self, _alive: oneshot::Sender<()>) {
        loop {
            let is_last = self.keys.wait(TICK);
            while self.turn() {}
            if is_last {
                return;
            }
        }
    }
}

impl SaverThread {
    /// Resolves when the thread has ended.
    pub async fn ended(&mut self) {
        // Nothing is sent; the sender goes with the thread.
        drop((&mut self.ended).await);
    }

    /// Saves what only the journal has, and ends the thread.
    pub async fn finish(mut self) {
        self.keys.stop();
        self.ended().await;
        // A panic of the thread was printed by its hook; nothing is left to do.
        drop(self.thread.join());
    }
}

impl std::fmt::Debug for Saver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Saver")
            .field("log", &self.log)
            .field("trouble", &self.trouble)
            .finish_non_exhaustive()
    }
}
