//! A bucket of an embedded store whose computed fields are not true.

use std::path::Path;

use hourglass::model::{BucketKey, Micros, SensorId};
use hourglass::store::embedded::{EmbeddedSettings, EmbeddedStore};
use hourglass::store::{BucketVersion, Store, WriterId};

/// Makes the sum of `S1|2026-05-01T10` wrong in the store that lies in `store`.
pub(crate) async fn plant(store: &Path) {
    let opened = EmbeddedStore::open(store, EmbeddedSettings::default());
    let store = opened.unwrap();
    let key = BucketKey {
        sensor: SensorId::new("S1").unwrap(),
        hour: Micros::new(1_777_629_600_000_000).unwrap().hour(),
    };
    let loaded = store.load(std::slice::from_ref(&key)).await.unwrap();
    let bucket = loaded.into_iter().next().unwrap().unwrap();
    let mut computed = bucket.parts[0].computed.clone();
    let first = bucket.parts[0].elements.get(0);
    computed.add(first, false);
    let version = bucket.version();
    let target = BucketVersion {
        rev: version.rev + 1,
        by: WriterId::new(9).next(),
        ..version
    };
    let planted = store.repair(&key, version, target, &computed).await;
    assert!(planted.unwrap());
}
