//! The computed fields of a bucket or of one part of it.

use std::collections::BTreeMap;

use super::{Element, Sum};
use crate::model::MeasureName;

/// What is kept of one measure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stats {
    /// Number of values, at least 1.
    pub count: u64,
    /// Their compensated sum.
    pub sum: Sum,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
}

impl Stats {
    /// Of one value.
    #[must_use]
    pub fn of(value: f64) -> Self {
        let mut sum = Sum::default();
        sum.add(value);
        Self {
            count: 1,
            sum,
            min: value,
            max: value,
        }
    }

    /// With one more value.
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum.add(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// With the values of another.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum.merge(other.sum);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }
}

/// The computed fields.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Computed {
    /// Instants that were first stored here. A late measure of an instant does
    /// not count again, so the counts of an hour's parts add up to its
    /// distinct instants.
    pub count: u64,
    /// By measure.
    pub measures: BTreeMap<MeasureName, Stats>,
}

impl Computed {
    /// With one more element; `first` says whether its instant is new to the hour.
    pub fn add(&mut self, element: Element<'_>, first: bool) {
        self.count += u64::from(first);
        for (name, value) in element.values() {
            match self.measures.get_mut(name) {
                Some(stats) => stats.add(value),
                None => {
                    self.measures.insert(name.clone(), Stats::of(value));
                }
            }
        }
    }

    /// With elements that each are the first of their instant and have a value of
    /// each measure.
    pub fn add_columns<'a>(
        &mut self,
        elements: u64,
        columns: impl Iterator<Item = (&'a MeasureName, impl Iterator<Item = f64>)>,
    ) {
        self.count += elements;
        for (name, mut column) in columns {
            let stats = match self.measures.get_mut(name) {
                Some(stats) => stats,
                None => {
                    let Some(first) = column.next() else {
                        continue;
                    };
                    let new = self.measures.entry(name.clone());
                    new.or_insert(Stats::of(first))
                }
            };
            // A copy: the sum stays in registers.
            let mut with_column = *stats;
            column.for_each(|value| with_column.add(value));
            *stats = with_column;
        }
    }

    /// With the fields of another part or of what is still in the buffer.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        for (name, theirs) in &other.measures {
            match self.measures.get_mut(name) {
                Some(ours) => ours.merge(theirs),
                None => {
                    self.measures.insert(name.clone(), *theirs);
                }
            }
        }
    }
}
