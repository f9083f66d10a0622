//! Two processes on one bucket (I2): two stores that do what a flush does.

use std::collections::BTreeSet;

use hourglass::bucket::Merge;
use hourglass::store::mongodb::MongoStore;
use hourglass::store::{BucketWrite, Expect, Store, StoredBucket, WriteOutcome};

use super::builders::{HOUR, contents, key, measure, store, version};
use crate::support::mongod::TestDatabase;

/// Parts are closed at this many instants here.
const PART_INSTANTS: usize = 25;

/// Stores `seconds` as a flush does: load, drop what is in, write the rest,
/// again while fenced.
async fn flush(store: &MongoStore, seconds: &[u32], by: &mut i64) {
    loop {
        let loaded = store.load(&[key("A", HOUR)]).await.unwrap();
        let Some(write) = write_of(loaded[0].as_ref(), seconds, by) else {
            return;
        };
        match store.write(&[write]).await.unwrap().remove(0) {
            WriteOutcome::Stored => return,
            WriteOutcome::Fenced => {}
            WriteOutcome::Failed(error) => panic!("{error}"),
        }
    }
}

fn write_of(bucket: Option<&StoredBucket>, seconds: &[u32], by: &mut i64) -> Option<BucketWrite> {
    let temp = measure("temp");
    let parts = bucket.map_or(&[][..], |bucket| &bucket.parts);
    let stored: BTreeSet<u32> = parts
        .iter()
        .flat_map(|part| part.elements.offsets().iter().copied())
        .collect();
    let fresh: Vec<u32> = seconds
        .iter()
        .map(|second| second * 1_000_000)
        .filter(|offset| !stored.contains(offset))
        .collect();
    if fresh.is_empty() {
        return None;
    }
    let mut unique = || {
        *by += 1;
        *by
    };
    let mut part = Merge::default();
    let (expect, target) = match bucket.zip(parts.last()) {
        None => (Expect::Absent, version(0, 1, unique())),
        Some((bucket, last)) if last.full || last.elements.len() >= PART_INSTANTS => {
            let at = bucket.version();
            let closing = (!last.full).then(|| version(at.part, at.rev + 1, unique()));
            let target = version(at.part + 1, 1, unique());
            (Expect::Next { last: at, closing }, target)
        }
        Some((bucket, last)) => {
            for element in last.elements.iter() {
                part.add(element.offset, element.values());
            }
            let at = bucket.version();
            (Expect::Open(at), version(at.part, at.rev + 1, unique()))
        }
    };
    let before = part.elements().len();
    for offset in fresh {
        part.add(offset, [(&temp, f64::from(offset))]);
    }
    let (elements, computed) = contents(&part);
    Some(BucketWrite {
        key: key("A", HOUR),
        expect,
        target,
        elements: elements.slice(before, elements.len()),
        computed,
    })
}

#[tokio::test]
async fn two_stores_on_one_bucket_neither_lose_nor_double_a_reading() {
    let database = TestDatabase::new().await;
    let (ours, theirs) = (store(&database.uri()), store(&database.uri()));
    // Both store every second, in chunks of different sizes.
    let run = |store: MongoStore, chunk: usize, mut by: i64| async move {
        let seconds: Vec<u32> = (0..200).collect();
        for seconds in seconds.chunks(chunk) {
            flush(&store, seconds, &mut by).await;
        }
        store
    };
    let (store, _) = tokio::join!(run(ours, 7, 1_000_000), run(theirs, 5, 2_000_000));

    let loaded = store.load(&[key("A", HOUR)]).await.unwrap();
    let bucket = loaded[0].as_ref().unwrap();
    let mut offsets: Vec<u32> = Vec::new();
    for part in &bucket.parts {
        offsets.extend(part.elements.offsets());
        assert_eq!(part.computed.count, part.elements.len() as u64);
        assert_eq!(part.stray_fields, Vec::<String>::new());
    }
    offsets.sort_unstable();
    let expected: Vec<u32> = (0..200).map(|second| second * 1_000_000).collect();
    assert_eq!(offsets, expected);
    assert!(bucket.parts.len() > 1);
}
