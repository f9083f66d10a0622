//! Buckets as the stores write and read them, on one core, without a server or a
//! disk: `cargo bench --bench documents`. Items are readings, of one measure.

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use hourglass::bucket::{Elements, Merge};
use hourglass::model::{BucketKey, HourStart, MeasureName, SensorId};
use hourglass::store::embedded::bench_api as embedded;
use hourglass::store::mongodb::bench_api as documents;
use hourglass::store::{BucketVersion, BucketWrite, Expect};
use mongodb::bson::RawDocumentBuf;

const READINGS: [usize; 3] = [60, 300, 3600];

fn main() {
    divan::main();
}

/// A reading a second at a tenth, as most sensors have it.
fn merge(readings: usize) -> Merge {
    let temp = MeasureName::new("temp").expect("a legal name");
    let mut merge = Merge::default();
    for second in 0..readings {
        let value = 20.0 + (second * 7 % 100) as f64 / 10.0;
        merge.add(second as u32 * 1_000_000, [(&temp, value)]);
    }
    merge
}

fn version(rev: i64) -> BucketVersion {
    BucketVersion {
        part: 0,
        rev,
        by: 7,
    }
}

fn write(readings: usize, expect: Expect) -> BucketWrite {
    let merge = merge(readings);
    BucketWrite {
        key: BucketKey {
            sensor: SensorId::new("S1").expect("a legal id"),
            hour: HourStart::from_hours(493_786),
        },
        expect,
        target: version(2),
        elements: merge.elements().clone(),
        computed: merge.computed(0, readings),
    }
}

/// Computed fields of the readings, as each flush adds them.
#[divan::bench(args = READINGS)]
fn computed_fields(bencher: Bencher<'_, '_>, readings: usize) {
    let merge = merge(readings);
    bencher
        .counter(ItemsCount::new(readings))
        .bench_local(|| black_box(&merge).computed(0, readings));
}

/// The copy of its elements that a lease carries.
#[divan::bench(args = READINGS)]
fn slice_of_elements(bencher: Bencher<'_, '_>, readings: usize) {
    let merge = merge(readings);
    bencher
        .counter(ItemsCount::new(readings))
        .bench_local(|| black_box(merge.elements()).slice(0, readings));
}

/// The base of the next: the bytes it writes, copied.
#[divan::bench(args = READINGS)]
fn mongodb_peer_copy(bencher: Bencher<'_, '_>, readings: usize) {
    let bytes = documents::statement(&write(readings, Expect::Absent)).into_bytes();
    bencher
        .counter(ItemsCount::new(readings))
        .counter(BytesCount::new(bytes.len()))
        .bench_local(|| black_box(&bytes).clone());
}

fn encode_statement(bencher: Bencher<'_, '_>, readings: usize, expect: Expect) {
    let write = write(readings, expect);
    let bytes = documents::statement(&write).as_bytes().len();
    bencher
        .counter(ItemsCount::new(readings))
        .counter(BytesCount::new(bytes))
        .bench_local(|| documents::statement(black_box(&write)));
}

#[divan::bench(args = READINGS)]
fn mongodb_create(bencher: Bencher<'_, '_>, readings: usize) {
    encode_statement(bencher, readings, Expect::Absent);
}

#[divan::bench(args = READINGS)]
fn mongodb_append(bencher: Bencher<'_, '_>, readings: usize) {
    encode_statement(bencher, readings, Expect::Open(version(1)));
}

/// One command of 1,000 statements, which are made already.
#[divan::bench(args = [60, 300])]
fn mongodb_command_of_statements(bencher: Bencher<'_, '_>, readings: usize) {
    let statement = documents::statement(&write(readings, Expect::Open(version(1))));
    let statements: Vec<RawDocumentBuf> = vec![statement; 1000];
    let bytes: usize = statements.iter().map(|s| s.as_bytes().len()).sum();
    bencher
        .counter(ItemsCount::new(statements.len() * readings))
        .counter(BytesCount::new(bytes))
        .with_inputs(|| statements.clone())
        .bench_local_values(documents::command);
}

#[divan::bench(args = READINGS)]
fn mongodb_decode_readings(bencher: Bencher<'_, '_>, readings: usize) {
    let document = documents::new_part(&write(readings, Expect::Absent));
    bencher
        .counter(ItemsCount::new(readings))
        .counter(BytesCount::new(document.as_bytes().len()))
        .bench_local(|| documents::part(black_box(&document)).expect("it was just made"));
}

/// Of a document without readings, as the index answers; items are hours.
#[divan::bench]
fn mongodb_decode_hour(bencher: Bencher<'_, '_>) {
    let mut write = write(3600, Expect::Absent);
    write.elements = Elements::default();
    let document = documents::new_part(&write);
    bencher
        .counter(ItemsCount::new(1_usize))
        .bench_local(|| documents::computed(black_box(&document)).expect("it was just made"));
}

/// 60 readings are an open hour's chunk, 300 and more are packed as closed ones.
#[divan::bench(args = READINGS)]
fn embedded_chunk(bencher: Bencher<'_, '_>, readings: usize) {
    let merge = merge(readings);
    let bytes = embedded::chunk(merge.elements()).len();
    bencher
        .counter(ItemsCount::new(readings))
        .counter(BytesCount::new(bytes))
        .bench_local(|| embedded::chunk(black_box(merge.elements())));
}

#[divan::bench(args = READINGS)]
fn embedded_decode_readings(bencher: Bencher<'_, '_>, readings: usize) {
    let chunk = embedded::chunk(merge(readings).elements());
    bencher
        .counter(ItemsCount::new(readings))
        .counter(BytesCount::new(chunk.len()))
        .bench_local(|| {
            let elements = embedded::elements([black_box(chunk.as_slice())]);
            elements.expect("it was just made")
        });
}

/// Sixteen open chunks of 60 into one, as the write does that makes the sixteenth.
#[divan::bench]
fn embedded_merge_of_open_chunks(bencher: Bencher<'_, '_>) {
    let all = merge(16 * 60);
    let slices = (0..16).map(|n| all.elements().slice(n * 60, n * 60 + 60));
    let chunks: Vec<Vec<u8>> = slices.map(|slice| embedded::chunk(&slice)).collect();
    bencher
        .counter(ItemsCount::new(16 * 60_usize))
        .bench_local(|| {
            let elements = embedded::elements(black_box(&chunks).iter().map(Vec::as_slice));
            embedded::chunk(&elements.expect("they were just made"))
        });
}

/// Items are hours.
#[divan::bench]
fn embedded_hour(bencher: Bencher<'_, '_>) {
    let write = write(3600, Expect::Absent);
    bencher
        .counter(ItemsCount::new(1_usize))
        .bench_local(|| embedded::hour(black_box(&write)));
}

/// Items are hours.
#[divan::bench]
fn embedded_decode_hour(bencher: Bencher<'_, '_>) {
    let record = embedded::hour(&write(3600, Expect::Absent));
    bencher
        .counter(ItemsCount::new(1_usize))
        .bench_local(|| embedded::computed(black_box(&record)).expect("it was just made"));
}
