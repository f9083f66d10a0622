//! The thread that writes what is queued.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use metrics::gauge;

use super::log::{Faults, Log};
use super::queue::{Batch, Message, Quarantine};
use super::record::Kept;
use crate::clock::Clock;
use crate::config::QuarantineSettings;
use crate::metrics::names;

/// How often ages are looked at.
const TICK: Duration = Duration::from_secs(5);

/// The running thread.
#[derive(Debug)]
pub struct QuarantineThread {
    quarantine: Arc<Quarantine>,
    thread: Option<JoinHandle<()>>,
}

impl Quarantine {
    /// Opens the one in `dir` and starts its thread. Where that cannot be done
    /// the log says why, and nothing is kept: it is no reason not to take
    /// readings. Blocks.
    #[must_use]
    pub fn start(
        dir: &Path,
        settings: &QuarantineSettings,
        clock: Arc<dyn Clock>,
    ) -> QuarantineThread {
        if settings.items_max == 0 {
            return QuarantineThread::none(Self::off(clock));
        }
        let started = Self::try_start(dir, settings, &clock);
        started.unwrap_or_else(|error| {
            tracing::error!(
                dir = %dir.display(),
                %error,
                "refused items are counted and not kept: their directory cannot be used"
            );
            QuarantineThread::none(Self::off(clock))
        })
    }

    fn try_start(
        dir: &Path,
        settings: &QuarantineSettings,
        clock: &Arc<dyn Clock>,
    ) -> io::Result<QuarantineThread> {
        let (log, faults) = Log::open(dir, *settings)?;
        if faults != Faults::default() {
            tracing::warn!(
                dir = %dir.display(),
                torn_bytes = faults.torn_bytes,
                damaged_lines = faults.damaged_lines,
                "kept refused items are damaged: a torn end is cut, damaged lines are not shown"
            );
        }
        let (sender, receiver) = channel();
        let place = (log.segments().clone(), dir.to_owned());
        let quarantine = Self::new(Some(sender), place, settings, Arc::clone(clock));
        let worker = Worker {
            quarantine: Arc::clone(&quarantine),
            log,
            trouble: None,
        };
        let thread = std::thread::Builder::new().name("quarantine".into());
        let thread = thread.spawn(move || worker.run(&receiver))?;
        Ok(QuarantineThread {
            quarantine,
            thread: Some(thread),
        })
    }
}

impl QuarantineThread {
    fn none(quarantine: Arc<Quarantine>) -> Self {
        Self {
            quarantine,
            thread: None,
        }
    }

    /// What it writes for.
    #[must_use]
    pub fn quarantine(&self) -> &Arc<Quarantine> {
        &self.quarantine
    }

    /// Writes what waits and ends the thread.
    pub async fn finish(self) {
        let Some(thread) = self.thread else { return };
        self.quarantine.settle().await;
        if let Some(queue) = &self.quarantine.queue {
            // It may have ended by itself.
            drop(queue.send(Message::Stop));
        }
        // A panic of the thread was printed by its hook; nothing is left to do.
        drop(tokio::task::spawn_blocking(move || thread.join()).await);
    }
}

struct Worker {
    quarantine: Arc<Quarantine>,
    log: Log,
    /// What the disk said last; told once.
    trouble: Option<String>,
}

impl Worker {
    fn run(mut self, queue: &Receiver<Message>) {
        self.trim();
        loop {
            match queue.recv_timeout(TICK) {
                Ok(Message::Keep(batch)) => self.write(&batch),
                // Whoever asked may have gone.
                Ok(Message::Flush(done)) => drop(done.send(())),
                Err(RecvTimeoutError::Timeout) => self.trim(),
                Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn write(&mut self, batch: &Batch) {
        let kept = batch
            .items
            .iter()
            .zip(&batch.peers)
            .map(|(item, peer)| Kept {
                id: 0,
                received_at: batch.received_at,
                source: batch.source,
                peer: *peer,
                header: batch.header.as_deref(),
                item,
            });
        let (kept, written) = self.log.append(kept, self.quarantine.clock.now());
        self.quarantine
            .lose((batch.items.len() as u64).saturating_sub(kept));
        self.note(written);
        self.measure();
    }

    fn trim(&mut self) {
        let trimmed = self.log.trim(self.quarantine.clock.now());
        if trimmed.is_err() {
            self.note(trimmed);
        }
        self.measure();
    }

    fn measure(&self) {
        let segments = self.quarantine.segments.lock();
        let (items, bytes) = segments.iter().fold((0, 0), |(items, bytes), segment| {
            (items + segment.items, bytes + segment.bytes)
        });
        drop(segments);
        gauge!(names::QUARANTINE_ITEMS).set(items as f64);
        gauge!(names::QUARANTINE_BYTES).set(bytes as f64);
    }

    /// Tells a failure of the disk when it begins and when it ends.
    fn note(&mut self, done: io::Result<()>) {
        match done {
            Ok(()) => {
                if self.trouble.take().is_some() {
                    tracing::info!("refused items are kept again");
                }
            }
            Err(error) => {
                let error = error.to_string();
                if self.trouble.as_ref() != Some(&error) {
                    tracing::warn!(
                        error,
                        "the disk takes no more refused items: they are counted and not kept"
                    );
                }
                self.trouble = Some(error);
            }
        }
    }
}
