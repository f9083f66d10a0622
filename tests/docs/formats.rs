//! The bytes in `docs/formats.md` are those that the code writes.

use hourglass::journal::Record;
use hourglass::journal::frame::{read_group, read_segment_header, segment_header, write_group};
use hourglass::model::{Batch, MeasureName, Micros, SensorId};

use super::read;

/// The bytes of the block marked `name`, comments after `#` apart.
fn bytes(name: &str) -> Vec<u8> {
    let text = read("docs/formats.md");
    let mark = format!("```hex {name}\n");
    let (_, block) = text
        .split_once(&mark)
        .unwrap_or_else(|| panic!("no block {name}"));
    let (block, _) = block.split_once("```").unwrap();
    block
        .lines()
        .flat_map(|line| line.split('#').next().unwrap().split_whitespace())
        .map(|byte| u8::from_str_radix(byte, 16).unwrap())
        .collect()
}

/// The batch that the example holds.
fn record() -> Record {
    let mut batch = Batch::default();
    let sensor = batch.add_sensor(SensorId::new("S1").unwrap());
    let temp = batch.add_measure(MeasureName::new("temp").unwrap());
    batch.push_value(temp, 24.5);
    batch.finish_reading(sensor, Micros::new(1_777_629_600_000_000).unwrap());
    Record::Batch {
        received_at: Micros::new(1_777_629_600_000_001).unwrap(),
        batch,
        keyed: None,
    }
}

#[test]
fn the_segment_header_is_as_described() {
    let described = bytes("segment-header");
    assert_eq!(segment_header(1).to_vec(), described);
    assert_eq!(read_segment_header(&described), Some(1));
}

#[test]
fn the_group_and_its_record_are_as_described() {
    let encoded = record().encode();
    let mut written = Vec::new();
    write_group(&mut written, 1, [encoded.as_slice()].into_iter());
    let described = bytes("group");
    assert_eq!(written, described);

    let group = read_group(&described).unwrap();
    assert_eq!((group.first_seq, group.count), (1, 1));
    let records: Vec<_> = group.records().map(Record::decode).collect();
    assert_eq!(records, [Ok(record())]);
}
