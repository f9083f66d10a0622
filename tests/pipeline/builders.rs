//! The parts between journal and store, wired as the service wires them, with
//! a clock that stands still.

use std::sync::Arc;
use std::time::Duration;

use hourglass::apply::{Applier, Progress};
use hourglass::buffer::{Buffer, DuePolicy, Told};
use hourglass::clock::{Clock, ManualClock};
use hourglass::config::{BufferSettings, FlushSettings, IngestSettings, JournalSettings};
use hourglass::flush::{Flusher, FlusherParts, StoreHealth};
use hourglass::idempotency::Keys;
use hourglass::journal::disk::Disk;
use hourglass::journal::{Journal, JournalError, Record, WriterThread};
use hourglass::metrics::Ledger;
use hourglass::model::{Batch, BucketKey, HourStart, MeasureName, Micros, Origin, SensorId};
use hourglass::store::{SensorTold, Store, WriterId};

use crate::support::refusing_store::RefusingStore;
use crate::support::sim_disk::SimDisk;

/// 2026-05-01T10 in hours since 1970: the hour that is being filled.
pub(super) const HOUR: i32 = 493_786;

pub(super) fn now() -> Micros {
    HourStart::from_hours(HOUR).at(1)
}

/// One reading of `temp`.
pub(super) fn reading(sensor: &str, hour: i32, offset: u32, value: f64) -> Batch {
    readings(sensor, hour, offset..offset + 1, value)
}

/// Readings of `temp`, one a microsecond.
pub(super) fn readings(
    sensor: &str,
    hour: i32,
    offsets: std::ops::Range<u32>,
    value: f64,
) -> Batch {
    let mut batch = Batch::default();
    let sensor = batch.add_sensor(SensorId::new(sensor).unwrap());
    let temp = batch.add_measure(MeasureName::new("temp").unwrap());
    for offset in offsets {
        batch.push_value(temp, value);
        batch.finish_reading(sensor, HourStart::from_hours(hour).at(offset));
    }
    batch
}

/// One reading of `temp` that came under a tag `core`.
pub(super) fn tagged(sensor: &str, hour: i32, offset: u32, value: f64, core: &str) -> Batch {
    under(sensor, hour, offset, &[("temp", value)], &[("core", core)])
}

/// One reading that came under `tags`.
pub(super) fn under(
    sensor: &str,
    hour: i32,
    offset: u32,
    values: &[(&str, f64)],
    tags: &[(&str, &str)],
) -> Batch {
    let mut batch = Batch::default();
    let sensor = batch.add_sensor(SensorId::new(sensor).unwrap());
    let (origin, _) = Origin::new("cpu", tags.iter().copied());
    let origin = batch.add_origin(Arc::new(origin));
    for (name, value) in values {
        let measure = batch.add_measure(MeasureName::new(name).unwrap());
        batch.push_value(measure, *value);
    }
    let at = HourStart::from_hours(hour).at(offset);
    batch.finish_reading_from(sensor, at, Some(origin));
    batch
}

pub(super) fn record(batch: Batch) -> Record {
    Record::Batch {
        received_at: now(),
        batch,
        keyed: None,
    }
}

pub(super) fn key(sensor: &str, hour: i32) -> BucketKey {
    BucketKey {
        sensor: SensorId::new(sensor).unwrap(),
        hour: HourStart::from_hours(hour),
    }
}

/// A buffer of `bytes_max` for a store without parts.
pub(super) fn buffer(bytes_max: usize) -> Buffer {
    let settings = BufferSettings {
        bytes_max,
        conflicts_kept: 1000,
        conflicts_age_max: std::time::Duration::from_secs(86_400),
        recent_readings: 20,
    };
    Buffer::new(
        settings,
        Arc::new(Ledger::default()),
        WriterId::new(7),
        None,
    )
}

/// Tells a store that takes everything all that is untold of `sensors`, as the
/// end of a round does.
pub(super) fn tell(buffer: &Buffer, sensors: &[SensorId]) -> Vec<SensorTold> {
    let mut all = Vec::new();
    let mut sensors = sensors.to_vec();
    while !sensors.is_empty() {
        let untold = buffer.take_untold(&sensors);
        for stale in &untold.stale {
            buffer.made_anew(stale, None, &[]);
        }
        let told = untold.told.iter().map(|told| (told.clone(), Told::Settled));
        sensors = buffer.settle(&told.collect::<Vec<_>>());
        sensors.extend(untold.stale.into_iter().map(|stale| stale.sensor));
        all.extend(untold.told);
    }
    all
}

/// The sensors of the buffer have no record in the store.
pub(super) fn learn_none(buffer: &Buffer) {
    let sensors: Vec<SensorId> = buffer.seen(None).into_iter().map(|s| s.sensor).collect();
    buffer.learn(&buffer.unlearnt(&sensors), &[]);
}

/// Everything is due.
pub(super) fn everything(elapsed: Duration) -> DuePolicy {
    DuePolicy {
        hour: HourStart::from_hours(HOUR),
        elapsed,
        closed_age_max: Duration::ZERO,
        age_max: Duration::from_secs(3600),
        readings_max: usize::MAX,
        release_below: None,
        everything: true,
    }
}

/// Bounds in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    pub(super) journal: u64,
    pub(super) buffer: usize,
}

impl Default for Sizes {
    fn default() -> Self {
        Self {
            journal: 1 << 24,
            buffer: 1 << 24,
        }
    }
}

/// The parts, with the applier not yet running.
pub(super) struct Pipeline {
    pub(super) journal: Journal,
    pub(super) keys: Arc<Keys>,
    pub(super) progress: Arc<Progress>,
    pub(super) buffer: Arc<Buffer>,
    pub(super) clock: Arc<ManualClock>,
    pub(super) store: Arc<RefusingStore>,
    pub(super) health: Arc<StoreHealth>,
    pub(super) applier: Option<Applier>,
    writer: Option<WriterThread>,
}

impl Pipeline {
    pub(super) fn new(sizes: Sizes) -> Self {
        let settings = JournalSettings {
            segment_bytes: sizes.journal / 4,
            bytes_max: sizes.journal,
            queue_bytes_max: 1 << 20,
        };
        let disk: Arc<dyn Disk> = Arc::new(SimDisk::default());
        let ledger = Arc::new(Ledger::default());
        let clock = Arc::new(ManualClock::new(now()));
        let keys = Keys::new(&IngestSettings::default(), Arc::clone(&clock) as _);
        let opened = Journal::open_watched(Arc::clone(&disk), settings, ledger, keys.watch());
        let (journal, recovered, writer) = opened.unwrap();
        let tail = Arc::clone(journal.tail());
        let end = recovered.end_seq;
        let progress = Progress::new(Arc::clone(&tail), end, end);
        let buffer = Arc::new(buffer(sizes.buffer));
        let applier = Applier::new(
            tail,
            disk,
            Arc::clone(&buffer),
            Arc::clone(&clock) as Arc<dyn Clock>,
            Arc::clone(&progress),
            Vec::new(),
        );
        let health = Arc::new(StoreHealth::new(Arc::clone(&clock) as _));
        Self {
            journal,
            keys,
            progress,
            buffer,
            clock,
            store: RefusingStore::new(),
            health,
            applier: Some(applier),
            writer: Some(writer),
        }
    }

    /// The same with the applier running.
    pub(super) fn running(sizes: Sizes) -> Self {
        let mut pipeline = Self::new(sizes);
        let applier = pipeline.applier.take().unwrap();
        tokio::spawn(applier.run());
        pipeline
    }

    pub(super) async fn append(&self, batch: Batch) -> Result<u64, JournalError> {
        let record = record(batch);
        let encoded = record.encode();
        self.journal.append(record, encoded, || ()).await
    }

    pub(super) fn flusher(&self, settings: FlushSettings) -> Flusher {
        let parts = FlusherParts {
            buffer: Arc::clone(&self.buffer),
            store: Arc::clone(&self.store) as Arc<dyn Store>,
            clock: Arc::clone(&self.clock) as Arc<dyn Clock>,
            progress: Arc::clone(&self.progress),
            journal: self.journal.clone(),
            keys: Arc::clone(&self.keys),
            health: Arc::clone(&self.health),
        };
        Flusher::new(parts, settings)
    }

    /// Readings of `key` in the store.
    pub(super) async fn stored(&self, key: &BucketKey) -> usize {
        let loaded = self.store.load(std::slice::from_ref(key)).await.unwrap();
        let bucket = loaded.into_iter().next().unwrap();
        bucket.map_or(0, |bucket| bucket.parts[0].elements.len())
    }

    /// Ends the writer's thread.
    pub(super) async fn stop(mut self) {
        self.journal.finish(0).await;
        self.writer.take().unwrap().join();
    }
}
