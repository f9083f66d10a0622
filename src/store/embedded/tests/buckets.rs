//! Buckets: merges of chunks, damage.

use futures_util::StreamExt;

use super::samples::{Fixture, fixture};
use crate::bucket::Merge;
use crate::model::{BucketKey, HourStart, MeasureName, SensorId};
use crate::store::embedded::EmbeddedStore;
use crate::store::embedded::keys::{bucket_key, chunk_key};
use crate::store::{
    BucketVersion, BucketWrite, Expect, Store, StoreError, StoredBucket, WriteOutcome,
};

pub(super) fn key(hours: i32) -> BucketKey {
    BucketKey {
        sensor: SensorId::new("a|b").unwrap(),
        hour: HourStart::from_hours(hours),
    }
}

pub(super) fn version(rev: i64) -> BucketVersion {
    BucketVersion {
        part: 0,
        rev,
        by: rev * 1000,
    }
}

/// The write number `rev` of an hour that gets `batch` readings with each.
pub(super) fn nth_write(key: &BucketKey, rev: i64, batch: usize) -> BucketWrite {
    let temp = MeasureName::new("temp").unwrap();
    let mut merge = Merge::default();
    let to = usize::try_from(rev).unwrap() * batch;
    for at in 0..to {
        merge.add(at as u32 * 1000, [(&temp, at as f64 / 10.0)]);
    }
    BucketWrite {
        key: key.clone(),
        expect: match rev {
            1 => Expect::Absent,
            _ => Expect::Open(version(rev - 1)),
        },
        target: version(rev),
        elements: merge.elements().slice(to - batch, to),
        computed: merge.computed(0, to),
    }
}

pub(super) fn fill(store: &EmbeddedStore, key: &BucketKey, writes: i64, batch: usize) {
    for rev in 1..=writes {
        let outcomes = store
            .database()
            .write(&[nth_write(key, rev, batch)])
            .unwrap();
        assert!(matches!(outcomes[0], WriteOutcome::Stored), "{outcomes:?}");
    }
}

pub(super) fn chunk_count(store: &EmbeddedStore, key: &BucketKey) -> usize {
    store.database().chunks.prefix(bucket_key(key)).count()
}

fn corruption(result: Result<Vec<Option<StoredBucket>>, StoreError>) -> String {
    match result {
        Err(error @ StoreError::Corrupt { .. }) => error.to_string(),
        other => panic!("told no corruption: {other:?}"),
    }
}

#[test]
fn the_sixteenth_small_chunk_is_merged_with_those_before() {
    let Fixture { store, _dir } = fixture();
    fill(&store, &key(0), 15, 7);
    assert_eq!(chunk_count(&store, &key(0)), 15);
    fill(&store, &key(1), 16, 7);
    assert_eq!(chunk_count(&store, &key(1)), 1);
    fill(&store, &key(2), 31, 7);
    assert_eq!(chunk_count(&store, &key(2)), 1);
    let loaded = store.database().load(&[key(2)]).unwrap();
    assert_eq!(loaded[0].as_ref().unwrap().parts[0].elements.len(), 31 * 7);
}

#[test]
fn a_large_merged_chunk_is_left_alone() {
    let Fixture { store, _dir } = fixture();
    fill(&store, &key(0), 31, 600);
    assert_eq!(chunk_count(&store, &key(0)), 16);
    let loaded = store.database().load(&[key(0)]).unwrap();
    let part = &loaded[0].as_ref().unwrap().parts[0];
    assert_eq!(part.elements.len(), 31 * 600);
    assert!(part.elements.offsets().is_sorted());
}

#[test]
fn i12_a_missing_chunk_is_told() {
    let Fixture { store, _dir } = fixture();
    fill(&store, &key(0), 3, 2);
    let chunk = chunk_key(&bucket_key(&key(0)), 2);
    store.database().chunks.remove(chunk).unwrap();
    assert_eq!(
        corruption(store.database().load(&[key(0)])),
        "the chunks of `a%7Cb|1970-01-01T00` in the embedded store cannot be read: \
         its hour record counts 3 chunks and 6 elements, there are 2 and 4; \
         restore the store's directory from a backup"
    );
}

#[tokio::test]
async fn i12_a_damaged_chunk_is_told_and_hides_no_other_hour() {
    let Fixture { store, _dir } = fixture();
    for hours in 0..3 {
        fill(&store, &key(hours), 2, 2);
    }
    let chunk = chunk_key(&bucket_key(&key(1)), 2);
    let mut bytes = store
        .database()
        .chunks
        .get(&chunk)
        .unwrap()
        .unwrap()
        .to_vec();
    bytes[5] ^= 1;
    store.database().chunks.insert(chunk, bytes).unwrap();
    let text = corruption(store.database().load(&[key(1)]));
    assert!(
        text.starts_with("chunk 2 of 2 of `a%7Cb|1970-01-01T01`"),
        "{text}"
    );
    assert!(text.contains("checksum"), "{text}");

    let read: Vec<_> = store
        .all()
        .map(|item| item.map(|b| b.key).ok())
        .collect()
        .await;
    assert_eq!(read, [Some(key(0)), None, Some(key(2))]);
}

/// An append to an hour with a damaged chunk goes in, and the damage is told
/// by whoever reads.
#[test]
fn a_damaged_chunk_does_not_stop_appends() {
    let Fixture { store, _dir } = fixture();
    fill(&store, &key(0), 15, 2);
    let chunk = chunk_key(&bucket_key(&key(0)), 3);
    store.database().chunks.insert(chunk, b"rubbish").unwrap();
    let outcomes = store
        .database()
        .write(&[nth_write(&key(0), 16, 2)])
        .unwrap();
    assert!(matches!(outcomes[0], WriteOutcome::Stored));
    assert_eq!(chunk_count(&store, &key(0)), 16);
    corruption(store.database().load(&[key(0)]));
}

#[test]
fn i12_a_damaged_hour_record_fails_its_own_write_only() {
    let Fixture { store, _dir } = fixture();
    fill(&store, &key(0), 1, 2);
    fill(&store, &key(1), 1, 2);
    let record = bucket_key(&key(0));
    store
        .database()
        .hours
        .insert(record, b"\x01rubbish")
        .unwrap();
    let writes = [nth_write(&key(0), 2, 2), nth_write(&key(1), 2, 2)];
    let outcomes = store.database().write(&writes).unwrap();
    assert!(matches!(
        outcomes.as_slice(),
        [
            WriteOutcome::Failed(StoreError::Corrupt { .. }),
            WriteOutcome::Stored
        ]
    ));
}

#[test]
fn a_write_that_would_overwrite_a_chunk_is_refused() {
    let Fixture { store, _dir } = fixture();
    fill(&store, &key(0), 2, 2);
    let mut again = nth_write(&key(0), 3, 2);
    again.target = version(2);
    let twice = nth_write(&key(1), 1, 2);
    let outcomes = store
        .database()
        .write(&[again, twice.clone(), twice])
        .unwrap();
    assert!(matches!(
        outcomes.as_slice(),
        [
            WriteOutcome::Failed(StoreError::Refused { .. }),
            WriteOutcome::Stored,
            WriteOutcome::Failed(StoreError::Refused { .. })
        ]
    ));
    assert_eq!(chunk_count(&store, &key(1)), 1);
}
