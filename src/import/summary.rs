//! What became of an import.

use std::collections::BTreeMap;
use std::fmt;

use super::outcome::{Outcome, Reject};

/// Rejections that the summary shows.
const SHOWN_MAX: usize = 10;

/// Totals over all files, exact, and the first rejections.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summary {
    /// Readings that are durable, those included that were sent before.
    pub accepted: u64,
    /// Items that were refused.
    pub rejected: u64,
    by_code: BTreeMap<String, u64>,
    first: Vec<Reject>,
}

impl Summary {
    /// Counts an answer.
    pub(super) fn count(&mut self, outcome: &Outcome) {
        self.accepted += outcome.accepted;
        self.rejected += outcome.rejected;
        for (code, items) in &outcome.rejected_by_code {
            *self.by_code.entry(code.clone()).or_default() += items;
        }
    }

    /// Keeps a rejection that is among the first.
    pub(super) fn show(&mut self, reject: &Reject) {
        if self.first.len() < SHOWN_MAX {
            self.first.push(reject.clone());
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "accepted: {}", self.accepted)?;
        writeln!(f, "rejected: {}", self.rejected)?;
        for (code, items) in &self.by_code {
            writeln!(f, "  {code}: {items}")?;
        }
        if !self.first.is_empty() {
            writeln!(f, "first rejections:")?;
        }
        for reject in &self.first {
            write!(f, "  {}:{}: {}", reject.file, reject.line, reject.code)?;
            if let Some(field) = &reject.field {
                write!(f, " ({field})")?;
            }
            writeln!(f, ": {}", reject.detail)?;
        }
        Ok(())
    }
}
