//! Elements of an hour in order of time, joined by identity.

use std::borrow::Cow;

use super::Elements;
use crate::model::MeasureName;

/// Joins element lists of one hour by identity: one element an instant, oldest
/// first. Where two elements hold the same instant and measure, the value of
/// the earlier list stays (the store's before the buffer's).
#[must_use]
pub fn join_sorted<'a>(lists: &[&'a Elements]) -> Cow<'a, Elements> {
    if let [only] = lists
        && only.offsets().is_sorted_by(|a, b| a < b)
    {
        return Cow::Borrowed(only);
    }
    let mut order: Vec<(u32, usize, usize)> = Vec::new();
    for (list, elements) in lists.iter().enumerate() {
        let offsets = elements.offsets().iter().enumerate();
        order.extend(offsets.map(|(row, offset)| (*offset, list, row)));
    }
    order.sort_unstable();
    let mut joined = Elements::default();
    for instant in order.chunk_by(|a, b| a.0 == b.0) {
        let mut values: Vec<(&MeasureName, f64)> = Vec::new();
        for (_, list, row) in instant {
            for (name, value) in lists[*list].get(*row).values() {
                if !values.iter().any(|(n, _)| *n == name) {
                    values.push((name, value));
                }
            }
        }
        joined.push(instant[0].0, values);
    }
    Cow::Owned(joined)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_one_instant_become_one() {
        let name = |text| MeasureName::new(text).unwrap();
        let (temp, humidity) = (name("temp"), name("humidity"));
        let (mut store, mut buffer) = (Elements::default(), Elements::default());
        store.push(9, [(&temp, 1.0)]);
        store.push(3, [(&temp, 3.0)]);
        buffer.push(9, [(&temp, 7.0), (&humidity, 2.0)]);
        let joined = join_sorted(&[&store, &buffer]).into_owned();
        let mut expected = Elements::default();
        expected.push(3, [(&temp, 3.0)]);
        expected.push(9, [(&temp, 1.0), (&humidity, 2.0)]);
        assert_eq!(joined, expected);
    }

    #[test]
    fn a_list_that_is_sorted_already_is_not_copied() {
        let temp = MeasureName::new("temp").unwrap();
        let mut list = Elements::default();
        list.push(1, [(&temp, 1.0)]);
        list.push(2, [(&temp, 2.0)]);
        assert!(matches!(join_sorted(&[&list]), Cow::Borrowed(_)));
    }
}
