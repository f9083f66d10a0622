//! Readings of an hour in order of time, joined by identity.

use std::collections::BTreeMap;

use super::Elements;
use crate::model::MeasureName;

/// One instant with all its measures.
#[derive(Debug, Clone, PartialEq)]
pub struct SortedReading {
    /// Microseconds into the hour.
    pub offset: u32,
    /// Its values; the first seen of a measure stays.
    pub values: Vec<(MeasureName, f64)>,
}

/// Joins element lists of one hour by identity, oldest instant first. Where
/// two lists hold the same instant and measure, the earlier list's value stays
/// (the store before the buffer).
#[must_use]
pub fn join_sorted<'a>(lists: impl IntoIterator<Item = &'a Elements>) -> Vec<SortedReading> {
    let mut by_offset: BTreeMap<u32, Vec<(MeasureName, f64)>> = BTreeMap::new();
    for list in lists {
        for element in list.iter() {
            let values = by_offset.entry(element.offset).or_default();
            for (name, value) in element.values() {
                if !values.iter().any(|(n, _)| n == name) {
                    values.push((name.clone(), value));
                }
            }
        }
    }
    by_offset
        .into_iter()
        .map(|(offset, values)| SortedReading { offset, values })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_one_instant_become_one_reading() {
        let name = |text| MeasureName::new(text).unwrap();
        let (temp, humidity) = (name("temp"), name("humidity"));
        let (mut store, mut buffer) = (Elements::default(), Elements::default());
        store.push(9, [(&temp, 1.0)]);
        store.push(3, [(&temp, 3.0)]);
        buffer.push(9, [(&temp, 7.0), (&humidity, 2.0)]);
        let joined = join_sorted([&store, &buffer]);
        assert_eq!(
            joined,
            [
                SortedReading {
                    offset: 3,
                    values: vec![(temp.clone(), 3.0)]
                },
                SortedReading {
                    offset: 9,
                    values: vec![(temp, 1.0), (humidity, 2.0)]
                },
            ]
        );
    }
}
