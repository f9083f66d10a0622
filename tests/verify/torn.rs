//! A bucket that changes while its parts are being read, and whose parts then do
//! not fit: what a deletion and a later reading make of it is no finding.
//!
//! Method: hours of two parts, so many that the cursor gives them in two batches,
//! the first of which ends between the two documents of an hour. Before the second
//! is asked for, a reading of the first part is deleted and comes again, into the
//! second part.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::StreamExt;
use hourglass::bucket::{Elements, Merge};
use hourglass::model::{BucketKey, HourStart, MeasureName, Micros, SensorId, Tags};
use hourglass::store::mongodb::{MongoSettings, MongoStore};
use hourglass::store::{
    BucketEdit, BucketVersion, BucketWrite, Expect, PartChange, PartEdit, SensorTold, Store,
    StoredBucket, WriteOutcome, WriterId,
};
use hourglass::verify::{Progress, Verify, Watch};

use crate::support::mongod::TestDatabase;

/// The first of them has one part, all others two: 1,000 documents, a batch, end
/// between two parts.
const SENSORS: usize = 520;

/// Around the sensor that a batch ends in.
const CHANGED: std::ops::RangeInclusive<usize> = 490..=510;

const MOVED: u32 = 1_000_000;

fn key(sensor: usize) -> BucketKey {
    BucketKey {
        sensor: SensorId::new(&format!("S{sensor:04}")).unwrap(),
        hour: HourStart::from_hours(493_786),
    }
}

/// A reading a second at these.
fn at(offsets: &[u32]) -> Merge {
    let temp = MeasureName::new("temp").unwrap();
    let mut merge = Merge::default();
    for offset in offsets {
        merge.add(*offset, [(&temp, 0.5)]);
    }
    merge
}

fn version(part: u32, rev: i64, writer: &WriterId) -> BucketVersion {
    let by = writer.next();
    BucketVersion { part, rev, by }
}

fn write(key: BucketKey, expect: Expect, target: BucketVersion, merge: &Merge) -> BucketWrite {
    BucketWrite {
        key,
        expect,
        target,
        elements: merge.elements().clone(),
        computed: merge.computed(0, merge.elements().len()),
    }
}

async fn write_all(store: &MongoStore, writes: Vec<BucketWrite>) {
    for outcome in store.write(&writes).await.unwrap() {
        assert!(matches!(outcome, WriteOutcome::Stored), "{outcome:?}");
    }
}

async fn fill(store: &MongoStore, writer: &WriterId) {
    let first = |sensor| {
        let target = version(0, 1, writer);
        write(key(sensor), Expect::Absent, target, &at(&[MOVED, 2]))
    };
    let writes: Vec<BucketWrite> = (0..SENSORS).map(first).collect();
    let second = |(sensor, first): (usize, &BucketWrite)| {
        let expect = Expect::Next {
            last: first.target,
            closing: Some(version(0, 2, writer)),
        };
        write(key(sensor), expect, version(1, 1, writer), &at(&[3, 4]))
    };
    let seconds = writes.iter().enumerate().skip(1).map(second).collect();
    write_all(store, writes.clone()).await;
    write_all(store, seconds).await;
    let told = writes.into_iter().map(|write| SensorTold {
        sensor: write.key.sensor,
        last_seen: Some(Micros::MIN),
        attributes: Tags::default(),
        recent: None,
    });
    let told: Vec<SensorTold> = told.collect();
    store.touch(&told).await.unwrap();
}

/// Deletes one reading of the first part and has it come again.
async fn change(store: &MongoStore, writer: &WriterId, sensor: usize) {
    let key = key(sensor);
    let loaded = store.load(std::slice::from_ref(&key)).await.unwrap();
    let StoredBucket { parts, .. } = loaded.into_iter().flatten().next().unwrap();
    let replaced = |at: usize, merge: &Merge| PartEdit {
        expected: parts[at].version,
        change: PartChange::Replace {
            target: version(at as u32, parts[at].version.rev + 1, writer),
            elements: merge.elements().clone(),
            computed: merge.computed(0, merge.elements().len()),
        },
    };
    let edit = BucketEdit {
        key: key.clone(),
        parts: vec![replaced(0, &at(&[2])), replaced(1, &at(&[3, 4]))],
    };
    let edited = store.edit(&edit).await.unwrap();
    assert!(matches!(edited, WriteOutcome::Stored), "{edited:?}");
    let PartChange::Replace { target: last, .. } = edit.parts[1].change else {
        panic!("it was replaced");
    };
    let target = version(1, last.rev + 1, writer);
    let mut again = write(key, Expect::Open(last), target, &at(&[MOVED]));
    again.computed = at(&[3, 4, MOVED]).computed(0, 3);
    write_all(store, vec![again]).await;
}

async fn filled() -> (TestDatabase, Arc<MongoStore>, Arc<WriterId>) {
    let database = TestDatabase::new().await;
    let store = MongoStore::connect(&database.uri(), MongoSettings::default()).unwrap();
    let writer = WriterId::new(7);
    fill(&store, &writer).await;
    (database, Arc::new(store), Arc::new(writer))
}

/// That the method does what it says.
#[tokio::test(flavor = "multi_thread")]
async fn a_part_may_be_read_before_a_change_and_the_next_one_behind_it() {
    let (_database, store, writer) = filled().await;
    let mut buckets = store.inspect();
    let mut torn = 0;
    for sensor in 0..SENSORS {
        if CHANGED.contains(&sensor) {
            change(&store, &writer, sensor).await;
        }
        let bucket = buckets.next().await.unwrap().unwrap();
        assert_eq!(bucket.key, Some(key(sensor)));
        let mut offsets = HashSet::new();
        let parts = bucket.parts.iter().map(|part| &part.elements);
        let elements = parts.flat_map(Elements::offsets);
        torn += usize::from(!elements.into_iter().all(|at| offsets.insert(*at)));
    }
    assert_eq!(torn, 1);
}

struct Meddler {
    store: Arc<MongoStore>,
    writer: Arc<WriterId>,
    changed: usize,
    told: Vec<String>,
}

impl Watch for Meddler {
    fn tell(&mut self, line: &str) {
        self.told.push(line.to_owned());
    }

    fn reached(&mut self, progress: &Progress) {
        let Progress::Buckets { buckets, .. } = *progress else {
            return;
        };
        let next = usize::try_from(buckets).unwrap();
        if CHANGED.contains(&next) {
            let change = change(&self.store, &self.writer, next);
            let handle = tokio::runtime::Handle::current();
            tokio::task::block_in_place(|| handle.block_on(change));
            self.changed += 1;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_of_different_moments_are_no_finding() {
    let (_database, store, writer) = filled().await;
    let mut watch = Meddler {
        store: Arc::clone(&store),
        writer: Arc::clone(&writer),
        changed: 0,
        told: Vec::new(),
    };
    let verify = Verify {
        store: &*store,
        repair: true,
        writer: &writer,
        recent_readings: 20,
    };
    let report = verify.run(&mut watch).await.unwrap();
    assert!(report.is_clean(), "{report}");
    assert_eq!(watch.told, [""; 0]);
    assert_eq!((report.buckets, watch.changed), (SENSORS as u64, 21));
}
