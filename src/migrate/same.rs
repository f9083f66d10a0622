//! Whether two stores say the same. Pure.

use std::collections::BTreeMap;

use crate::bucket::{Computed, Elements, Merge, check};
use crate::model::MeasureName;
use crate::store::{StoredBucket, StoredSensor, StoredSite};

/// What a bucket holds, over its parts.
pub(super) enum Content {
    /// Readings, in order of arrival.
    Readings(Box<Merge>),
    /// Readings were dropped; these fields are left.
    Dropped(Computed),
    /// No copy of it would be true.
    Damaged(&'static str),
}

/// Joins the parts of a bucket.
pub(super) fn content(bucket: &StoredBucket) -> Content {
    let dropped = bucket.parts.iter().filter(|part| part.raw_dropped).count();
    if dropped == bucket.parts.len() {
        return Content::Dropped(stated(bucket));
    }
    if dropped > 0 {
        return Content::Damaged("the readings of some of its parts are dropped, not of all");
    }
    let mut merge = Merge::default();
    for part in &bucket.parts {
        let from = merge.elements().len();
        for element in part.elements.iter() {
            let (counts, _) = merge.add(element.offset, element.values());
            if counts.duplicates + counts.conflicts > 0 {
                return Content::Damaged("it holds a value twice");
            }
        }
        let actual = merge.computed(from, merge.elements().len());
        if !part.stray_fields.is_empty() || !is_true(&part.computed, &actual, &part.elements) {
            return Content::Damaged("its computed fields are not true; see `hourglass verify`");
        }
    }
    Content::Readings(Box::new(merge))
}

/// The computed fields of a bucket over its parts, as they stand there.
pub(super) fn stated(bucket: &StoredBucket) -> Computed {
    let mut stated = Computed::default();
    for part in &bucket.parts {
        stated.merge(&part.computed);
    }
    stated
}

fn is_true(stated: &Computed, actual: &Computed, elements: &Elements) -> bool {
    let mut magnitudes: BTreeMap<&MeasureName, f64> = BTreeMap::new();
    for element in elements.iter() {
        for (name, value) in element.values() {
            *magnitudes.entry(name).or_default() += value.abs();
        }
    }
    let magnitude = |name: &MeasureName| magnitudes.get(name).copied().unwrap_or_default();
    check(stated, actual, magnitude).is_empty()
}

/// Whether computed fields without readings are the same, bit for bit.
pub(super) fn same_fields(a: &Computed, b: &Computed) -> bool {
    let bits = |computed: &Computed| -> Vec<_> {
        let fields = computed.measures.iter().map(|(name, stats)| {
            let numbers = [stats.sum.value(), stats.min, stats.max].map(f64::to_bits);
            (name.clone(), stats.count, numbers)
        });
        fields.collect()
    };
    a.count == b.count && bits(a) == bits(b)
}

/// How many elements `part` has, where they are the first ones of `whole`, bit
/// for bit and in the same order.
pub(super) fn beginning(part: &Elements, whole: &Elements) -> Option<usize> {
    let values = |elements: &Elements, row| -> BTreeMap<MeasureName, u64> {
        let values = elements.get(row).values();
        values.map(|(n, v)| (n.clone(), v.to_bits())).collect()
    };
    let is_same = |row| {
        part.get(row).offset == whole.get(row).offset && values(part, row) == values(whole, row)
    };
    (part.len() <= whole.len() && (0..part.len()).all(is_same)).then_some(part.len())
}

/// Whether two records of a sensor say the same. Versions are a matter of each
/// store, and MongoDB keeps the time of receipt to the millisecond.
pub(super) fn same_sensor(a: &StoredSensor, b: &StoredSensor) -> bool {
    let millis = |sensor: &StoredSensor| sensor.last_seen.map(|at| at.get().div_euclid(1000));
    a.attributes == b.attributes
        && a.details == b.details
        && a.recent.readings == b.recent.readings
        && a.raw_dropped_before == b.raw_dropped_before
        && millis(a) == millis(b)
}

/// Whether two records of a site say the same.
pub(super) fn same_site(a: &StoredSite, b: &StoredSite) -> bool {
    a.site == b.site
}
