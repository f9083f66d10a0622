//! Segments of earlier versions are read by later ones: `tests/fixtures/` keeps
//! what each format looked like.

use std::path::Path;
use std::sync::Arc;

use hourglass::journal::{KeyedAnswer, LogReader, Record};
use hourglass::model::{Batch, MeasureName, Micros, Origin, SensorId};

use super::builders::{NOON, open};
use crate::support::sim_disk::SimDisk;

const SEGMENT: &str = "00000000000000000001.journal";

/// Readings of one batch: sensor, microseconds after noon, measures.
type Rows<'a> = &'a [(&'a str, i64, &'a [(&'a str, f64)])];

/// What the segment holds: two records in one group, then one in a second.
const RECORDS: [Rows<'static>; 3] = [
    &[
        ("S1", 0, &[("temp", 24.1), ("humidity", 51.0)]),
        ("S2", 1_000_000, &[("temp", -0.0)]),
        ("S1", 1_000_001, &[("temp", 24.2)]),
    ],
    &[("a|b/ c.$é", -86_400_000_000, &[("%.$", 1e300)])],
    &[("S1", 3_600_000_000, &[("temp", 5e-324)])],
];

fn record(rows: Rows<'_>) -> Record {
    let mut batch = Batch::default();
    for (sensor, at, values) in rows {
        let id = SensorId::new(sensor).unwrap();
        let known = batch.sensors().iter().position(|s| *s == id);
        let sensor = known.map_or_else(|| batch.add_sensor(id), |at| at as u32);
        for (measure, value) in *values {
            let name = MeasureName::new(measure).unwrap();
            let known = batch.measures().iter().position(|m| *m == name);
            let measure = known.map_or_else(|| batch.add_measure(name), |at| at as u32);
            batch.push_value(measure, *value);
        }
        batch.finish_reading(sensor, Micros::new(NOON + at).unwrap());
    }
    Record::Batch {
        received_at: Micros::new(NOON + 7).unwrap(),
        batch,
        keyed: None,
    }
}

/// Three records in one group: readings with an answer, an answer alone, and
/// readings with origins.
fn records_of_version_2() -> [Record; 3] {
    let keyed = |key: &str, byte: u8| {
        Some(Box::new(KeyedAnswer {
            key: key.into(),
            digest: [byte; 32],
            answer: vec![1, byte].into(),
        }))
    };
    let received_at = Micros::new(NOON + 7).unwrap();
    let Record::Batch { batch, .. } = record(RECORDS[0]) else {
        panic!("it is a batch");
    };
    let mut with_origins = Batch::default();
    let sensor = with_origins.add_sensor(SensorId::new("d1").unwrap());
    let usage = with_origins.add_measure(MeasureName::new("usage").unwrap());
    let (origin, _) = Origin::new("cpu", [("host", "h1"), ("core", "0")]);
    let origin = with_origins.add_origin(Arc::new(origin));
    for (at, origin) in [(0, None), (1, Some(origin))] {
        with_origins.push_value(usage, 0.5);
        with_origins.finish_reading_from(sensor, Micros::new(NOON + at).unwrap(), origin);
    }
    [
        (batch, keyed("readings", 7)),
        (Batch::default(), keyed("none", 8)),
        (with_origins, None),
    ]
    .map(|(batch, keyed)| Record::Batch {
        received_at,
        batch,
        keyed,
    })
}

fn fixture(version: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    std::fs::read(folder.join(version).join(SEGMENT)).unwrap()
}

#[test]
fn a_segment_of_version_1_is_read_back() {
    let disk = SimDisk::default();
    disk.overwrite(SEGMENT, fixture("journal-v1"));
    let (_, recovered) = open(&disk).unwrap();
    assert_eq!((recovered.first_seq, recovered.end_seq), (Some(1), 4));
    assert_eq!((recovered.values, recovered.torn), (6, None));
    let mut reader = LogReader::new(Arc::new(disk), 1);
    for (seq, rows) in (1..).zip(RECORDS) {
        // Printed, -0.0 and 0.0 differ.
        let read = format!("{:?}", reader.read(seq).unwrap());
        assert_eq!(read, format!("{:?}", record(rows)));
    }
}

/// Where this fails the format has changed: give it a version of its own, keep
/// reading this one, and add a fixture.
#[test]
fn today_version_1_is_written() {
    let disk = SimDisk::default();
    let (mut log, _) = open(&disk).unwrap();
    let encoded = RECORDS.map(|rows| record(rows).encode());
    log.append(encoded[..2].iter().map(Vec::as_slice)).unwrap();
    log.append(encoded[2..].iter().map(Vec::as_slice)).unwrap();
    assert_eq!(disk.bytes(SEGMENT), fixture("journal-v1"));
}

#[test]
fn batches_of_version_2_are_read_back() {
    let disk = SimDisk::default();
    disk.overwrite(SEGMENT, fixture("journal-v1-batch-v2"));
    let (_, recovered) = open(&disk).unwrap();
    assert_eq!((recovered.records, recovered.values), (3, 6));
    let mut reader = LogReader::new(Arc::new(disk), 1);
    for (seq, record) in (1..).zip(records_of_version_2()) {
        let read = format!("{:?}", reader.read(seq).unwrap());
        assert_eq!(read, format!("{record:?}"));
    }
}

/// As above.
#[test]
fn today_batches_of_version_2_are_written() {
    let disk = SimDisk::default();
    let (mut log, _) = open(&disk).unwrap();
    let encoded = records_of_version_2().map(|record| record.encode());
    log.append(encoded.iter().map(Vec::as_slice)).unwrap();
    assert_eq!(disk.bytes(SEGMENT), fixture("journal-v1-batch-v2"));
}

#[test]
fn a_segment_of_a_later_version_is_no_damage_and_is_left_alone() {
    let disk = SimDisk::default();
    let mut bytes = fixture("journal-v1");
    bytes[7] = 2;
    let crc = crc32c::crc32c(&bytes[..16]);
    bytes[16..20].copy_from_slice(&crc.to_le_bytes());
    disk.overwrite(SEGMENT, bytes.clone());
    let refused = open(&disk).map(|_| ()).unwrap_err();
    let told = refused.to_string();
    assert!(told.contains("format version 2"), "{told}");
    assert!(told.contains(SEGMENT), "{told}");
    assert_eq!(disk.bytes(SEGMENT), bytes);
}
