//! Reading back: from anywhere, across segments, never skipping.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hourglass::journal::disk::{Disk, DiskFile};
use hourglass::journal::{Log, LogReader, Space};

use super::builders::{BYTES_MAX, append, assert_holds, fill, open, record};
use crate::support::sim_disk::SimDisk;

fn reader(disk: &SimDisk, from: u64) -> LogReader {
    LogReader::new(Arc::new(disk.clone()), from)
}

#[test]
fn any_sequence_can_be_the_first_and_all_behind_it_follow() {
    let disk = SimDisk::default();
    let (mut log, _) = open(&disk).unwrap();
    fill(&mut log, 30);
    for from in 1..30 {
        assert_holds(&disk, from..30);
    }
}

#[test]
fn it_jumps_forth_and_back() {
    let disk = SimDisk::default();
    let (mut log, _) = open(&disk).unwrap();
    fill(&mut log, 30);
    for from in 1..30 {
        for to in 1..30 {
            let mut reader = reader(&disk, from);
            for seq in [from, to, from] {
                assert_eq!(reader.read(seq).unwrap(), record(seq));
            }
        }
    }
}

/// The applier catches up from memory while the segment it read last goes.
#[test]
fn it_reads_on_though_the_segment_it_stood_in_was_released() {
    let disk = SimDisk::default();
    let (mut log, _) = open(&disk).unwrap();
    fill(&mut log, 30);
    for from in 1..25 {
        let disk = disk.after_kill();
        let (mut log, _) = open(&disk).unwrap();
        let mut reader = reader(&disk, from);
        reader.read(from).unwrap();
        log.release(25).unwrap();
        for seq in 25..30 {
            assert_eq!(reader.read(seq).unwrap(), record(seq));
        }
    }
}

#[test]
fn what_is_written_while_it_reads_is_read_too() {
    let disk = SimDisk::default();
    let (mut log, _) = open(&disk).unwrap();
    let mut reader = reader(&disk, 1);
    for end in 2..30 {
        fill(&mut log, end);
        assert_eq!(reader.read(end - 1).unwrap(), record(end - 1));
    }
}

#[test]
fn what_is_released_missing_or_not_written_yet_is_an_error_and_never_another_record() {
    let disk = SimDisk::default();
    let (mut log, _) = open(&disk).unwrap();
    fill(&mut log, 30);
    let kind = |disk: &SimDisk, seq| reader(disk, seq).read(seq).unwrap_err().kind();
    assert_eq!(kind(&disk, 30), ErrorKind::InvalidData);
    let gap = SimDisk::default();
    let names = disk.names();
    for name in names.iter().filter(|name| **name != names[1]) {
        gap.overwrite(name, disk.bytes(name));
    }
    let first_of = |name: &String| {
        name.strip_suffix(".journal")
            .unwrap()
            .parse::<u64>()
            .unwrap()
    };
    for seq in first_of(&names[1])..first_of(&names[2]) {
        assert_eq!(kind(&gap, seq), ErrorKind::InvalidData);
    }
    log.release(25).unwrap();
    assert_eq!(kind(&disk, 1), ErrorKind::InvalidData);
}

#[test]
fn a_damaged_record_is_an_error_each_time_it_is_asked_for() {
    let disk = SimDisk::default();
    let (mut log, _) = open(&disk).unwrap();
    fill(&mut log, 30);
    let name = disk.names()[1].clone();
    let mut bytes = disk.bytes(&name);
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    disk.overwrite(&name, bytes);
    let first_of = |at: usize| {
        disk.names()[at]
            .strip_suffix(".journal")
            .unwrap()
            .parse::<u64>()
    };
    let (after, damaged) = (first_of(2).unwrap(), first_of(2).unwrap() - 1);
    let mut reader = reader(&disk, 1);
    for _ in 0..2 {
        assert_eq!(
            reader.read(damaged).unwrap_err().kind(),
            ErrorKind::InvalidData
        );
    }
    assert_eq!(reader.read(after).unwrap(), record(after));
}

/// A disk that counts the bytes read from it.
#[derive(Debug)]
struct Counting {
    disk: SimDisk,
    read: AtomicU64,
}

impl Disk for Counting {
    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        self.disk.create(name)
    }
    fn reopen(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        self.disk.reopen(name)
    }
    fn list(&self) -> io::Result<Vec<String>> {
        self.disk.list()
    }
    fn read_at(&self, name: &str, offset: u64, bytes: usize) -> io::Result<Vec<u8>> {
        let read = self.disk.read_at(name, offset, bytes)?;
        self.read.fetch_add(read.len() as u64, Ordering::Relaxed);
        Ok(read)
    }
    fn len(&self, name: &str) -> io::Result<u64> {
        self.disk.len(name)
    }
    fn truncate(&self, name: &str, len: u64) -> io::Result<()> {
        self.disk.truncate(name, len)
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.disk.remove(name)
    }
    fn sync_names(&self) -> io::Result<()> {
        self.disk.sync_names()
    }
}

/// A full tail takes a record whenever the applier took one, so what lies
/// between is on disk only: now one from memory, now one from disk.
#[test]
fn a_backlog_of_which_memory_has_every_other_record_is_read_once() {
    let disk = SimDisk::default();
    let space = Space::new(BYTES_MAX);
    let (mut log, _) = Log::open(Arc::new(disk.clone()), space, BYTES_MAX / 2).unwrap();
    let (groups, group) = (100, 8);
    for number in 0..groups {
        append(&mut log, 1 + number * group..1 + (number + 1) * group).unwrap();
    }
    let bytes: usize = disk.names().iter().map(|name| disk.bytes(name).len()).sum();
    for every in [2, 3, 7, 11] {
        let counting = Arc::new(Counting {
            disk: disk.clone(),
            read: AtomicU64::new(0),
        });
        let mut reader = LogReader::new(counting.clone(), 1);
        for seq in (1..=groups * group).step_by(every) {
            assert_eq!(reader.read(seq).unwrap(), record(seq));
        }
        // The heads of groups are read twice.
        let read = counting.read.load(Ordering::Relaxed);
        assert!(read < 2 * bytes as u64, "{read} of {bytes}, every {every}");
    }
}
