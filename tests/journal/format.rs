//! Segments of earlier versions are read by later ones: `tests/fixtures/` keeps
//! what each format looked like.

use std::path::Path;
use std::sync::Arc;

use hourglass::journal::{LogReader, Record};
use hourglass::model::{Batch, MeasureName, Micros, SensorId};

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
