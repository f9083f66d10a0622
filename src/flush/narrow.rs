//! What a call over many items leads to that failed as a whole: wait, or halve
//! it until the items that it is about are found. Pure.

use super::RoundTurn;
use crate::store::StoreError;

/// After this many refusals in a row the store is taken to refuse everything:
/// enough to halve the largest round twice over.
const REFUSALS_MAX: u32 = 40;

/// Refusals in a row.
#[derive(Debug, Default)]
pub(super) struct Refusals(u32);

/// What follows from a call that failed as a whole.
pub(super) enum Narrowed<T> {
    /// What it was about is put back, whole or in halves.
    Turn(RoundTurn),
    /// It is about these alone.
    GiveUp(Vec<T>, StoreError),
    /// The store refuses everything.
    Everything(Vec<T>, StoreError),
}

impl Refusals {
    /// The store took a call.
    pub(super) fn end(&mut self) {
        self.0 = 0;
    }

    /// What to do about a call over `items` that failed; `calls` are those still
    /// to make, the next one last.
    pub(super) fn narrow<T>(
        &mut self,
        calls: &mut Vec<Vec<T>>,
        mut items: Vec<T>,
        error: StoreError,
    ) -> Narrowed<T> {
        if matches!(error, StoreError::Unavailable { .. }) {
            calls.push(items);
            return Narrowed::Turn(RoundTurn::Failed(error));
        }
        self.0 += 1;
        if self.0 >= REFUSALS_MAX {
            self.0 = 0;
            return Narrowed::Everything(items, error);
        }
        if items.len() < 2 {
            return Narrowed::GiveUp(items, error);
        }
        let second = items.split_off(items.len() / 2);
        calls.extend([second, items]);
        Narrowed::Turn(RoundTurn::Refused(error))
    }
}

/// Whether there is a next call that is about anything.
pub(super) fn has_next<T>(calls: &mut Vec<Vec<T>>) -> bool {
    while calls.pop_if(|items| items.is_empty()).is_some() {}
    !calls.is_empty()
}

/// What the next call is about.
pub(super) fn next<T>(calls: &[Vec<T>]) -> &[T] {
    calls.last().map_or(&[], Vec::as_slice)
}
