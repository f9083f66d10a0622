//! A start on what a power cut left: it must open, and have everything that
//! was acknowledged, once, the first value of each, and nothing else.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use hourglass::idempotency::{Begin, IdempotencyKey};
use hourglass::journal::Record;
use hourglass::store::{Store, WriterId};
use hourglass::verify::Verify;

use super::parts::Parts;
use super::workload::{Identity, Sent};

/// How long a sender may take to learn what it was answered.
const PATIENCE: Duration = Duration::from_secs(60);

/// Values by identity, the first of each.
fn expected(records: impl Iterator<Item = Record>) -> BTreeMap<Identity, u64> {
    let mut values = BTreeMap::new();
    for record in records {
        for reading in record.batch().unwrap().readings() {
            for (measure, value) in reading.values() {
                let sensor = reading.sensor().as_str().to_owned();
                let identity = (sensor, reading.at().get(), measure.as_str().to_owned());
                values.entry(identity).or_insert(value.to_bits());
            }
        }
    }
    values
}

async fn stored(store: &dyn Store) -> Result<BTreeMap<Identity, u64>, String> {
    let mut values = BTreeMap::new();
    let mut buckets = store.all();
    while let Some(bucket) = buckets.next().await {
        let bucket = bucket.map_err(|e| format!("a bucket cannot be read: {e}"))?;
        let sensor = bucket.key.sensor.as_str();
        for element in bucket.parts.iter().flat_map(|part| part.elements.iter()) {
            let at = bucket.key.hour.at(element.offset).get();
            for (measure, value) in element.values() {
                let identity = (sensor.to_owned(), at, measure.as_str().to_owned());
                if values.insert(identity.clone(), value.to_bits()).is_some() {
                    return Err(format!("{identity:?} is stored twice"));
                }
            }
        }
    }
    Ok(values)
}

/// Starts on `dir` and checks what is there against what was `acknowledged`
/// when the power went. `number` as in [`Parts::start`].
pub(crate) async fn check(
    dir: &Path,
    number: u32,
    acknowledged: &BTreeSet<u64>,
    sent: &Sent,
) -> Result<(), String> {
    let mut parts = Parts::start(dir, number)?;
    let end = parts.recovered.end_seq;
    if let Some(lost) = acknowledged.iter().find(|seq| **seq >= end) {
        return Err(format!(
            "record {lost} was acknowledged; the journal ends at {end}"
        ));
    }
    let first = parts.recovered.first_seq.unwrap_or(end);
    let mut reader = parts.reader(first);
    let mut records = Vec::new();
    for seq in 1..first {
        // It was released, so it was answered; its sender may not have noted so.
        let begun = Instant::now();
        let encoded = loop {
            match sent.acknowledged_as(seq) {
                Some(encoded) => break encoded,
                None if begun.elapsed() < PATIENCE => tokio::task::yield_now().await,
                None => return Err(format!("record {seq} is released and was never answered")),
            }
        };
        records.push(Record::decode(&encoded).unwrap());
    }
    for seq in first..end {
        let record = reader.read(seq).map_err(|e| format!("record {seq}: {e}"))?;
        let encoded = record.encode();
        let is_other = sent
            .acknowledged_as(seq)
            .is_some_and(|other| other != encoded);
        if is_other || !sent.was_sent(&encoded) {
            return Err(format!("record {seq} is not what was sent"));
        }
        records.push(record);
    }
    for (seq, record) in (1..).zip(&records) {
        if let Record::Batch {
            keyed: Some(keyed), ..
        } = record
        {
            let key = IdempotencyKey::new(keyed.key.as_bytes()).unwrap();
            let Begin::Known(answer) = parts.saver.keys().begin(&key, &keyed.digest) else {
                return Err(format!("the key of record {seq} is forgotten"));
            };
            assert_eq!(answer, keyed.answer);
        }
    }
    parts
        .drain()
        .await
        .map_err(|e| format!("the store takes nothing: {e}"))?;
    let (found, expected) = (stored(&*parts.store).await?, expected(records.into_iter()));
    if found != expected {
        let of = |values: &BTreeMap<Identity, u64>| -> HashSet<(Identity, u64)> {
            values
                .iter()
                .map(|(identity, value)| (identity.clone(), *value))
                .collect()
        };
        let (found, expected) = (of(&found), of(&expected));
        return Err(format!(
            "of {} values {} are gone, for example {:?}; {} are new, for example {:?}",
            expected.len(),
            expected.difference(&found).count(),
            expected.difference(&found).next(),
            found.difference(&expected).count(),
            found.difference(&expected).next(),
        ));
    }
    let verify = Verify {
        store: &*parts.store,
        repair: false,
        writer: &WriterId::new(number + 1),
        recent_readings: parts.buffer.recent_readings(),
    };
    let mut findings = Vec::new();
    let report = verify
        .run(&mut |line: &str| findings.push(line.to_owned()))
        .await;
    let report = report.map_err(|e| e.to_string())?;
    if !report.is_clean() {
        return Err(format!("verify: {findings:?}"));
    }
    parts.end().await;
    Ok(())
}
