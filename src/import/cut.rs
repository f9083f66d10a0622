//! Where a text may be cut between two items.
//!
//! A cut depends on the content alone, never on how much of it was read at once:
//! so a chunk that is sent again after a restart has the same key. A quote may
//! hold line ends; one that is not closed within the bytes that are looked at
//! stands there by mistake, and from it on, up to the next cut, items end with
//! their lines.

use crate::decode::{RowEnd, csv_row_end, line_end};

/// What a text consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Items {
    /// A line each.
    Lines,
    /// Rows of CSV.
    Rows {
        /// What stands between two cells.
        delimiter: u8,
    },
    /// Lines of line protocol, whose texts may hold line ends.
    LineProtocol,
}

/// A line longer than any server takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a line is longer than {} MiB, more than a server takes", .bytes_max >> 20)]
pub struct ItemTooLong {
    /// The bound.
    pub bytes_max: usize,
}

/// What is known of the next cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// In front of this byte.
    At(usize),
    /// It takes more of the text to tell.
    More,
}

/// Finds cuts.
#[derive(Debug, Clone, Copy)]
pub struct Cutter {
    /// What is cut.
    pub items: Items,
    /// A chunk ends with the item in which it reaches so many bytes.
    pub target_bytes: usize,
    /// A quote is looked after so far from the beginning of a chunk, more than
    /// `target_bytes`.
    pub look_bytes: usize,
    /// Longest line, more than `look_bytes`.
    pub line_bytes_max: usize,
}

impl Cutter {
    /// Chunks of `target_bytes`; a quote may span three more of them.
    #[must_use]
    pub fn new(items: Items, target_bytes: usize) -> Self {
        /// The default of `server.body_bytes_max`.
        const LINE_BYTES_MAX: usize = 32 << 20;
        let target_bytes = target_bytes.max(1);
        let look_bytes = target_bytes.saturating_mul(4);
        Self {
            items,
            target_bytes,
            look_bytes,
            line_bytes_max: LINE_BYTES_MAX.max(look_bytes.saturating_add(1)),
        }
    }

    /// The next cut in `text`, which begins with an item and has all there is if
    /// `is_end`.
    pub(super) fn cut(&self, text: &[u8], is_end: bool) -> Result<Cut, ItemTooLong> {
        let is_all = is_end && text.len() < self.look_bytes;
        if is_all && text.len() <= self.target_bytes {
            return Ok(Cut::At(text.len()));
        }
        if !is_end && text.len() < self.target_bytes {
            return Ok(Cut::More);
        }
        let window = &text[..text.len().min(self.look_bytes)];
        let is_full = is_all || window.len() == self.look_bytes;
        let mut by_line = self.items == Items::Lines;
        let mut at = 0;
        while at < self.target_bytes {
            let end = if by_line {
                RowEnd::At(end_of_line(window, at))
            } else {
                self.end_of_item(window, at)
            };
            match end {
                RowEnd::At(end) if window[at..end].ends_with(b"\n") => at = end,
                RowEnd::At(_) if is_all => return Ok(Cut::At(text.len())),
                RowEnd::At(_) | RowEnd::Open if !is_full => return Ok(Cut::More),
                RowEnd::At(_) if by_line => return self.cut_behind_long_line(text, at, is_end),
                // Unsound, or nowhere in what is looked at.
                _ => by_line = true,
            }
        }
        Ok(Cut::At(at))
    }

    /// A cut where no line end follows `at` within what is looked at.
    fn cut_behind_long_line(
        &self,
        text: &[u8],
        at: usize,
        is_end: bool,
    ) -> Result<Cut, ItemTooLong> {
        if at > 0 {
            return Ok(Cut::At(at));
        }
        let line = &text[..text.len().min(self.line_bytes_max)];
        match memchr::memchr(b'\n', line) {
            Some(end) => Ok(Cut::At(end + 1)),
            None if text.len() >= self.line_bytes_max => Err(ItemTooLong {
                bytes_max: self.line_bytes_max,
            }),
            None if is_end => Ok(Cut::At(text.len())),
            None => Ok(Cut::More),
        }
    }

    pub(super) fn end_of_item(&self, text: &[u8], start: usize) -> RowEnd {
        match self.items {
            Items::Lines => RowEnd::At(end_of_line(text, start)),
            Items::Rows { delimiter } => csv_row_end(text, start, delimiter),
            Items::LineProtocol => line_end(text, start),
        }
    }

    /// Two parts of `text`, each of whole items, if there are two items in it.
    pub(super) fn halves<'t>(&self, text: &'t [u8]) -> Option<(&'t [u8], &'t [u8])> {
        let halving = Self {
            target_bytes: (text.len() / 2).max(1),
            look_bytes: text.len() + 1,
            line_bytes_max: text.len() + 2,
            ..*self
        };
        let cut_in = |from: usize, halving: &Self| match halving.cut(&text[from..], true) {
            Ok(Cut::At(end)) if from + end < text.len() => Some(text.split_at(from + end)),
            _ => None,
        };
        // The item in the middle may be the last one: then the cut is before it.
        let first = Self {
            target_bytes: 1,
            ..halving
        };
        cut_in(0, &halving).or_else(|| cut_in(0, &first))
    }
}

/// Behind the line end at or behind `at`, or the end of `text`.
pub(super) fn end_of_line(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    memchr::memchr(b'\n', rest).map_or(text.len(), |end| at + end + 1)
}
