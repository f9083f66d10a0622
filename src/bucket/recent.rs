//! The newest readings of one sensor: what the Subset pattern keeps beside its
//! record. Pure.

use super::Elements;
use crate::model::{HourStart, MeasureName, Micros, RecentReading};

/// The newest instants that were put in, with all their values, at most a fixed
/// number. Whatever the order of arrival, the same readings give the same list.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RecentList {
    /// Oldest first: what arrives is mostly the newest.
    rows: Vec<Row>,
    readings_max: usize,
}

#[derive(Debug, Clone, PartialEq)]
struct Row {
    at: Micros,
    first: (MeasureName, f64),
    /// Mostly there is none, and then it takes no memory of its own.
    others: Box<[(MeasureName, f64)]>,
}

impl Row {
    fn values(&self) -> impl Iterator<Item = &(MeasureName, f64)> {
        std::iter::once(&self.first).chain(&self.others)
    }
}

impl RecentList {
    /// An empty list of at most `readings_max` instants.
    #[must_use]
    pub fn new(readings_max: usize) -> Self {
        Self {
            rows: Vec::new(),
            readings_max,
        }
    }

    /// Puts values of one instant in; whether the list changed. A measure that
    /// the instant has already keeps its value.
    pub fn put<'m>(
        &mut self,
        at: Micros,
        values: impl IntoIterator<Item = (&'m MeasureName, f64)>,
    ) -> bool {
        if self.is_full() && self.rows.first().is_none_or(|oldest| at < oldest.at) {
            return false;
        }
        let values = values
            .into_iter()
            .map(|(name, value)| (name.clone(), value));
        match self.rows.binary_search_by_key(&at, |row| row.at) {
            Ok(found) => {
                let row = &mut self.rows[found];
                let new: Vec<_> = values
                    .filter(|(name, _)| row.values().all(|(known, _)| known != name))
                    .collect();
                let changed = !new.is_empty();
                if changed {
                    let others = std::mem::take(&mut row.others).into_vec();
                    row.others = others.into_iter().chain(new).collect();
                }
                changed
            }
            Err(place) => {
                let mut values = values;
                let Some(first) = values.next() else {
                    return false;
                };
                let row = Row {
                    at,
                    first,
                    others: values.collect(),
                };
                if self.is_full() {
                    // The oldest goes, so all up to the place move down by one.
                    self.rows[..place].rotate_left(1);
                    self.rows[place - 1] = row;
                } else {
                    self.rows.insert(place, row);
                }
                true
            }
        }
    }

    /// Puts the elements `rows` of an hour in; whether the list changed.
    pub fn put_elements(
        &mut self,
        hour: HourStart,
        elements: &Elements,
        rows: std::ops::Range<usize>,
    ) -> bool {
        let mut changed = false;
        // The last to arrive are mostly the newest: once they are in, all others
        // cost a comparison each.
        for row in rows.rev() {
            let element = elements.get(row);
            changed |= self.put(hour.at(element.offset), element.values());
        }
        changed
    }

    /// Whether it has as many instants as it may have.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.rows.len() >= self.readings_max
    }

    /// Number of instants.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Bytes of memory held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let others = self.rows.iter().map(|row| size_of_val(&*row.others));
        self.rows.capacity() * size_of::<Row>() + others.sum::<usize>()
    }

    /// The readings, newest first, values by measure.
    #[must_use]
    pub fn readings(&self) -> Vec<RecentReading> {
        let reading = |row: &Row| {
            let mut values: Vec<_> = row.values().cloned().collect();
            values.sort_by(|a, b| a.0.cmp(&b.0));
            RecentReading { at: row.at, values }
        };
        self.rows.iter().rev().map(reading).collect()
    }
}

/// Puts readings of another list in.
impl<'a> Extend<&'a RecentReading> for RecentList {
    fn extend<I: IntoIterator<Item = &'a RecentReading>>(&mut self, readings: I) {
        for reading in readings {
            let values = reading.values.iter();
            self.put(reading.at, values.map(|(name, value)| (name, *value)));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn name(text: &str) -> MeasureName {
        MeasureName::new(text).unwrap()
    }

    #[test]
    fn an_empty_list_of_none_takes_nothing() {
        let temp = name("temp");
        let mut list = RecentList::new(0);
        assert!(!list.put(Micros::new(1).unwrap(), [(&temp, 1.0)]));
        assert!(list.is_empty() && list.is_full());
    }

    proptest! {
        /// Against a plain map of everything that was put in.
        #[test]
        fn it_is_the_newest_of_all_that_was_put_in(
            arrivals in proptest::collection::vec((0i64..40, 0usize..3), 0..120),
            readings_max in 1usize..6,
        ) {
            let names = [name("a"), name("b"), name("c")];
            let mut list = RecentList::new(readings_max);
            let mut all: BTreeMap<i64, BTreeMap<&MeasureName, f64>> = BTreeMap::new();
            for (at, measure) in arrivals {
                // What is stored has one value for an instant and measure.
                let value = (at * 3 + measure as i64) as f64;
                let before = list.clone();
                let changed = list.put(Micros::new(at).unwrap(), [(&names[measure], value)]);
                prop_assert_eq!(changed, before != list);
                all.entry(at).or_default().insert(&names[measure], value);
            }
            let newest = all.iter().rev().take(readings_max).map(|(at, values)| RecentReading {
                at: Micros::new(*at).unwrap(),
                values: values.iter().map(|(m, v)| ((*m).clone(), *v)).collect(),
            });
            let newest: Vec<_> = newest.collect();
            // A measure that comes after its instant has left the list is not in
            // it, and neither is the instant: no newer one goes away by itself.
            prop_assert_eq!(list.readings(), newest.clone());
            let mut other = RecentList::new(readings_max);
            other.extend(&newest);
            prop_assert_eq!(other.readings(), list.readings());
        }
    }
}
