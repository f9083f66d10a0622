//! Where the first element of each instant stands.

use std::collections::hash_map::Entry;

use ahash::HashMap;

/// The farthest from its end that a place is made in the sorted list: moving so
/// many numbers (16 KiB) costs about what one insertion into a hash map does.
const DISPLACED_MAX: usize = 4096;

/// Offset of an instant -> row of its first element.
///
/// Nothing of its own while arrivals are in order of time: then the offsets are
/// searched. Batches that overtake each other, and readings that are late, need
/// 4 bytes a row in a sorted list; only an order of arrival that would move too
/// much of that list costs a hash map.
#[derive(Debug, Clone, Default)]
pub(super) enum Rows {
    /// Offsets rise strictly from row to row.
    #[default]
    InOrder,
    /// First rows, by their offsets.
    Sorted(Vec<u32>),
    /// Any order.
    Hashed(Box<HashMap<u32, u32>>),
}

impl Rows {
    /// The first row of the instant `offset`, if there is one; else the next row is
    /// noted as that. `offsets` are those of all rows so far.
    pub(super) fn find_or_note(&mut self, offset: u32, offsets: &[u32]) -> Option<u32> {
        let next = row_number(offsets.len());
        match self {
            Self::InOrder if offsets.last().is_none_or(|last| *last < offset) => {}
            Self::InOrder => match offsets.binary_search(&offset) {
                Ok(row) => return Some(row_number(row)),
                Err(_) => {
                    self.stop_searching_offsets(offsets);
                    return self.find_or_note(offset, offsets);
                }
            },
            Self::Sorted(rows) => {
                let place = place_of(offset, rows, offsets);
                let found = rows.get(place).copied();
                if let Some(row) = found.filter(|row| offsets[*row as usize] == offset) {
                    return Some(row);
                }
                if rows.len() - place <= DISPLACED_MAX {
                    rows.insert(place, next);
                } else {
                    let known = rows.iter().map(|row| (offsets[*row as usize], *row));
                    let hashed = known.chain([(offset, next)]).collect();
                    *self = Self::Hashed(Box::new(hashed));
                }
            }
            Self::Hashed(rows) => match rows.entry(offset) {
                Entry::Occupied(row) => return Some(*row.get()),
                Entry::Vacant(vacant) => {
                    vacant.insert(next);
                }
            },
        }
        None
    }

    /// From now on rows may come whose offsets are no longer in order, or that
    /// are not the first of their instant. `offsets` are those of all rows so far.
    pub(super) fn stop_searching_offsets(&mut self, offsets: &[u32]) {
        if matches!(self, Self::InOrder) {
            *self = Self::Sorted((0..row_number(offsets.len())).collect());
        }
    }

    /// Bytes of memory held.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::InOrder => 0,
            Self::Sorted(rows) => rows.capacity() * 4,
            Self::Hashed(rows) => rows.capacity() * 10,
        }
    }

    /// Gives back memory that is reserved but unused.
    pub(super) fn shrink(&mut self) {
        if let Self::Sorted(rows) = self {
            rows.shrink_to_fit();
        }
    }
}

/// The first place of sorted `rows` whose offset is not below `offset`. Looked for
/// from the end in steps that double: arrivals are mostly near it, and what is far
/// from it is in no cache.
fn place_of(offset: u32, rows: &[u32], offsets: &[u32]) -> usize {
    let is_below = |row: &u32| offsets[*row as usize] < offset;
    let (mut end, mut step) = (rows.len(), 1);
    while end > 0 {
        let start = end.saturating_sub(step);
        if is_below(&rows[start]) {
            return start + 1 + rows[start + 1..end].partition_point(is_below);
        }
        (end, step) = (start, step * 2);
    }
    0
}

/// The number of a row.
pub(super) fn row_number(row: usize) -> u32 {
    u32::try_from(row).expect("an hour has fewer than 2^32 elements")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all_of(arrivals: &[u32]) -> Rows {
        let mut rows = Rows::default();
        for row in 0..arrivals.len() {
            assert_eq!(rows.find_or_note(arrivals[row], &arrivals[..row]), None);
        }
        rows
    }

    fn check(arrivals: &[u32]) -> Rows {
        let mut rows = all_of(arrivals);
        for (row, offset) in arrivals.iter().enumerate() {
            assert_eq!(rows.find_or_note(*offset, arrivals), Some(row_number(row)));
        }
        rows
    }

    #[test]
    fn order_costs_nothing_some_disorder_a_list_and_any_order_a_map() {
        let rising: Vec<u32> = (0..10_000).collect();
        assert_eq!(check(&rising).bytes(), 0);
        let overtaken: Vec<u32> = (0..10_000).map(|at| at ^ 7).collect();
        assert!(matches!(check(&overtaken), Rows::Sorted(_)));
        let falling: Vec<u32> = (0..10_000).rev().collect();
        assert!(matches!(check(&falling), Rows::Hashed(_)));
    }

    proptest! {
        #[test]
        fn every_row_is_found_in_any_order(
            arrivals in Just((0u32..200).collect::<Vec<_>>()).prop_shuffle()
        ) {
            let mut rows = check(&arrivals);
            prop_assert_eq!(rows.find_or_note(200, &arrivals), None);
        }
    }
}
