//! Merging arrivals into a bucket: new, duplicate or conflict.

use std::collections::HashMap;

use super::rows::{Rows, row_number};
use super::{Computed, Elements};
use crate::model::MeasureName;

/// The elements of one hour, in order of arrival, with an index of its instants.
#[derive(Debug, Clone, Default)]
pub struct Merge {
    elements: Elements,
    /// Offset -> row of its first element.
    rows: Rows,
    /// Offset -> rows of its further elements (late measures); rare.
    #[expect(clippy::box_collection, reason = "of many buckets, few have any")]
    late: Option<Box<HashMap<u32, Vec<u32>>>>,
}

/// A refused value: the instant already has another one.
#[derive(Debug, Clone, PartialEq)]
pub struct Conflict {
    /// Microseconds into the hour.
    pub offset: u32,
    /// Of which measure.
    pub measure: MeasureName,
    /// The value that stays.
    pub kept: f64,
    /// The value that was refused.
    pub refused: f64,
    /// Row of the element that holds the value that stays.
    pub kept_row: usize,
}

/// What became of one reading's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MergeCounts {
    /// Values that were new.
    pub new: usize,
    /// Values that were there already.
    pub duplicates: usize,
    /// Values refused because another one is there.
    pub conflicts: usize,
}

/// Counts of one reading and its conflicts.
pub type MergeOutcome = (MergeCounts, Vec<Conflict>);

impl Merge {
    /// The elements in order of arrival.
    #[must_use]
    pub fn elements(&self) -> &Elements {
        &self.elements
    }

    /// Bytes of memory held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let late = self.late.as_ref().map_or(0, |late| late.capacity());
        self.elements.bytes() + self.rows.bytes() + late * 64
    }

    /// Merges one reading: what is new is appended as one element, what the
    /// instant has already is a duplicate (numerically the same) or a conflict.
    pub fn add<'m>(
        &mut self,
        offset: u32,
        values: impl IntoIterator<Item = (&'m MeasureName, f64)>,
    ) -> MergeOutcome {
        let Some(first) = self.rows.find_or_note(offset, self.elements.offsets()) else {
            let row = self.elements.len();
            self.elements.push(offset, values);
            let new = self.elements.value_count() - self.elements.values_before(row);
            return (
                MergeCounts {
                    new,
                    ..MergeCounts::default()
                },
                Vec::new(),
            );
        };
        let mut counts = MergeCounts::default();
        let mut conflicts = Vec::new();
        let mut fresh: Vec<(&MeasureName, f64)> = Vec::new();
        for (measure, value) in values {
            match self.value_at(first, offset, measure) {
                None => fresh.push((measure, value)),
                Some((_, kept)) if kept == value => counts.duplicates += 1,
                Some((row, kept)) => {
                    counts.conflicts += 1;
                    conflicts.push(Conflict {
                        offset,
                        measure: measure.clone(),
                        kept,
                        refused: value,
                        kept_row: row as usize,
                    });
                }
            }
        }
        if !fresh.is_empty() {
            counts.new = fresh.len();
            let row = row_number(self.elements.len());
            self.rows.stop_searching_offsets(self.elements.offsets());
            self.elements.push(offset, fresh);
            let late = self.late.get_or_insert_default();
            late.entry(offset).or_default().push(row);
        }
        (counts, conflicts)
    }

    /// Whether element `row` is the first of its instant.
    #[must_use]
    pub fn is_first(&self, row: usize) -> bool {
        let offset = self.elements.offsets()[row];
        let late = self.late.as_ref().and_then(|late| late.get(&offset));
        late.is_none_or(|rows| !rows.contains(&row_number(row)))
    }

    /// Computed fields of the elements `from..to`.
    #[must_use]
    pub fn computed(&self, from: usize, to: usize) -> Computed {
        let mut computed = Computed::default();
        self.add_to(&mut computed, from, to);
        computed
    }

    /// Adds the elements `from..to` to `computed`.
    pub fn add_to(&self, computed: &mut Computed, from: usize, to: usize) {
        if self.late.is_none()
            && let Some(columns) = self.elements.columns(from, to)
        {
            computed.add_columns((to - from) as u64, columns);
            return;
        }
        for row in from..to {
            computed.add(self.elements.get(row), self.is_first(row));
        }
    }

    /// Gives back memory that is reserved but unused.
    pub fn shrink(&mut self) {
        self.elements.shrink();
        self.rows.shrink();
    }

    /// The value that an instant has, and the row that holds it.
    fn value_at(&self, first: u32, offset: u32, measure: &MeasureName) -> Option<(u32, f64)> {
        let value = |row: u32| Some((row, self.elements.value_at(row as usize, measure)?));
        value(first).or_else(|| {
            let rows = self.late.as_ref()?.get(&offset)?;
            rows.iter().find_map(|row| value(*row))
        })
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
    fn the_same_again_is_a_duplicate_another_value_a_conflict() {
        let temp = name("temp");
        let mut merge = Merge::default();
        assert_eq!(merge.add(5, [(&temp, 1.0)]).0.new, 1);
        assert_eq!(merge.add(5, [(&temp, 1.0)]).0.duplicates, 1);
        let (counts, conflicts) = merge.add(5, [(&temp, 2.0)]);
        assert_eq!((counts.new, counts.conflicts), (0, 1));
        assert_eq!(
            conflicts,
            [Conflict {
                offset: 5,
                measure: temp,
                kept: 1.0,
                refused: 2.0,
                kept_row: 0,
            }]
        );
        assert_eq!(merge.elements().len(), 1);
    }

    /// C06: an integer and a float of one value are one number, zeros too.
    #[test]
    fn c06_numerically_equal_is_a_duplicate() {
        let temp = name("temp");
        let mut merge = Merge::default();
        merge.add(1, [(&temp, 0.0)]);
        assert_eq!(merge.add(1, [(&temp, -0.0)]).0.duplicates, 1);
    }

    #[test]
    fn a_late_measure_is_one_more_element_and_no_further_instant() {
        let (temp, humidity) = (name("temp"), name("humidity"));
        let mut merge = Merge::default();
        merge.add(1, [(&temp, 1.0)]);
        merge.add(2, [(&temp, 2.0)]);
        let (counts, _) = merge.add(1, [(&temp, 1.0), (&humidity, 50.0)]);
        assert_eq!((counts.new, counts.duplicates), (1, 1));
        let computed = merge.computed(0, 3);
        assert_eq!(computed.count, 2);
        assert_eq!(computed.measures[&humidity].count, 1);
        assert_eq!(merge.add(1, [(&humidity, 50.0)]).0.duplicates, 1);
        let (_, conflicts) = merge.add(1, [(&temp, 0.0), (&humidity, 0.0)]);
        let rows: Vec<_> = conflicts.iter().map(|c| c.kept_row).collect();
        assert_eq!(rows, [0, 2]);
        assert_eq!(merge.add(3, [(&temp, 50.0)]).0.new, 1);
        assert_eq!(merge.add(3, [(&temp, 50.0)]).0.duplicates, 1);
    }

    proptest! {
        /// Against a plain map: the first value of an instant and measure wins.
        #[test]
        fn merging_equals_a_plain_map(
            arrivals in proptest::collection::vec((0u32..12, 0usize..3, 0i8..3), 0..80)
        ) {
            let names = [name("a"), name("b"), name("c")];
            let mut merge = Merge::default();
            let mut plain: BTreeMap<(u32, usize), f64> = BTreeMap::new();
            for (offset, measure, value) in arrivals {
                let value = f64::from(value);
                let (counts, _) = merge.add(offset, [(&names[measure], value)]);
                let expected = match plain.get(&(offset, measure)) {
                    None => MergeCounts { new: 1, ..MergeCounts::default() },
                    Some(kept) if *kept == value => {
                        MergeCounts { duplicates: 1, ..MergeCounts::default() }
                    }
                    Some(_) => MergeCounts { conflicts: 1, ..MergeCounts::default() },
                };
                prop_assert_eq!(counts, expected);
                plain.entry((offset, measure)).or_insert(value);
            }
            let mut seen = BTreeMap::new();
            for element in merge.elements().iter() {
                for (measure, value) in element.values() {
                    let at = names.iter().position(|n| n == measure).unwrap();
                    prop_assert_eq!(seen.insert((element.offset, at), value), None);
                }
            }
            let instants: std::collections::BTreeSet<u32> = plain.keys().map(|k| k.0).collect();
            let computed = merge.computed(0, merge.elements().len());
            prop_assert_eq!(computed.count, instants.len() as u64);
            prop_assert_eq!(seen, plain);
        }
    }
}
