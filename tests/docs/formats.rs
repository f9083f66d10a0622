//! The bytes in `docs/formats.md` are those that the code writes.

use std::sync::Arc;

use hourglass::ingest::Outcome;
use hourglass::journal::frame::{read_group, read_segment_header, segment_header, write_group};
use hourglass::journal::{KeyedAnswer, Record};
use hourglass::model::{
    Batch, MeasureName, Micros, Origin, RejectCode, Rejection, SensorId, TimeRange,
};

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

/// The batch of version 2 that the example holds.
fn keyed_record(answer: Box<[u8]>) -> Record {
    let mut batch = Batch::default();
    let sensor = batch.add_sensor(SensorId::new("S1").unwrap());
    let temp = batch.add_measure(MeasureName::new("temp").unwrap());
    let (origin, _) = Origin::new("m", [("a", "1")]);
    let origin = batch.add_origin(Arc::new(origin));
    batch.push_value(temp, 24.5);
    let at = Micros::new(1_777_629_600_000_000).unwrap();
    batch.finish_reading_from(sensor, at, Some(origin));
    Record::Batch {
        received_at: Micros::new(1_777_629_600_000_001).unwrap(),
        batch,
        keyed: Some(Box::new(KeyedAnswer {
            key: "k-1".into(),
            digest: [0xd1; 32],
            answer,
        })),
    }
}

#[test]
fn a_batch_of_version_2_is_as_described() {
    let record = keyed_record([0x01].into());
    assert_eq!(record.encode(), bytes("batch-2"));
    assert_eq!(Record::decode(&bytes("batch-2")), Ok(record));
}

#[test]
fn deletions_are_as_described() {
    let instant = |micros| Micros::new(micros).unwrap();
    let deletion = Record::Deletion {
        received_at: instant(1_777_629_600_000_001),
        sensor: SensorId::new("S1").unwrap(),
        range: TimeRange {
            from: instant(1_777_629_600_000_000),
            to: instant(1_777_633_200_000_000),
        },
    };
    let done = Record::DeletionDone { deletion: 7 };
    for (name, record) in [("deletion", deletion), ("deletion-done", done)] {
        assert_eq!(record.encode(), bytes(name), "{name}");
        assert_eq!(Record::decode(&bytes(name)), Ok(record));
    }
}

#[test]
fn an_answer_is_as_described() {
    let mut outcome = Outcome {
        accepted: 2,
        rejected: 1,
        rejections: vec![Rejection {
            index: 1,
            line: None,
            field: Some("temp".into()),
            code: RejectCode::NotFinite,
            detail: "why".into(),
        }],
        rejected_by_code: vec![(RejectCode::NotFinite, 1)],
        server_time: Micros::new(1_777_629_600_000_001).unwrap(),
    };
    let written = outcome.keep();
    assert_eq!(written.to_vec(), bytes("answer"));
    let read = Outcome::read(&written).unwrap();
    assert_eq!(format!("{read:?}"), format!("{outcome:?}"));
}
