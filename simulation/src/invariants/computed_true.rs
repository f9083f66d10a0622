//! I3: every document of the store is recomputed from its readings, naively and
//! by the check that `verify` makes; only the last part of an hour is open; no
//! document is larger than a part may be, unless by a single element.

use std::collections::BTreeSet;

use hourglass::bucket::{Difference, Merge, check as differences};
use hourglass::model::MeasureName;
use hourglass::store::StoredBucket;

use crate::World;
use crate::naive::{says, values_in};

/// # Errors
/// The document and what is not true of it.
pub fn check(world: &World) -> Result<(), String> {
    // A deletion goes from part to part: in between an instant may be counted by
    // a part that has it no more.
    let counts = world.journalled.open.is_empty();
    let mut buckets = world.store.buckets().into_iter();
    buckets.try_for_each(|bucket| check_bucket(&bucket, world.setup.part_bytes_max, counts))
}

fn check_bucket(
    bucket: &StoredBucket,
    part_bytes_max: Option<usize>,
    counts: bool,
) -> Result<(), String> {
    let mut merge = Merge::default();
    let mut seen = BTreeSet::new();
    for (at, part) in bucket.parts.iter().enumerate() {
        let from = merge.elements().len();
        for element in part.elements.iter() {
            merge.add(element.offset, element.values());
        }
        let actual = merge.computed(from, merge.elements().len());
        let magnitude = |name: &MeasureName| {
            let values = part.elements.iter().filter_map(|e| e.value(name));
            values.map(f64::abs).sum()
        };
        let values = values_in(&StoredBucket {
            key: bucket.key.clone(),
            parts: vec![part.clone()],
        });
        let instants: BTreeSet<i64> = values.iter().map(|((_, at, _), _)| *at).collect();
        let new = instants.difference(&seen).count();
        seen.extend(&instants);
        if counts && !says(&part.computed, new, &values.into_iter().collect()) {
            return Err(format!("I3: {} part {at}: {:?}", bucket.key, part.computed));
        }
        let differences = differences(&part.computed, &actual, magnitude);
        let mut differences = differences.iter();
        let is_meant = |d: &&Difference| counts || !matches!(d, Difference::Count { .. });
        if let Some(difference) = differences.find(is_meant) {
            return Err(format!("I3: {} part {at}: {difference}", bucket.key));
        }
        let is_last = at + 1 == bucket.parts.len();
        if part.version.part as usize != at || !(is_last || part.full) {
            return Err(format!("I3: {} part {at} is not in its place", bucket.key));
        }
        let too_large = part_bytes_max.is_some_and(|max| part.bytes > max);
        if too_large && part.elements.len() > 1 {
            return Err(format!(
                "I3: {} part {at}: {} bytes",
                bucket.key, part.bytes
            ));
        }
    }
    Ok(())
}
