//! What a flusher does, for tests: a bucket in memory that makes writes.

use std::sync::atomic::{AtomicI64, Ordering};

use hourglass::bucket::{Computed, Elements, Merge};
use hourglass::model::{BucketKey, HourStart, MeasureName, SensorId};
use hourglass::store::{BucketVersion, BucketWrite, Expect, Store, StoredBucket, WriteOutcome};

/// 2026-05-01T10:00:00Z.
pub(super) const HOUR: i32 = 493_810;

/// One reading: microseconds into the hour and its values.
pub(super) type Reading<'a> = (u32, &'a [(&'a str, f64)]);

pub(super) fn sensor(id: &str) -> SensorId {
    SensorId::new(id).unwrap()
}

pub(super) fn measure(name: &str) -> MeasureName {
    MeasureName::new(name).unwrap()
}

pub(super) fn hour(hours: i32) -> HourStart {
    HourStart::from_hours(hours)
}

pub(super) fn key(id: &str, hours: i32) -> BucketKey {
    BucketKey {
        sensor: sensor(id),
        hour: hour(hours),
    }
}

/// A writer's number that no other write has.
pub(super) fn unique_by() -> i64 {
    static NEXT: AtomicI64 = AtomicI64::new(7_193_000_000_000_000_000);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A bucket as it should be in the store once its writes are.
#[derive(Clone)]
pub(super) struct Draft {
    pub(super) key: BucketKey,
    merge: Merge,
    /// Version of the last part.
    pub(super) version: Option<BucketVersion>,
    /// First element of the last part.
    part_row: usize,
}

impl Draft {
    pub(super) fn new(id: &str, hours: i32) -> Self {
        Self {
            key: key(id, hours),
            merge: Merge::default(),
            version: None,
            part_row: 0,
        }
    }

    /// Goes on from what is stored (in one part).
    pub(super) fn of(stored: &StoredBucket) -> Self {
        let mut draft = Self::new(stored.key.sensor.as_str(), stored.key.hour.hours());
        for part in &stored.parts {
            for element in part.elements.iter() {
                draft.merge.add(element.offset, element.values());
            }
        }
        draft.version = Some(stored.version());
        draft
    }

    /// The write that appends `readings` to the last part, or makes part 0.
    pub(super) fn append(&mut self, readings: &[Reading<'_>]) -> BucketWrite {
        let expect = self.version.map_or(Expect::Absent, Expect::Open);
        let (part, rev) = self.version.map_or((0, 0), |v| (v.part, v.rev));
        self.write(readings, expect, part, rev + 1)
    }

    /// The write that closes the last part and makes the next.
    pub(super) fn next_part(&mut self, readings: &[Reading<'_>]) -> BucketWrite {
        let last = self.version.unwrap();
        let closing = BucketVersion {
            rev: last.rev + 1,
            by: unique_by(),
            ..last
        };
        self.part_row = self.merge.elements().len();
        let expect = Expect::Next {
            last,
            closing: Some(closing),
        };
        self.write(readings, expect, last.part + 1, 1)
    }

    fn write(
        &mut self,
        readings: &[Reading<'_>],
        expect: Expect,
        part: u32,
        rev: i64,
    ) -> BucketWrite {
        let from = self.merge.elements().len();
        for (offset, values) in readings {
            let values: Vec<_> = values.iter().map(|(n, v)| (measure(n), *v)).collect();
            self.merge.add(*offset, values.iter().map(|(n, v)| (n, *v)));
        }
        let to = self.merge.elements().len();
        let by = unique_by();
        let target = BucketVersion { part, rev, by };
        self.version = Some(target);
        BucketWrite {
            key: self.key.clone(),
            expect,
            target,
            elements: self.merge.elements().slice(from, to),
            computed: self.merge.computed(self.part_row, to),
        }
    }

    /// The version that the last part has once it is changed.
    pub(super) fn raised(&self) -> BucketVersion {
        let version = self.version.unwrap();
        BucketVersion {
            rev: version.rev + 1,
            by: unique_by(),
            ..version
        }
    }

    /// The computed fields over all parts.
    pub(super) fn computed(&self) -> Computed {
        self.merge.computed(0, self.merge.elements().len())
    }

    /// Asserts that the store holds exactly this bucket.
    #[track_caller]
    pub(super) fn assert_is(&self, stored: Option<&StoredBucket>) {
        let stored = stored.expect("the bucket is stored");
        assert_eq!(stored.key, self.key);
        assert_eq!(Some(stored.version()), self.version);
        let parts = stored.parts.iter();
        let elements: Vec<_> = parts.flat_map(|part| plain(&part.elements)).collect();
        assert_eq!(elements, plain(self.merge.elements()));
        assert_computed(&stated(stored), &self.computed());
        assert!(stored.parts.iter().all(|p| p.stray_fields.is_empty()));
    }
}

/// Elements with the bits of their values.
pub(super) fn plain(elements: &Elements) -> Vec<(u32, Vec<(String, u64)>)> {
    let values = |element: hourglass::bucket::Element<'_>| {
        let values = element.values();
        values.map(|(n, v)| (n.to_string(), v.to_bits())).collect()
    };
    elements.iter().map(|e| (e.offset, values(e))).collect()
}

/// The computed fields that a bucket states, over its parts.
pub(super) fn stated(bucket: &StoredBucket) -> Computed {
    let mut computed = Computed::default();
    for part in &bucket.parts {
        computed.merge(&part.computed);
    }
    computed
}

/// Asserts that two are the same; sums within the bound that any order of
/// addition keeps.
#[track_caller]
pub(super) fn assert_computed(stated: &Computed, expected: &Computed) {
    let magnitude = |name: &MeasureName| {
        let stats = expected.measures[name];
        stats.min.abs().max(stats.max.abs()) * stats.count as f64
    };
    assert_eq!(
        hourglass::bucket::check(stated, expected, magnitude),
        [],
        "stated {stated:?}, expected {expected:?}"
    );
}

/// Writes one round; the outcomes in words.
pub(super) async fn write(store: &dyn Store, writes: &[BucketWrite]) -> Vec<String> {
    let outcomes = store.write(writes).await.unwrap();
    assert_eq!(outcomes.len(), writes.len());
    outcomes.iter().map(word).collect()
}

/// What became of a write.
pub(super) fn word(outcome: &WriteOutcome) -> String {
    match outcome {
        WriteOutcome::Stored => "stored".to_owned(),
        WriteOutcome::Fenced => "fenced".to_owned(),
        WriteOutcome::Failed(error) => format!("failed: {error}"),
    }
}

/// Loads one bucket.
pub(super) async fn load(store: &dyn Store, key: &BucketKey) -> Option<StoredBucket> {
    let mut loaded = store.load(std::slice::from_ref(key)).await.unwrap();
    assert_eq!(loaded.len(), 1);
    loaded.pop().flatten()
}
