//! Rounds: many changes in one batch, each under a fence of its own.

use std::collections::HashSet;
use std::fmt::Display;
use std::hash::Hash;

use fjall::{OwnedWriteBatch, Snapshot};

use super::database::Database;
use super::errors::refused;
use crate::store::{RecordVersion, StoreError, WriteOutcome};

/// What the fence of a change of a record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fence {
    /// The record is what the change was made for.
    Holds,
    /// The change is in: its reply was lost.
    IsIn,
    /// The record was changed by others.
    Fails,
}

impl Fence {
    /// A change of a record at version `stored`, made for `expect`, which sets
    /// `target`.
    pub(super) fn check(
        stored: Option<RecordVersion>,
        expect: Option<RecordVersion>,
        target: RecordVersion,
    ) -> Self {
        if stored == expect {
            Self::Holds
        } else if stored == Some(target) {
            Self::IsIn
        } else {
            Self::Fails
        }
    }
}

impl Database {
    /// Puts each of `changes` into one batch where `stage` says that its fence
    /// holds, and commits the batch. `stage` puts in all of a change or nothing.
    /// `key` names what is changed: a second change of the same is refused, since
    /// its fence would be checked against what was before the first.
    pub(super) fn round<'a, T, K: Display + Eq + Hash + 'a>(
        &self,
        changes: impl IntoIterator<Item = T>,
        key: impl Fn(&T) -> &'a K,
        mut stage: impl FnMut(&Snapshot, &mut OwnedWriteBatch, T) -> Result<bool, StoreError>,
    ) -> Result<Vec<WriteOutcome>, StoreError> {
        let writer = self.writer()?;
        let snapshot = self.snapshot();
        let mut batch = writer.batch();
        let mut keys = HashSet::new();
        let mut outcomes = Vec::new();
        for change in changes {
            let key = key(&change);
            let staged = if keys.insert(key) {
                stage(&snapshot, &mut batch, change)
            } else {
                Err(refused(format_args!(
                    "`{key}` stands twice in one round of writes"
                )))
            };
            outcomes.push(match staged {
                Ok(true) => WriteOutcome::Stored,
                Ok(false) => WriteOutcome::Fenced,
                Err(error) => WriteOutcome::Failed(error),
            });
        }
        writer.commit(batch)?;
        Ok(outcomes)
    }
}
