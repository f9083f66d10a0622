//! Durable readings a second of the journal, beside a bare write and sync of the
//! same bytes: `cargo bench --bench journal`. The files are in the directory for
//! temporary ones (`TMPDIR`), whose disk is what is measured.

mod batches;

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::Arc;

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use hourglass::config::JournalSettings;
use hourglass::journal::disk::FsDisk;
use hourglass::journal::tail::Next;
use hourglass::journal::{Append, GroupCommit, Log, Record, Space, frame};
use hourglass::metrics::Ledger;
use tempfile::TempDir;

use batches::{at, batch, in_turn};

const READINGS: [usize; 3] = [1, 1000, 5000];
const SENSORS: usize = 1000;
const SPACE_BYTES: u64 = 16 << 30;

fn main() {
    divan::main();
}

fn record(readings: usize) -> Record {
    let sensors = SENSORS.min(readings);
    Record::Batch {
        received_at: at(0),
        batch: batch(sensors, 1, in_turn(sensors, readings, 0)),
        keyed: None,
    }
}

#[divan::bench(args = READINGS)]
fn encode(bencher: Bencher<'_, '_>, readings: usize) {
    let record = record(readings);
    bencher
        .counter(ItemsCount::new(readings))
        .counter(BytesCount::new(record.encode().len()))
        .bench_local(|| black_box(&record).encode());
}

#[divan::bench(args = READINGS)]
fn decode(bencher: Bencher<'_, '_>, readings: usize) {
    let encoded = record(readings).encode();
    bencher
        .counter(ItemsCount::new(readings))
        .counter(BytesCount::new(encoded.len()))
        .bench_local(|| Record::decode(black_box(&encoded)).expect("it was just encoded"));
}

/// The bytes of one group of one record, as they go to disk.
fn group(readings: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let encoded = record(readings).encode();
    frame::write_group(&mut bytes, 1, std::iter::once(encoded.as_slice()));
    bytes
}

/// The base: what the disk alone takes.
#[divan::bench(args = READINGS)]
fn sync_peer_bare_file(bencher: Bencher<'_, '_>, readings: usize) {
    let dir = TempDir::new().expect("there is room for temporary files");
    let bytes = group(readings);
    let mut file: File = OpenOptions::new()
        .append(true)
        .create_new(true)
        .open(dir.path().join("bare"))
        .expect("the directory is new");
    bencher
        .counter(ItemsCount::new(readings))
        .counter(BytesCount::new(bytes.len()))
        .bench_local(|| {
            file.write_all(&bytes).expect("there is room");
            file.sync_data().expect("the disk is sound");
        });
}

/// Frame, write and sync of a record that is encoded already.
#[divan::bench(args = READINGS)]
fn sync_log(bencher: Bencher<'_, '_>, readings: usize) {
    let dir = TempDir::new().expect("there is room for temporary files");
    let disk = Arc::new(FsDisk::open(dir.path().to_owned()).expect("the directory is there"));
    let segment_bytes = JournalSettings::default().segment_bytes;
    let (mut log, _) =
        Log::open(disk, Space::new(SPACE_BYTES), segment_bytes).expect("a new log is sound");
    let encoded = record(readings).encode();
    bencher
        .counter(ItemsCount::new(readings))
        .counter(BytesCount::new(group(readings).len()))
        .bench_local(|| {
            let first = log.append(std::iter::once(encoded.as_slice()));
            first.expect("the disk is sound")
        });
}

/// A journal as the service has it, without its thread.
struct Committing {
    commit: GroupCommit,
    space: Arc<Space>,
    _dir: TempDir,
}

impl Committing {
    fn new() -> Self {
        let dir = TempDir::new().expect("there is room for temporary files");
        let disk = Arc::new(FsDisk::open(dir.path().to_owned()).expect("the directory is there"));
        let space = Space::new(SPACE_BYTES);
        let (commit, _) = GroupCommit::open(
            disk,
            Arc::clone(&space),
            &JournalSettings::default(),
            Arc::new(Ledger::default()),
            Arc::new(|_, _, _| ()),
        )
        .expect("a new log is sound");
        Self {
            commit,
            space,
            _dir: dir,
        }
    }

    /// From records to records that the applier gets.
    fn run(&mut self, records: Vec<Record>) {
        let first = self.commit.log().next_seq();
        let count = records.len() as u64;
        let group = records.into_iter().map(|record| {
            let encoded = record.encode();
            let reservation = self.space.reserve(encoded.len() as u64);
            Append::new(record, encoded, reservation.expect("the bound is far")).0
        });
        self.commit.commit(group.collect());
        for seq in first..first + count {
            let next = self.commit.tail().next(seq);
            assert!(matches!(next, Next::Memory(_)), "it was just committed");
        }
    }
}

/// Encode, frame, write, sync, and the way on to the applier.
#[divan::bench(args = READINGS)]
fn sync_group_of_one_batch(bencher: Bencher<'_, '_>, readings: usize) {
    let mut committing = Committing::new();
    let record = record(readings);
    bencher
        .counter(ItemsCount::new(readings))
        .counter(BytesCount::new(group(readings).len()))
        .with_inputs(|| vec![record.clone()])
        .bench_local_values(|records| committing.run(records));
}

/// What many small senders at once gain from one sync.
#[divan::bench(args = [1, 32, 1000])]
fn sync_group_of_single_readings(bencher: Bencher<'_, '_>, records: usize) {
    let mut committing = Committing::new();
    let record = record(1);
    bencher
        .counter(ItemsCount::new(records))
        .with_inputs(|| vec![record.clone(); records])
        .bench_local_values(|records| committing.run(records));
}
