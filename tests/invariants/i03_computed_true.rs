//! I3: at every observable moment computed fields equal what `readings` says.
//!
//! Method: after every action every document of the store is recomputed from
//! its readings, naively and by the check that `verify` makes; only the last part of an hour is open; no document is larger
//! than a part may be, unless by a single element.

use std::collections::BTreeSet;

use hourglass::bucket::{Merge, check};
use hourglass::model::MeasureName;
use hourglass::store::StoredBucket;
use proptest::prelude::*;

use super::cases;
use crate::model::action::{Mix, actions, setup};
use crate::model::naive::{says, values_in};
use crate::model::run::World;

const MIX: Mix = Mix {
    crashes: true,
    other_process: true,
    queries: false,
    conflicts: true,
    deletions: false,
};

fn check_bucket(bucket: &StoredBucket, part_bytes_max: Option<usize>) -> Result<(), String> {
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
        if !says(&part.computed, new, &values.into_iter().collect()) {
            return Err(format!("I3: {} part {at}: {:?}", bucket.key, part.computed));
        }
        let differences = check(&part.computed, &actual, magnitude);
        if let Some(difference) = differences.first() {
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

proptest! {
    #![proptest_config(cases(250))]

    #[test]
    fn i03_computed_fields_are_true_at_every_moment(
        setup in setup(),
        actions in actions(MIX, 70),
    ) {
        let check = |world: &World| {
            let mut buckets = world.store.buckets().into_iter();
            buckets.try_for_each(|bucket| check_bucket(&bucket, setup.part_bytes_max))
        };
        let run = || {
            let mut world = World::new(setup)?;
            for action in &actions {
                world.act(action)?;
                check(&world)?;
            }
            world.drain()?;
            check(&world)
        };
        prop_assert_eq!(run(), Ok(()));
    }
}
