//! The embedded store in a directory of the test's own, with what writes to it
//! and what drops from it, at a clock that stands still.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hourglass::buffer::{Buffer, DuePolicy, Lease};
use hourglass::clock::ManualClock;
use hourglass::config::{BufferSettings, RetentionSettings};
use hourglass::flush::{FlushRound, RoundTurn};
use hourglass::metrics::Ledger;
use hourglass::model::{Batch, BucketKey, HourStart, Keep, MeasureName, Micros, SensorId};
use hourglass::retention::RetentionTable;
use hourglass::store::embedded::{EmbeddedSettings, EmbeddedStore};
use hourglass::store::{Store, StoredBucket, WriterId};
use hourglass::sweep::{Dropped, Pass, PassParts, PassTurn};

use crate::support::eventually::eventually;
use crate::support::hourglass::Hourglass;

/// The hour that is being filled.
pub(super) const HOUR: i32 = 493_786;

pub(super) fn now() -> Micros {
    HourStart::from_hours(HOUR).at(1)
}

pub(super) fn sensor(id: &str) -> SensorId {
    SensorId::new(id).unwrap()
}

pub(super) fn key(id: &str, hour: i32) -> BucketKey {
    BucketKey {
        sensor: sensor(id),
        hour: HourStart::from_hours(hour),
    }
}

pub(super) const fn hours(count: u64) -> Keep {
    Keep::Seconds(count * 3600)
}

pub(super) fn keeping(hours: Keep, readings: Keep) -> RetentionSettings {
    RetentionSettings {
        hours,
        readings,
        ..RetentionSettings::default()
    }
}

/// Two readings of `temp` in each of these hours.
pub(super) fn batch(id: &str, hours: impl IntoIterator<Item = i32>) -> Batch {
    let mut batch = Batch::default();
    let sensor = batch.add_sensor(sensor(id));
    let temp = batch.add_measure(MeasureName::new("temp").unwrap());
    for hour in hours {
        for offset in [1000, 2000] {
            batch.push_value(temp, f64::from(hour % 100) + f64::from(offset) / 1e4);
            batch.finish_reading(sensor, HourStart::from_hours(hour).at(offset));
        }
    }
    batch
}

/// A process: what it knows, on a store that outlives it.
pub(super) struct Process {
    pub(super) store: Arc<dyn Store>,
    pub(super) buffer: Arc<Buffer>,
    pub(super) ledger: Arc<Ledger>,
    pub(super) table: Arc<RetentionTable>,
    writer: u32,
}

impl Process {
    /// On the store in `dir`. `writer` differs from process to process.
    pub(super) fn on(dir: &Path, settings: &RetentionSettings, writer: u32) -> Self {
        let store = EmbeddedStore::open(&dir.join("store"), EmbeddedSettings::default()).unwrap();
        Self::over(Arc::new(store), settings, writer)
    }

    /// Another one on the same store.
    pub(super) fn over(store: Arc<dyn Store>, settings: &RetentionSettings, writer: u32) -> Self {
        let process = Self::starting(store, settings, writer);
        process.table.bind(1);
        process
    }

    /// One that has not looked at the sensors yet.
    pub(super) fn starting(
        store: Arc<dyn Store>,
        settings: &RetentionSettings,
        writer: u32,
    ) -> Self {
        let ledger = Arc::new(Ledger::default());
        let table = Arc::new(RetentionTable::new(settings, now()));
        let buffer_settings = BufferSettings {
            bytes_max: 1 << 26,
            ..BufferSettings::default()
        };
        let writer_id = WriterId::new(writer);
        let buffer = Buffer::new(buffer_settings, Arc::clone(&ledger), writer_id, None);
        Self {
            store,
            buffer: Arc::new(buffer.with_retention(Arc::clone(&table))),
            ledger,
            table,
            writer,
        }
    }

    /// Takes a batch in, as the applier does with a durable one.
    pub(super) fn apply(&self, seq: u64, batch: &Batch) {
        self.ledger
            .accept(batch.len() as u64, batch.value_count() as u64);
        self.ledger.receive(batch.len() as u64);
        self.buffer.apply(seq, now(), batch, Duration::ZERO);
    }

    /// Leases all that waits.
    pub(super) fn lease(&self) -> Vec<Lease> {
        let everything = DuePolicy {
            hour: now().hour(),
            elapsed: Duration::ZERO,
            closed_age_max: Duration::ZERO,
            age_max: Duration::ZERO,
            readings_max: 1,
            release_below: None,
            everything: true,
        };
        self.buffer.lease(&everything, usize::MAX)
    }

    /// Writes leases, and tells what follows.
    pub(super) async fn write(&self, leases: Vec<Lease>) {
        let clock = ManualClock::new(now());
        let mut round = FlushRound::new(leases);
        loop {
            match round.turn(&self.store, &self.buffer, &clock).await {
                RoundTurn::More => {}
                RoundTurn::Done => return,
                other => panic!("{other:?}"),
            }
        }
    }

    /// Writes all that waits.
    pub(super) async fn flush(&self) {
        loop {
            let leases = self.lease();
            if leases.is_empty() {
                return;
            }
            self.write(leases).await;
        }
    }

    pub(super) fn parts(&self) -> PassParts {
        PassParts {
            store: Arc::clone(&self.store),
            buffer: Arc::clone(&self.buffer),
            table: Arc::clone(&self.table),
            writer: Arc::new(WriterId::new(self.writer + 1000)),
        }
    }

    /// A pass that has not begun.
    pub(super) fn pass(&self, now: Micros) -> Pass {
        Pass::new(self.parts(), now)
    }

    /// Makes a whole pass.
    pub(super) async fn sweep(&self, now: Micros) -> Dropped {
        let mut pass = self.pass(now);
        while run_turn(&mut pass).await {}
        pass.dropped()
    }

    pub(super) async fn load(&self, key: &BucketKey) -> Option<StoredBucket> {
        let loaded = self.store.load(std::slice::from_ref(key)).await.unwrap();
        loaded.into_iter().next().unwrap()
    }

    pub(super) fn assert_balances(&self) {
        let ledger = self.ledger.snapshot(self.buffer.pending_values());
        assert!(ledger.balances(), "{ledger:?}");
    }
}

/// One turn; whether there is another one.
pub(super) async fn run_turn(pass: &mut Pass) -> bool {
    match pass.turn().await {
        PassTurn::More => true,
        PassTurn::Done => false,
        other => panic!("{other:?}"),
    }
}

/// The start of the hour this many hours before now, by the system's clock.
pub(super) fn hours_ago(count: i64) -> jiff::Timestamp {
    let now = jiff::Timestamp::now().as_second();
    jiff::Timestamp::from_second((now / 3600 - count) * 3600).unwrap()
}

/// A reading of each of these hours before now, as JSON.
pub(super) fn items(sensor: &str, ago: &[i64]) -> serde_json::Value {
    let item = |ago: &i64| {
        let ts = hours_ago(*ago).to_string();
        serde_json::json!({ "sensorId": sensor, "ts": ts, "temp": *ago as f64 / 4.0 })
    };
    ago.iter().map(item).collect()
}

/// Waits until a sample of `/metrics` is at least `value`.
pub(super) async fn until_metric(server: &Hourglass, sample: &str, value: f64) {
    eventually(sample, async || {
        (server.metric(sample).await >= value).then_some(())
    })
    .await;
}

/// Waits until the store holds everything.
pub(super) async fn until_stored(server: &Hourglass) {
    eventually("nothing pending", async || {
        (server.metric("hourglass_values_pending").await == 0.0).then_some(())
    })
    .await;
}

/// Posts items that must all be taken.
pub(super) async fn post(server: &Hourglass, items: &serde_json::Value) {
    let (status, answer) = server.post(items).await;
    let rejected = &answer["rejected"];
    assert_eq!((status, rejected), (202, &serde_json::json!(0)), "{answer}");
}
