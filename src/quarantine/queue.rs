//! What is held and queued within bounds, and what is asked of it.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::Sender;
use std::time::Duration;

use metrics::counter;
use tokio::sync::oneshot;

use super::log::SharedSegments;
use super::query::{RejectedQuery, Segments};
use super::record::Source;
use crate::clock::Clock;
use crate::config::QuarantineSettings;
use crate::decode::{Refused, RefusedItem};
use crate::metrics::names;
use crate::model::{Micros, Order, RejectCode};

/// Bytes that may wait to be written.
const QUEUE_BYTES_MAX: usize = 8 << 20;

/// Bytes of refused items that one body may bring.
const BODY_BYTES_MAX: usize = 1 << 20;

/// What waits to be written.
pub(super) struct Batch {
    pub(super) items: Vec<RefusedItem>,
    pub(super) header: Option<Box<[u8]>>,
    pub(super) source: Source,
    pub(super) peers: Vec<Option<IpAddr>>,
    pub(super) received_at: Micros,
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
        if self.bytes > 0 {
            self.quarantine.queued_bytes.fetch_sub(self.bytes, Relaxed);
        }
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

pub(super) enum Message {
    Keep(Batch),
    /// To be answered when everything before is written.
    Flush(oneshot::Sender<()>),
    Stop,
}

/// How many items are kept, and how many are not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Totals {
    /// Kept items by reason.
    pub kept: [(RejectCode, u64); RejectCode::ALL.len()],
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
    pub(super) queue: Option<Sender<Message>>,
    queued_bytes: AtomicUsize,
    not_kept: AtomicU64,
    pub(super) segments: SharedSegments,
    dir: PathBuf,
    age_max: Duration,
    pub(super) clock: Arc<dyn Clock>,
    since: Micros,
}

impl std::fmt::Debug for Quarantine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Quarantine")
            .field("dir", &self.dir)
            .finish_non_exhaustive()
    }
}

impl Quarantine {
    /// One that keeps nothing.
    #[must_use]
    pub fn off(clock: Arc<dyn Clock>) -> Arc<Self> {
        let settings = QuarantineSettings::default();
        let nowhere = (SharedSegments::default(), PathBuf::new());
        Self::new(None, nowhere, &settings, clock)
    }

    pub(super) fn new(
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
            age_max: settings.age_max,
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
        // Most bodies bring nothing, and touch nothing that others do.
        if bytes > 0 && self.queued_bytes.fetch_add(bytes, Relaxed) > QUEUE_BYTES_MAX {
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

    pub(super) fn lose(&self, items: u64) {
        self.not_kept.fetch_add(items, Relaxed);
        counter!(names::QUARANTINE_NOT_KEPT_TOTAL).increment(items);
    }

    /// Resolves when everything that was to be kept before is on disk, or lost.
    pub(super) async fn settle(&self) {
        let Some(queue) = &self.queue else { return };
        let (done, settled) = oneshot::channel();
        if queue.send(Message::Flush(done)).is_ok() {
            // An error is the end of the thread: nothing more is written.
            drop(settled.await);
        }
    }

    fn oldest_kept(&self) -> Micros {
        self.clock.now().earlier_by(self.age_max)
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
        Totals {
            kept: RejectCode::ALL.map(count),
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
