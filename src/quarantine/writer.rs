//! The queue, the thread behind it, and what is asked of both.

use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use metrics::{counter, gauge};
use tokio::sync::oneshot;

use super::log::{Faults, Log, SharedSegments};
use super::query::{RejectedQuery, Segments};
use super::record::{Kept, Source};
use crate::clock::Clock;
use crate::config::QuarantineSettings;
use crate::decode::{Refused, RefusedItem};
use crate::metrics::names;
use crate::model::{Micros, Order, RejectCode};

/// Bytes that may wait to be written.
const QUEUE_BYTES_MAX: usize = 8 << 20;

/// Bytes of refused items that one body may bring.
const BODY_BYTES_MAX: usize = 1 << 20;

/// How often ages are looked at.
const TICK: Duration = Duration::from_secs(5);

/// What waits to be written.
struct Batch {
    items: Vec<RefusedItem>,
    header: Option<Box<[u8]>>,
    source: Source,
    peers: Vec<Option<IpAddr>>,
    received_at: Micros,
    /// Given back when it is written or lost.
    _weight: Weight,
}

/// Bytes that count as waiting.
struct Weight {
    quarantine: Arc<Quarantine>,
    bytes: usize,
}

impl Drop for Weight {
    fn drop(&mut self) {
        self.quarantine.queued_bytes.fetch_sub(self.bytes, Relaxed);
    }
}

/// What was refused of a body, until it is known whether the body is taken.
/// Dropped, nothing of it is kept or counted.
pub struct Held {
    refused: Refused,
    total: u64,
    weight: Weight,
}

impl Held {
    /// Keeps it; `peer` says where each item came from. Never blocks.
    pub fn keep(
        self,
        source: Source,
        received_at: Micros,
        peer: impl Fn(&RefusedItem) -> Option<IpAddr>,
    ) {
        if self.total == 0 {
            return;
        }
        let quarantine = Arc::clone(&self.weight.quarantine);
        let (items, header) = self.refused.into_parts();
        let brought = items.len() as u64;
        let Some(queue) = quarantine.queue.as_ref().filter(|_| brought > 0) else {
            return quarantine.lose(self.total);
        };
        quarantine.lose(self.total.saturating_sub(brought));
        let batch = Batch {
            peers: items.iter().map(peer).collect(),
            items,
            header,
            source,
            received_at,
            _weight: self.weight,
        };
        if queue.send(Message::Keep(batch)).is_err() {
            quarantine.lose(brought);
        }
    }
}

enum Message {
    Keep(Batch),
    /// To be answered when everything before is written.
    Flush(oneshot::Sender<()>),
    Stop,
}

/// How many items are kept, and how many are not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Totals {
    /// Kept items by reason; reasons of which there is none are left out.
    pub kept: Vec<(RejectCode, u64)>,
    /// Items of this process that were refused and are not kept, for want of
    /// room; those that went at a bound are not among them.
    pub not_kept: u64,
    /// When the oldest one was received.
    pub oldest: Option<Micros>,
    /// Since when `not_kept`, and the ledger, count.
    pub since: Micros,
}

/// Refused items; shared by those who keep and those who ask.
pub struct Quarantine {
    /// `None` where nothing is kept.
    queue: Option<Sender<Message>>,
    queued_bytes: AtomicUsize,
    not_kept: AtomicU64,
    segments: SharedSegments,
    dir: PathBuf,
    age_max_us: i64,
    clock: Arc<dyn Clock>,
    since: Micros,
}

impl std::fmt::Debug for Quarantine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Quarantine")
            .field("dir", &self.dir)
            .finish_non_exhaustive()
    }
}

/// The running thread.
#[derive(Debug)]
pub struct QuarantineThread {
    quarantine: Arc<Quarantine>,
    thread: Option<JoinHandle<()>>,
}

impl Quarantine {
    /// One that keeps nothing.
    #[must_use]
    pub fn off(clock: Arc<dyn Clock>) -> Arc<Self> {
        let settings = QuarantineSettings::default();
        let nowhere = (SharedSegments::default(), PathBuf::new());
        Self::new(None, nowhere, &settings, clock)
    }

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

    fn new(
        queue: Option<Sender<Message>>,
        (segments, dir): (SharedSegments, PathBuf),
        settings: &QuarantineSettings,
        clock: Arc<dyn Clock>,
    ) -> Arc<Self> {
        Arc::new(Self {
            queue,
            queued_bytes: AtomicUsize::new(0),
            not_kept: AtomicU64::new(0),
            segments,
            dir,
            age_max_us: i64::try_from(settings.age_max.as_micros()).unwrap_or(i64::MAX),
            since: clock.now(),
            clock,
        })
    }

    /// Bytes of refused items that a body may bring now.
    #[must_use]
    pub fn room(&self) -> usize {
        if self.queue.is_none() {
            return 0;
        }
        let free = QUEUE_BYTES_MAX.saturating_sub(self.queued_bytes.load(Relaxed));
        free.min(BODY_BYTES_MAX)
    }

    /// Holds what was refused of a body, of which `total` items were. What finds
    /// no room is dropped, and counted as not kept once the body is taken.
    #[must_use]
    pub fn hold(self: &Arc<Self>, mut refused: Refused, total: u64) -> Held {
        let mut bytes = refused.bytes();
        if self.queued_bytes.fetch_add(bytes, Relaxed) > QUEUE_BYTES_MAX {
            self.queued_bytes.fetch_sub(bytes, Relaxed);
            (refused, bytes) = (Refused::default(), 0);
        }
        let weight = Weight {
            quarantine: Arc::clone(self),
            bytes,
        };
        Held {
            refused,
            total,
            weight,
        }
    }

    fn lose(&self, items: u64) {
        self.not_kept.fetch_add(items, Relaxed);
        counter!(names::QUARANTINE_NOT_KEPT_TOTAL).increment(items);
    }

    /// Resolves when everything that was to be kept before is on disk, or lost.
    async fn settle(&self) {
        let Some(queue) = &self.queue else { return };
        let (done, settled) = oneshot::channel();
        if queue.send(Message::Flush(done)).is_ok() {
            // An error is the end of the thread: nothing more is written.
            drop(settled.await);
        }
    }

    fn oldest_kept(&self) -> Micros {
        self.clock.now().saturating_add(-self.age_max_us)
    }

    /// What is kept and asked for, everything refused until now included.
    pub async fn find(&self, query: RejectedQuery) -> Segments {
        self.settle().await;
        let mut left: Vec<_> = self.segments.lock().iter().cloned().collect();
        if query.order == Order::Ascending {
            left.reverse();
        }
        Segments {
            dir: self.dir.clone(),
            left,
            query,
            oldest_kept: self.oldest_kept(),
        }
    }

    /// How many items are kept, everything refused until now included.
    pub async fn totals(&self) -> Totals {
        self.settle().await;
        let segments = self.segments.lock();
        let count = |code: RejectCode| {
            let counts = segments
                .iter()
                .map(|segment| segment.by_code[code as usize]);
            (code, counts.sum::<u64>())
        };
        let kept = RejectCode::ALL.into_iter().map(count);
        Totals {
            kept: kept.filter(|(_, count)| *count > 0).collect(),
            not_kept: self.not_kept.load(Relaxed),
            oldest: segments
                .iter()
                .filter(|segment| segment.items > 0)
                .map(|segment| segment.oldest)
                .min(),
            since: self.since,
        }
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
                    tracing::warn!(error, "the disk takes no more refused items: they are counted and not kept");
                }
                self.trouble = Some(error);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;
    use crate::decode::{DecodeContext, Gate, json};
    use crate::model::{MeasureName, SensorId};

    struct Wants(usize);

    impl Gate for Wants {
        fn next(&mut self) -> Micros {
            Micros::MIN
        }

        fn admit(&mut self, _: &SensorId) -> Result<(), usize> {
            Ok(())
        }

        fn admit_measures(
            &mut self,
            _: &SensorId,
            _: &mut dyn Iterator<Item = &MeasureName>,
        ) -> Result<(), usize> {
            Ok(())
        }

        fn refused_bytes_max(&self) -> usize {
            self.0
        }
    }

    fn refused(bytes_max: usize) -> (Refused, u64) {
        let body = format!("[{}7]", "7,".repeat(9999));
        let context = DecodeContext {
            received_at: Micros::MIN,
            min_time: Micros::MIN,
            max_time: Micros::MAX,
            unit: None,
            unit_parameter: "unit",
        };
        let decoded = json(body.as_bytes(), &context, &mut Wants(bytes_max)).unwrap();
        (decoded.refused, decoded.rejections.total())
    }

    const SOURCE: Source = Source {
        name: "udp",
        unit: None,
    };

    #[tokio::test]
    async fn what_waits_is_bounded_and_all_is_kept_or_counted() {
        let dir = tempfile::tempdir().unwrap();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
        let thread = Quarantine::start(dir.path(), &QuarantineSettings::default(), clock);
        let quarantine = thread.quarantine();
        let mut held = Vec::new();
        while quarantine.room() > 0 {
            let (refused, total) = refused(quarantine.room());
            assert!(refused.bytes() < BODY_BYTES_MAX + 1000);
            held.push(quarantine.hold(refused, total));
        }
        assert!((8..20).contains(&held.len()), "{}", held.len());
        // Bodies that are refused as a whole are none of ours.
        held.truncate(5);
        assert_eq!(quarantine.room(), BODY_BYTES_MAX);
        for held in held {
            held.keep(SOURCE, quarantine.clock.now(), |_| None);
        }
        let totals = quarantine.totals().await;
        let kept: u64 = totals.kept.iter().map(|(_, items)| items).sum();
        assert!(kept > 1000, "{totals:?}");
        assert_eq!(kept + totals.not_kept, 50_000);
        assert_eq!(quarantine.queued_bytes.load(Relaxed), 0);
        thread.finish().await;
    }

    #[test]
    fn nothing_is_asked_for_and_all_is_counted_where_nothing_is_kept() {
        let quarantine = Quarantine::off(Arc::new(SystemClock::default()));
        let (refused, total) = refused(quarantine.room());
        assert!(refused.items().is_empty());
        let held = quarantine.hold(refused, total);
        held.keep(SOURCE, Micros::MIN, |_| None);
        assert_eq!(quarantine.not_kept.load(Relaxed), 10_000);
    }
}
