//! The handle, and the thread that writes.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::RefusedItem;
use super::segments::{SegmentPart, Segments};
use crate::clock::Clock;
use crate::config::QuarantineSettings;
use crate::model::RejectCode;

/// Lists of refused items that wait to be written; with those beyond it the disk
/// does not keep up, and they are lost.
const WAITING_MAX: usize = 256;

/// Bytes of them at most.
const WAITING_BYTES_MAX: u64 = 16 << 20;

/// How often bounds of age are looked at.
const EXPIRE_EVERY: Duration = Duration::from_secs(60);

enum Command {
    Keep(Vec<RefusedItem>),
    Finish,
}

/// How many refused items are kept, by reason, and how many were not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Totals {
    /// Items on disk, by reason.
    pub kept: Vec<(RejectCode, u64)>,
    /// Bytes on disk.
    pub bytes: u64,
    /// Items that this process was given and could not keep.
    pub lost: u64,
}

/// The handle; cheap to clone. One that keeps nothing is its default.
#[derive(Debug, Clone, Default)]
pub struct Quarantine(Option<Shared>);

#[derive(Debug, Clone)]
struct Shared {
    commands: SyncSender<Command>,
    segments: Arc<Mutex<Segments>>,
    lost: Arc<AtomicU64>,
    waiting_bytes: Arc<AtomicU64>,
}

/// The thread; it ends after [`QuarantineThread::finish`].
#[derive(Debug)]
pub struct QuarantineThread {
    commands: SyncSender<Command>,
    thread: JoinHandle<()>,
}

impl QuarantineThread {
    /// Writes what waits, and ends. Blocks.
    pub fn finish(self) {
        // A thread that has ended has written what it could.
        drop(self.commands.send(Command::Finish));
        drop(self.thread.join());
    }
}

/// Bytes that items take in memory, about.
fn bytes_of(items: &[RefusedItem]) -> u64 {
    let bytes = |item: &RefusedItem| {
        let header = item.header.as_ref().map_or(0, String::len);
        size_of::<RefusedItem>() + item.item.len() + item.detail.len() + header
    };
    items.iter().map(bytes).sum::<usize>() as u64
}

fn lock(segments: &Mutex<Segments>) -> MutexGuard<'_, Segments> {
    segments.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Quarantine {
    /// Keeps items in `dir` within `settings`; nothing where these say so.
    ///
    /// # Errors
    /// The directory or the thread.
    pub fn open(
        dir: PathBuf,
        settings: QuarantineSettings,
        clock: Arc<dyn Clock>,
    ) -> io::Result<(Self, Option<QuarantineThread>)> {
        if settings.items_max == 0 {
            return Ok((Self::default(), None));
        }
        let mut segments = Segments::open(&dir, settings)?;
        segments.expire(clock.now())?;
        let (commands, waiting) = sync_channel(WAITING_MAX);
        let shared = Shared {
            commands: commands.clone(),
            segments: Arc::new(Mutex::new(segments)),
            lost: Arc::default(),
            waiting_bytes: Arc::default(),
        };
        let writer = shared.clone();
        let thread = std::thread::Builder::new()
            .name("quarantine".into())
            .spawn(move || writer.run(&waiting, &*clock))?;
        Ok((
            Self(Some(shared)),
            Some(QuarantineThread { commands, thread }),
        ))
    }

    /// Whether anything is kept: else items need not be made.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Keeps refused items. Never waits: what finds no room is lost, and counted.
    pub fn keep(&self, items: Vec<RefusedItem>) {
        let Some(shared) = &self.0 else {
            return;
        };
        let (number, bytes) = (items.len() as u64, bytes_of(&items));
        let waiting = shared.waiting_bytes.fetch_add(bytes, Ordering::AcqRel);
        let has_room = waiting + bytes <= WAITING_BYTES_MAX;
        if !has_room || shared.commands.try_send(Command::Keep(items)).is_err() {
            shared.waiting_bytes.fetch_sub(bytes, Ordering::AcqRel);
            shared.lose(number);
        }
    }

    /// Counts items of which nothing but their number is known.
    pub fn lose(&self, items: u64) {
        if let Some(shared) = &self.0 {
            shared.lose(items);
        }
    }

    /// What is kept now, the oldest first.
    #[must_use]
    pub fn parts(&self) -> Vec<SegmentPart> {
        let shared = self.0.as_ref();
        shared.map_or_else(Vec::new, |shared| lock(&shared.segments).parts())
    }

    /// How many are kept and lost.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let Some(shared) = &self.0 else {
            return Totals {
                kept: Vec::new(),
                bytes: 0,
                lost: 0,
            };
        };
        let segments = lock(&shared.segments);
        let kept = RejectCode::ALL.into_iter().zip(segments.by_code());
        Totals {
            kept: kept.filter(|(_, items)| *items > 0).collect(),
            bytes: segments.bytes(),
            lost: shared.lost.load(Ordering::Relaxed),
        }
    }
}

impl Shared {
    fn lose(&self, items: u64) {
        self.lost.fetch_add(items, Ordering::Relaxed);
    }

    fn run(&self, waiting: &Receiver<Command>, clock: &dyn Clock) {
        let mut is_failing = false;
        loop {
            let items = match waiting.recv_timeout(EXPIRE_EVERY) {
                Ok(Command::Keep(items)) => items,
                Ok(Command::Finish) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => Vec::new(),
            };
            self.waiting_bytes
                .fetch_sub(bytes_of(&items), Ordering::AcqRel);
            let mut written = 0;
            let result = self.write(&items, clock, &mut written);
            self.lose(items.len() as u64 - written);
            match result {
                Ok(()) => is_failing = false,
                Err(error) => {
                    if !std::mem::replace(&mut is_failing, true) {
                        tracing::warn!(%error, "refused items cannot be kept; readings are taken as before");
                    }
                }
            }
        }
    }

    fn write(&self, items: &[RefusedItem], clock: &dyn Clock, written: &mut u64) -> io::Result<()> {
        let mut segments = lock(&self.segments);
        for item in items {
            let mut line = serde_json::to_vec(item)?;
            line.push(b'\n');
            segments.append(&line, item.reason, item.received_at)?;
            *written += 1;
        }
        segments.expire(clock.now())
    }
}
