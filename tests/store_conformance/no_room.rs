//! C22 below the service: the embedded store meets a full disk at whatever it
//! writes, its log or, in threads of its library, its tables. Calls fail, what was
//! confirmed is read, and once there is room the same store goes on.

use hourglass::bucket::Merge;
use hourglass::model::{BucketKey, HourStart, MeasureName, SensorId};
use hourglass::store::embedded::{EmbeddedSettings, EmbeddedStore};
use hourglass::store::{BucketVersion, BucketWrite, Expect, Store, StoreError, WriteOutcome};

use crate::support::eventually::eventually;
use crate::support::small_disk::SmallDisk;

const DISK_BYTES: u64 = 40 << 20;
/// Tables are written after every MiB.
const MEMTABLE_BYTES: u64 = 1 << 20;
const ELEMENTS: u32 = 3000;
/// Far more than any room that is left.
const WRITES_MAX: i32 = 400;

fn key(number: i32) -> BucketKey {
    BucketKey {
        sensor: SensorId::new("S1").unwrap(),
        hour: HourStart::from_hours(493_786 - number),
    }
}

/// A first write of its own hour, whose values take their room.
fn write(number: i32) -> BucketWrite {
    let measure = MeasureName::new("temp").unwrap();
    let mut merge = Merge::default();
    for second in 0..ELEMENTS {
        let value = (f64::from(second) + f64::from(number) * 0.731).sin();
        merge.add(second * 1_000_000, [(&measure, value)]);
    }
    let elements = merge.elements().clone();
    BucketWrite {
        key: key(number),
        expect: Expect::Absent,
        target: BucketVersion {
            part: 0,
            rev: 1,
            by: 7,
        },
        computed: merge.computed(0, elements.len()),
        elements,
    }
}

async fn assert_holds(store: &EmbeddedStore, numbers: std::ops::Range<i32>) {
    for number in numbers {
        let loaded = store.load(&[key(number)]).await.unwrap();
        let bucket = loaded[0].as_ref().unwrap();
        assert_eq!(bucket.parts.len(), 1);
        assert_eq!(bucket.parts[0].elements, write(number).elements, "{number}");
    }
}

/// Writes until a call fails: how many were stored.
async fn write_until_full(store: &EmbeddedStore, from: i32) -> i32 {
    for number in from..WRITES_MAX {
        match store.write(&[write(number)]).await {
            Ok(outcomes) => assert!(matches!(outcomes[..], [WriteOutcome::Stored])),
            Err(StoreError::Unavailable { reason, .. }) => {
                assert!(reason.contains("no room for a write"), "{reason}");
                return number;
            }
            Err(error) => panic!("{error}"),
        }
    }
    panic!("the disk was never full");
}

#[tokio::test]
async fn c22_an_embedded_store_goes_on_wherever_a_full_disk_met_it() {
    let settings = EmbeddedSettings {
        memtable_bytes: MEMTABLE_BYTES,
        ..EmbeddedSettings::default()
    };
    for room in (0..12).map(|n| n * (256 << 10)) {
        let disk = SmallDisk::mount(DISK_BYTES);
        let dir = disk.path().join("store");
        let store = EmbeddedStore::open(&dir, settings).unwrap();
        let mut stored = 0;
        for _ in 0..2 {
            disk.fill_but(room);
            stored = write_until_full(&store, stored).await;
            // It stays so, and tells what it holds. A table that was not finished
            // may have left room.
            disk.fill();
            let again = store.write(&[write(stored)]).await;
            assert!(matches!(again, Err(StoreError::Unavailable { .. })));
            assert_holds(&store, 0..stored).await;
            disk.make_room();
            // Fenced where the call that failed went in after all.
            let outcome = eventually("the store takes writes", async || {
                store.write(&[write(stored)]).await.ok()
            })
            .await;
            assert!(matches!(
                outcome[..],
                [WriteOutcome::Stored | WriteOutcome::Fenced]
            ));
            stored += 1;
            assert_holds(&store, 0..stored).await;
        }
        drop(store);
        let store = EmbeddedStore::open(&dir, settings).unwrap();
        assert_holds(&store, 0..stored).await;
    }
}
