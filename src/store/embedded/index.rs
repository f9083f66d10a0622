//! The index of sensors: one key space of keys without values.
//!
//! A key names what a sensor has and ends with the sensor's id, so that all
//! sensors with the same lie together in the order of ids:
//!
//! | kind | then |
//! |---|---|
//! | `s` | site |
//! | `t` | attribute, its text |
//! | `n` | attribute, its number where the text is one |
//! | `l` | time it was last heard of |
//!
//! The entries of a sensor follow from its record and change with it in one
//! batch. A key holds the beginning of a long text only: who finds a sensor here
//! compares its record with what was asked for.

use std::collections::BTreeSet;
use std::ops::Bound;

use fjall::{Keyspace, OwnedWriteBatch};

use super::keys::read_sensor_id;
use crate::model::{Micros, SensorId, SiteId, attribute_number};
use crate::store::{AttributeFilter, StoredSensor};

/// Says that all sensors are in. No entry is this key.
pub(super) const MARKER: &[u8] = &[0];

const SITE: u8 = b's';
const TEXT: u8 = b't';
const NUMBER: u8 = b'n';
const LAST_SEEN: u8 = b'l';

/// Ends a field of a key. A zero byte inside of one is written `00 FF`, so that
/// keys sort as their fields do, one after the other.
const FIELD_END: [u8; 2] = [0, 1];

/// Bytes of a text that a key holds: more than devices may send, and a key
/// stays far below the library's bound of 65,536.
const TEXT_BYTES_MAX: usize = 512;

/// Entries from `from` to before `to`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EntryRange {
    pub(super) from: Bound<Vec<u8>>,
    pub(super) to: Vec<u8>,
}

impl EntryRange {
    /// All that begins with `prefix`, behind the entry that ends with `after`.
    fn beginning_with(prefix: Vec<u8>, after: Option<&SensorId>) -> Self {
        let to = first_behind(&prefix);
        let from = match after {
            Some(id) => Bound::Excluded([&prefix, id.as_str().as_bytes()].concat()),
            None => Bound::Included(prefix),
        };
        Self { from, to }
    }

    /// Sensors at `site`, ordered by id.
    pub(super) fn site(site: &SiteId, after: Option<&SensorId>) -> Self {
        Self::beginning_with(site_prefix(site), after)
    }

    /// Sensors whose attribute `key` has this text, ordered by id.
    pub(super) fn equal(key: &str, text: &str, after: Option<&SensorId>) -> Self {
        Self::beginning_with(text_prefix(key, text), after)
    }

    /// Sensors that were heard of, but not at `since` or later, ordered by time
    /// and id, behind `after`.
    pub(super) fn silent(since: Micros, after: Option<(Micros, &SensorId)>) -> Self {
        let from = match after {
            Some((seen, id)) => Bound::Excluded(last_seen_entry(seen, id)),
            None => Bound::Included(vec![LAST_SEEN]),
        };
        let mut to = vec![LAST_SEEN];
        to.extend_from_slice(&time_bytes(since));
        Self { from, to }
    }

    /// Sensors that pass `filter`, in no order to rely on.
    pub(super) fn attribute(filter: &AttributeFilter) -> Self {
        match filter {
            AttributeFilter::Equals { key, text } => Self::equal(key, text, None),
            AttributeFilter::Prefix { key, prefix } => {
                let mut begin = vec![TEXT];
                put_field(&mut begin, key.as_bytes());
                put_escaped(&mut begin, prefix.as_bytes());
                Self::beginning_with(begin, None)
            }
            AttributeFilter::Between { key, min, max } => {
                let mut all = vec![NUMBER];
                put_field(&mut all, key.as_bytes());
                let bound = |number: f64| [all.as_slice(), &number_bytes(number)].concat();
                Self {
                    to: max.map_or_else(|| first_behind(&all), |max| first_behind(&bound(max))),
                    from: Bound::Included(min.map_or_else(|| all.clone(), bound)),
                }
            }
        }
    }

    /// Whether the bounds leave anything.
    pub(super) fn is_empty(&self) -> bool {
        match &self.from {
            Bound::Included(from) | Bound::Excluded(from) => *from >= self.to,
            Bound::Unbounded => false,
        }
    }
}

/// The sensor that an entry names.
pub(super) fn read_sensor(entry: &[u8]) -> Option<SensorId> {
    // Neither an id nor what ends a field has another zero byte behind it.
    let end = entry.iter().rposition(|byte| *byte == 0)?;
    let id = entry.get(end + FIELD_END.len()..)?;
    read_sensor_id(id)
}

/// Makes the entries of `old` those of `new`.
pub(super) fn update(
    batch: &mut OwnedWriteBatch,
    index: &Keyspace,
    old: Option<&StoredSensor>,
    new: &StoredSensor,
) {
    let attributes = old.is_none_or(|old| old.attributes != new.attributes);
    let before = old.map(|old| entries(old, attributes)).unwrap_or_default();
    let after = entries(new, attributes);
    for entry in before.difference(&after) {
        batch.remove(index, entry.as_slice());
    }
    for entry in after.difference(&before) {
        batch.insert(index, entry.as_slice(), []);
    }
}

/// What the index holds of `sensor`, of its attributes only where asked.
pub(super) fn entries(sensor: &StoredSensor, attributes: bool) -> BTreeSet<Vec<u8>> {
    let mut entries = BTreeSet::new();
    if let Some(site) = &sensor.details.site {
        entries.insert(with_id(site_prefix(&site.id), &sensor.id));
    }
    if let Some(seen) = sensor.last_seen {
        entries.insert(last_seen_entry(seen, &sensor.id));
    }
    for (key, text) in sensor.attributes.iter().filter(|_| attributes) {
        entries.insert(with_id(text_prefix(key, text), &sensor.id));
        if let Some(number) = attribute_number(text) {
            let mut entry = vec![NUMBER];
            put_field(&mut entry, key.as_bytes());
            entry.extend_from_slice(&number_bytes(number));
            entry.extend_from_slice(&FIELD_END);
            entries.insert(with_id(entry, &sensor.id));
        }
    }
    entries
}

fn site_prefix(site: &SiteId) -> Vec<u8> {
    let mut prefix = vec![SITE];
    put_field(&mut prefix, site.as_str().as_bytes());
    prefix
}

fn text_prefix(key: &str, text: &str) -> Vec<u8> {
    let mut prefix = vec![TEXT];
    put_field(&mut prefix, key.as_bytes());
    put_field(&mut prefix, text.as_bytes());
    prefix
}

fn last_seen_entry(seen: Micros, id: &SensorId) -> Vec<u8> {
    let mut entry = vec![LAST_SEEN];
    entry.extend_from_slice(&time_bytes(seen));
    entry.extend_from_slice(&FIELD_END);
    with_id(entry, id)
}

fn with_id(mut entry: Vec<u8>, id: &SensorId) -> Vec<u8> {
    entry.extend_from_slice(id.as_str().as_bytes());
    entry
}

fn put_field(out: &mut Vec<u8>, text: &[u8]) {
    put_escaped(out, text);
    out.extend_from_slice(&FIELD_END);
}

fn put_escaped(out: &mut Vec<u8>, text: &[u8]) {
    for byte in text.iter().take(TEXT_BYTES_MAX) {
        out.push(*byte);
        if *byte == 0 {
            out.push(0xFF);
        }
    }
}

/// With the sign bit flipped, bytes compare as the times do.
fn time_bytes(at: Micros) -> [u8; 8] {
    (at.get() as u64 ^ 1 << 63).to_be_bytes()
}

/// Bytes that compare as the numbers do: the sign bit flipped, all bits where it
/// is set.
fn number_bytes(number: f64) -> [u8; 8] {
    // -0 and 0 are one number.
    let bits = (number + 0.0).to_bits();
    let negative = bits >> 63 == 1;
    let flipped = bits ^ if negative { u64::MAX } else { 1 << 63 };
    flipped.to_be_bytes()
}

/// The first key behind all that begin with `prefix`, which begins with a kind.
fn first_behind(prefix: &[u8]) -> Vec<u8> {
    let mut behind = prefix.to_vec();
    while let Some(last) = behind.pop() {
        if last < u8::MAX {
            behind.push(last + 1);
            break;
        }
    }
    behind
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::store::embedded::tests::samples::{
        attribute_key, attribute_text, instant, sensor_id, site_id, stored_sensor,
    };

    fn holds(range: &EntryRange, entry: &[u8]) -> bool {
        let from = match &range.from {
            Bound::Included(from) => entry >= from.as_slice(),
            Bound::Excluded(from) => entry > from.as_slice(),
            Bound::Unbounded => true,
        };
        from && entry < range.to.as_slice()
    }

    fn condition() -> impl Strategy<Value = AttributeFilter> {
        let number = || proptest::option::of(prop_oneof![-3f64..3.0, Just(0.0), Just(-0.0)]);
        prop_oneof![
            (attribute_key(), attribute_text())
                .prop_map(|(key, text)| AttributeFilter::Equals { key, text }),
            (attribute_key(), attribute_text())
                .prop_map(|(key, prefix)| AttributeFilter::Prefix { key, prefix }),
            (attribute_key(), number(), number())
                .prop_map(|(key, min, max)| AttributeFilter::Between { key, min, max }),
        ]
    }

    #[test]
    fn numbers_sort_as_bytes() {
        let numbers = [-1e300, -2.5, -f64::MIN_POSITIVE, 0.0, 5e-324, 1.0, 1e300];
        assert!(numbers.map(number_bytes).is_sorted());
        assert_eq!(number_bytes(-0.0), number_bytes(0.0));
    }

    proptest! {
        /// No sensor that passes is missed.
        #[test]
        fn a_sensor_that_passes_a_condition_has_an_entry_in_its_range(
            sensor in stored_sensor(),
            condition in condition(),
        ) {
            let range = EntryRange::attribute(&condition);
            let found = entries(&sensor, true).iter().any(|entry| holds(&range, entry));
            if condition.matches(&sensor.attributes) {
                prop_assert!(found && !range.is_empty());
            }
            // One that does not pass is found only where its key or text is long.
            let is_short = sensor.attributes.iter().all(|(_, text)| text.len() < TEXT_BYTES_MAX);
            prop_assert!(!found || !is_short || condition.matches(&sensor.attributes));
        }

        #[test]
        fn entries_name_their_sensor(sensor in stored_sensor()) {
            for entry in entries(&sensor, true) {
                prop_assert_eq!(read_sensor(&entry), Some(sensor.id.clone()));
            }
        }

        #[test]
        fn sensors_of_a_site_are_those_behind_the_one_given(
            asked in site_id(),
            site in site_id(),
            id in sensor_id(),
            after in proptest::option::of(sensor_id()),
        ) {
            let range = EntryRange::site(&asked, after.as_ref());
            let entry = with_id(site_prefix(&site), &id);
            let expected = asked == site && after.is_none_or(|after| after < id);
            prop_assert_eq!(holds(&range, &entry), expected);
        }

        #[test]
        fn silent_sensors_are_those_before_the_time_and_behind_the_cursor(
            since in instant(),
            seen in instant(),
            id in sensor_id(),
            after in proptest::option::of((instant(), sensor_id())),
        ) {
            let cursor = after.as_ref().map(|(seen, id)| (*seen, id));
            let range = EntryRange::silent(since, cursor);
            let entry = last_seen_entry(seen, &id);
            let expected = seen < since && after.is_none_or(|after| after < (seen, id));
            prop_assert_eq!(holds(&range, &entry), expected);
        }
    }
}
