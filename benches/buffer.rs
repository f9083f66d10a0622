//! Readings a second into the buffer, and buckets a second out of it for a flush,
//! on one core: `cargo bench --bench buffer`.

mod batches;

use std::sync::Arc;
use std::time::Duration;

use divan::Bencher;
use divan::counter::ItemsCount;
use hourglass::buffer::{Buffer, DuePolicy};
use hourglass::config::BufferSettings;
use hourglass::metrics::Ledger;
use hourglass::model::{Batch, Micros};
use hourglass::store::WriterId;

use batches::{at, batch, hour, in_turn};

const READINGS: usize = 5000;
const SENSORS: usize = 1000;
/// Readings of each sensor in a batch.
const EACH: usize = READINGS / SENSORS;

fn main() {
    divan::main();
}

fn buffer() -> Buffer {
    let settings = BufferSettings {
        bytes_max: 8 << 30,
        ..BufferSettings::default()
    };
    Buffer::new(
        settings,
        Arc::new(Ledger::default()),
        WriterId::new(7),
        None,
    )
}

fn apply(buffer: &Buffer, seq: u64, batch: &Batch) {
    buffer.apply(seq, at(0), batch, Duration::ZERO);
}

/// A buffer that has seen every sensor once.
fn warm(measures: usize) -> Buffer {
    let buffer = buffer();
    let first = (0..SENSORS).map(|sensor| (sensor, at(0)));
    apply(&buffer, 1, &batch(SENSORS, measures, first));
    buffer
}

/// Applies batches to one buffer, one after the other.
fn run(bencher: Bencher<'_, '_>, buffer: &Buffer, mut next: impl FnMut(usize) -> Batch) {
    let mut count = 0;
    let next = || {
        count += 1;
        (count as u64 + 1, next(count))
    };
    bencher
        .counter(ItemsCount::new(READINGS))
        .with_inputs(next)
        .bench_local_refs(|(seq, batch)| apply(buffer, *seq, batch));
}

/// Every sensor in turn, as a fleet reports: no two neighbours share a sensor.
#[divan::bench(args = [1, 3], sample_size = 1, sample_count = 200)]
fn apply_in_turn(bencher: Bencher<'_, '_>, measures: usize) {
    run(bencher, &warm(measures), |n| {
        batch(SENSORS, measures, in_turn(SENSORS, READINGS, n * EACH))
    });
}

/// One sensor after the other, as gateways send that gather.
#[divan::bench(args = [1, 3], sample_size = 1, sample_count = 200)]
fn apply_by_sensor(bencher: Bencher<'_, '_>, measures: usize) {
    run(bencher, &warm(measures), |n| {
        let readings = (0..READINGS).map(|r| (r / EACH, at(n * EACH + r % EACH)));
        batch(SENSORS, measures, readings)
    });
}

/// The newest first: each arrival makes its place at the front of its bucket's index.
#[divan::bench(sample_size = 1, sample_count = 200)]
fn apply_late(bencher: Bencher<'_, '_>) {
    run(bencher, &warm(1), |n| {
        let late = |(sensor, _), r: usize| (sensor, at(3599 - n * EACH - r / SENSORS));
        let readings = in_turn(SENSORS, READINGS, 0).zip(0..);
        batch(SENSORS, 1, readings.map(|(reading, r)| late(reading, r)))
    });
}

/// The same again, among `rows` readings of each bucket.
#[divan::bench(args = [5, 3600], sample_size = 1, sample_count = 100)]
fn apply_duplicates(bencher: Bencher<'_, '_>, rows: usize) {
    let buffer = filled(SENSORS, rows);
    let again = batch(SENSORS, 1, in_turn(SENSORS, READINGS, rows - EACH));
    run(bencher, &buffer, |_| again.clone());
}

/// The first readings of buckets: what an hour's turn costs.
#[divan::bench(sample_size = 1, sample_count = 50)]
fn apply_to_new_buckets(bencher: Bencher<'_, '_>) {
    let first: Vec<(usize, Micros)> = (0..READINGS).map(|n| (n, at(0))).collect();
    let first = batch(READINGS, 1, first);
    bencher
        .counter(ItemsCount::new(READINGS))
        .with_inputs(buffer)
        .bench_local_refs(|buffer| apply(buffer, 1, &first));
}

/// A buffer with `rows` pending readings of each of `sensors`.
fn filled(sensors: usize, rows: usize) -> Buffer {
    let buffer = buffer();
    let readings = (0..sensors * rows).map(|n| (n / rows, at(n % rows)));
    apply(&buffer, 1, &batch(sensors, 1, readings));
    buffer
}

fn policy(everything: bool) -> DuePolicy {
    DuePolicy {
        hour: hour(),
        elapsed: Duration::ZERO,
        closed_age_max: Duration::from_secs(2),
        age_max: Duration::from_secs(10),
        readings_max: usize::MAX,
        release_below: None,
        everything,
    }
}

/// A look that finds nothing due among `buckets`; each tick takes one.
#[divan::bench(args = [1000, 10_000, 100_000])]
fn lease_nothing(bencher: Bencher<'_, '_>, buckets: usize) {
    let buffer = filled(buckets, 1);
    let policy = policy(false);
    bencher
        .counter(ItemsCount::new(buckets))
        .bench_local(|| assert!(buffer.lease(&policy, 1000).is_empty()));
}

/// 1,000 leases of `rows` readings each; items are readings.
#[divan::bench(args = [60, 300, 3600], sample_size = 1, sample_count = 10)]
fn lease(bencher: Bencher<'_, '_>, rows: usize) {
    let policy = policy(true);
    bencher
        .counter(ItemsCount::new(SENSORS * rows))
        .with_inputs(|| filled(SENSORS, rows))
        .bench_local_refs(|buffer| {
            let leases = buffer.lease(&policy, SENSORS);
            assert_eq!(leases.len(), SENSORS);
            leases
        });
}

/// 1,000 leases where ten times as many are due; items are leases.
#[divan::bench(sample_size = 1, sample_count = 20)]
fn lease_some_of_many(bencher: Bencher<'_, '_>) {
    let policy = policy(true);
    bencher
        .counter(ItemsCount::new(SENSORS))
        .with_inputs(|| filled(10 * SENSORS, 1))
        .bench_local_refs(|buffer| {
            let leases = buffer.lease(&policy, SENSORS);
            assert_eq!(leases.len(), SENSORS);
            leases
        });
}

/// Confirming 1,000 leases of `rows` readings each; items are readings.
#[divan::bench(args = [60, 300], sample_size = 1, sample_count = 20)]
fn confirm(bencher: Bencher<'_, '_>, rows: usize) {
    let policy = policy(true);
    bencher
        .counter(ItemsCount::new(SENSORS * rows))
        .with_inputs(|| {
            let buffer = filled(SENSORS, rows);
            let leases = buffer.lease(&policy, SENSORS);
            (buffer, leases)
        })
        .bench_local_refs(|(buffer, leases)| {
            for lease in leases {
                assert!(buffer.confirm(&lease.write.key, lease.write.target));
            }
        });
}
