//! What is sent: sensors and hours at random, copies, conflicts, late measures,
//! keys; and what of it was acknowledged.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex};

use hourglass::idempotency::digest;
use hourglass::journal::{JournalError, KeyedAnswer, Record};
use hourglass::model::{Batch, HourStart, MeasureName, SensorId};
use rand::RngExt;
use rand::rngs::StdRng;

use super::parts::{HOUR, Parts, now};

/// Sensor, instant, measure.
pub(crate) type Identity = (String, i64, String);

/// What senders know, shared.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sent(Arc<Mutex<State>>);

#[derive(Debug, Default, Clone)]
struct State {
    /// Encoded, from before they are sent.
    sent: HashSet<Vec<u8>>,
    acknowledged: BTreeMap<u64, Vec<u8>>,
}

impl Sent {
    /// Everything acknowledged so far.
    pub(crate) fn acknowledged(&self) -> BTreeMap<u64, Vec<u8>> {
        self.0.lock().unwrap().acknowledged.clone()
    }

    /// What was acknowledged as `seq`, as soon as its sender knows.
    pub(crate) fn acknowledged_as(&self, seq: u64) -> Option<Vec<u8>> {
        self.0.lock().unwrap().acknowledged.get(&seq).cloned()
    }

    pub(crate) fn was_sent(&self, record: &[u8]) -> bool {
        self.0.lock().unwrap().sent.contains(record)
    }

    /// Sends `record` and notes what it is answered.
    pub(crate) async fn send(&self, parts: &Parts, record: Record) -> Result<u64, JournalError> {
        let encoded = record.encode();
        self.0.lock().unwrap().sent.insert(encoded.clone());
        let seq = parts.journal.append(record, encoded.clone(), || ()).await?;
        self.0.lock().unwrap().acknowledged.insert(seq, encoded);
        Ok(seq)
    }
}

/// Record `number` of a run. Values are as good as never compressible.
pub(crate) fn record(number: u64, readings: usize, rng: &mut StdRng) -> Record {
    let mut batch = Batch::default();
    let measures = ["temp", "humidity"].map(|name| MeasureName::new(name).unwrap());
    let measures = measures.map(|name| batch.add_measure(name));
    for sensor in 0..3 {
        let name = format!("S{}", (number + sensor * 5) % 12);
        let sensor = batch.add_sensor(SensorId::new(&name).unwrap());
        let hour = HourStart::from_hours(HOUR + rng.random_range(0..4));
        for _ in 0..readings {
            // Few enough instants that copies and conflicts come.
            let at = hour.at(rng.random_range(0..3600) * 1_000_000);
            let which = rng.random_range(0..3);
            for (place, measure) in measures.into_iter().enumerate() {
                if which == place || which == 2 {
                    batch.push_value(measure, rng.random::<f64>());
                }
            }
            batch.finish_reading(sensor, at);
        }
    }
    let keyed = number.is_multiple_of(3).then(|| {
        Box::new(KeyedAnswer {
            key: format!("key {number}").into(),
            digest: digest(&[&number.to_le_bytes()]),
            answer: number.to_le_bytes().to_vec().into(),
        })
    });
    Record::Batch {
        received_at: now(),
        batch,
        keyed,
    }
}
