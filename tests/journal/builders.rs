//! Records, logs and what a start finds.

use std::sync::Arc;

use hourglass::journal::{Log, LogError, LogReader, Record, Recovered, Space};
use hourglass::model::{Batch, MeasureName, Micros, SensorId};

use crate::support::sim_disk::SimDisk;

/// 2026-05-01T10:00:00Z.
pub(super) const NOON: i64 = 1_777_629_600_000_000;

/// Bytes at which the logs of these tests begin a new segment: two or three
/// groups.
pub(super) const SEGMENT_BYTES: u64 = 250;

/// Bytes of their bound, far above what they write.
pub(super) const BYTES_MAX: u64 = 1 << 20;

/// A record that only its number makes: one reading.
pub(super) fn record(number: u64) -> Record {
    let mut batch = Batch::default();
    let sensor = batch.add_sensor(SensorId::new(&format!("S{}", number % 3)).unwrap());
    let temp = batch.add_measure(MeasureName::new("temp").unwrap());
    batch.push_value(temp, number as f64 / 10.0);
    let at = NOON + i64::try_from(number).unwrap();
    batch.finish_reading(sensor, Micros::new(at).unwrap());
    Record::Batch {
        received_at: Micros::new(at + 5).unwrap(),
        batch,
        keyed: None,
    }
}

/// Opens the log on `disk`.
pub(super) fn open(disk: &SimDisk) -> Result<(Log, Recovered), LogError> {
    open_within(disk, &Space::new(BYTES_MAX))
}

/// Opens the log on `disk`, its bytes counted in `space`.
pub(super) fn open_within(
    disk: &SimDisk,
    space: &Arc<Space>,
) -> Result<(Log, Recovered), LogError> {
    Log::open(Arc::new(disk.clone()), Arc::clone(space), SEGMENT_BYTES)
}

/// Appends the records `numbers` as one group, of which the first must get the
/// sequence of its number.
pub(super) fn append(
    log: &mut Log,
    numbers: std::ops::Range<u64>,
) -> Result<(), hourglass::journal::AppendError> {
    let encoded: Vec<Vec<u8>> = numbers.clone().map(|n| record(n).encode()).collect();
    let first = log.append(encoded.iter().map(Vec::as_slice))?;
    assert_eq!(first, numbers.start);
    Ok(())
}

/// Appends groups of one, two, three … records up to record `end`.
pub(super) fn fill(log: &mut Log, end: u64) {
    let mut size = 1;
    while log.next_seq() < end {
        let first = log.next_seq();
        append(log, first..(first + size).min(end)).unwrap();
        size = size % 3 + 1;
    }
}

/// Checks that records `numbers` can be read back as they were written.
pub(super) fn assert_holds(disk: &SimDisk, numbers: std::ops::Range<u64>) {
    let mut reader = LogReader::new(Arc::new(disk.clone()), numbers.start);
    for number in numbers {
        assert_eq!(reader.read(number).unwrap(), record(number));
    }
}

/// Names and bytes of all files.
pub(super) fn image(disk: &SimDisk) -> Vec<(String, Vec<u8>)> {
    let names = disk.names().into_iter();
    names
        .map(|name| (name.clone(), disk.bytes(&name)))
        .collect()
}
