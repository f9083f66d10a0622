//! Rows and their cells, by the quotes of RFC 4180.
//!
//! The `csv` crate takes what a stray quote opens for one cell to the end of the
//! body, and does not say that something follows a closing quote; here both cost
//! one line.

use std::borrow::Cow;

use super::super::decoded::Fault;
use super::invalid_row;
use crate::decode::RowEnd;

/// Whether a row is one that its header announces.
pub(super) trait Fits {
    /// Most cells of a row.
    fn cells_max(&self) -> usize;

    /// Why a row may not have so many cells.
    fn check_width(&self, cells: usize) -> Result<(), Fault>;

    /// Whether the cell at `place` may span lines.
    fn may_hold_a_line_end(&self, place: usize) -> bool;
}

/// How often, in bodies, bytes may be read for rows that then do not fit: a body
/// of nothing but stray quotes must not be read once for each of its lines.
const SPARE_BODIES: usize = 4;

/// The rows of a body, one after the other.
#[derive(Debug)]
pub(super) struct Rows<'a> {
    body: &'a [u8],
    at: usize,
    /// Where the row at hand begins.
    row_start: usize,
    line: u64,
    delimiter: u8,
    /// Bytes that may still be read in vain.
    spare: usize,
    /// Cells of the row at hand, from the first byte of each to behind its last.
    places: Vec<(usize, usize)>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(body: &'a [u8], delimiter: u8) -> Self {
        Self {
            body,
            at: 0,
            row_start: 0,
            line: 1,
            delimiter,
            spare: body.len().saturating_mul(SPARE_BODIES),
            places: Vec::new(),
        }
    }

    /// The next row into `cells`: its line, or that and why it is refused.
    pub(super) fn next(
        &mut self,
        fits: &impl Fits,
        cells: &mut Vec<Cow<'a, str>>,
    ) -> Option<(u64, Result<(), Fault>)> {
        cells.clear();
        let (start, line_end) = loop {
            let start = self.at;
            let rest = self.body.get(start..).filter(|rest| !rest.is_empty())?;
            let end = memchr::memchr(b'\n', rest).map_or(self.body.len(), |end| start + end + 1);
            if !self.is_blank(&self.body[start..end]) {
                break (start, end);
            }
            self.at = end;
            self.line += 1;
        };
        let line = self.line;
        let first_line = &self.body[start..line_end];
        let (end, row) = if memchr::memchr(b'"', first_line).is_none() {
            let row = self.plain(without_line_end(first_line), fits, cells);
            (line_end, row)
        } else {
            self.quoted(start, line_end, fits, cells)
        };
        (self.row_start, self.at) = (start, end);
        self.line += if end == line_end {
            1
        } else {
            memchr::memchr_iter(b'\n', &self.body[start..end]).count() as u64
        };
        Some((line, row.and_then(|()| fits.check_width(cells.len()))))
    }

    /// The text of the row that was yielded last.
    pub(super) fn last_row(&self) -> &'a [u8] {
        &self.body[self.row_start..self.at]
    }

    fn is_blank(&self, line: &[u8]) -> bool {
        let is_blank =
            |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n') && *byte != self.delimiter;
        line.iter().all(is_blank)
    }

    /// A line without a quote.
    fn plain(
        &self,
        line: &'a [u8],
        fits: &impl Fits,
        cells: &mut Vec<Cow<'a, str>>,
    ) -> Result<(), Fault> {
        let text = utf8(line)?;
        let cells_max = fits.cells_max();
        let mut start = 0;
        for end in memchr::memchr_iter(self.delimiter, line) {
            cells.push(Cow::Borrowed(&text[start..end]));
            start = end + 1;
            if cells.len() == cells_max {
                return Err(too_wide(cells_max));
            }
        }
        cells.push(Cow::Borrowed(&text[start..]));
        Ok(())
    }

    /// A row whose first line has quotes, and where the next one begins.
    fn quoted(
        &mut self,
        start: usize,
        line_end: usize,
        fits: &impl Fits,
        cells: &mut Vec<Cow<'a, str>>,
    ) -> (usize, Result<(), Fault>) {
        // When nothing more may be read in vain, rows end with their lines.
        let text = match self.spare {
            0 => &self.body[..line_end],
            _ => self.body,
        };
        self.places.clear();
        let places = &mut self.places;
        let found = scan(text, start, self.delimiter, fits.cells_max(), |from, to| {
            places.push((from, to));
        });
        let (scanned, fault) = match found {
            RowEnd::At(end) if end <= line_end || self.fit(text, fits) => {
                return (end, self.take_cells(&text[start..end], text, cells));
            }
            RowEnd::At(end) => {
                let detail = "a quote at the beginning of a cell opens a text of several lines \
                              that does not fit the header; double a quote that is part of a text";
                (end, invalid_row(detail))
            }
            RowEnd::Open => {
                let detail = "a quote at the beginning of a cell is not closed; double a quote \
                              that is part of a text";
                (text.len(), invalid_row(detail))
            }
            RowEnd::TooWide(end) => (end, too_wide(fits.cells_max())),
            RowEnd::Unsound(end) => {
                let detail = "something follows the closing quote of a cell; double a quote that \
                              is part of the text";
                (end, invalid_row(detail))
            }
        };
        self.spare = self.spare.saturating_sub(scanned.saturating_sub(line_end));
        (line_end, Err(fault))
    }

    /// Whether the cells at hand, which span lines, are a row.
    fn fit(&self, text: &[u8], fits: &impl Fits) -> bool {
        let is_in_place = |(place, (from, to)): (usize, &(usize, usize))| {
            fits.may_hold_a_line_end(place) || memchr::memchr(b'\n', &text[*from..*to]).is_none()
        };
        fits.check_width(self.places.len()).is_ok()
            && self.places.iter().enumerate().all(is_in_place)
    }

    fn take_cells(
        &self,
        row: &[u8],
        text: &'a [u8],
        cells: &mut Vec<Cow<'a, str>>,
    ) -> Result<(), Fault> {
        utf8(row)?;
        for (from, to) in &self.places {
            cells.push(unquoted(utf8(&text[*from..*to])?));
        }
        Ok(())
    }
}

/// Where the row of `text` that begins at `start` ends.
#[must_use]
pub fn csv_row_end(text: &[u8], start: usize, delimiter: u8) -> RowEnd {
    scan(text, start, delimiter, usize::MAX, |_, _| {})
}

/// Tells `cell` each cell from its first byte to behind its last, quotes
/// included, until there are more than `cells_max`.
fn scan(
    text: &[u8],
    start: usize,
    delimiter: u8,
    cells_max: usize,
    mut cell: impl FnMut(usize, usize),
) -> RowEnd {
    let mut at = start;
    for _ in 0..cells_max {
        let from = at;
        let is_quoted = text.get(at) == Some(&b'"');
        if is_quoted {
            let Some(end) = end_of_quotes(text, at + 1) else {
                return RowEnd::Open;
            };
            at = end;
        } else {
            let rest = text.get(at..).unwrap_or_default();
            at = memchr::memchr2(delimiter, b'\n', rest).map_or(text.len(), |end| at + end);
        }
        let line_end = end_of_line(text, at);
        let ends_in_cr = line_end.is_some() && !is_quoted && text[from..at].ends_with(b"\r");
        cell(from, at - usize::from(ends_in_cr));
        match line_end {
            Some(end) => return RowEnd::At(end),
            None if text[at] != delimiter => return RowEnd::Unsound(at),
            None => at += 1,
        }
    }
    RowEnd::TooWide(at)
}

/// Behind the quote that closes those that were opened before `at`.
fn end_of_quotes(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr::memchr(b'"', text.get(at..)?)? + 1;
        if text.get(at) != Some(&b'"') {
            return Some(at);
        }
        at += 1;
    }
}

/// Behind the line end that begins at `at`, if one does; the end of the text is
/// one.
fn end_of_line(text: &[u8], at: usize) -> Option<usize> {
    match text.get(at..)? {
        [] => Some(at),
        [b'\n', ..] => Some(at + 1),
        [b'\r', b'\n', ..] => Some(at + 2),
        [b'\r'] => Some(at + 1),
        _ => None,
    }
}

fn without_line_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// A cell without its quotes.
fn unquoted(cell: &str) -> Cow<'_, str> {
    let inner = cell
        .strip_prefix('"')
        .and_then(|cell| cell.strip_suffix('"'));
    match inner {
        None => Cow::Borrowed(cell),
        Some(inner) if inner.contains('"') => Cow::Owned(inner.replace("\"\"", "\"")),
        Some(inner) => Cow::Borrowed(inner),
    }
}

fn utf8(row: &[u8]) -> Result<&str, Fault> {
    std::str::from_utf8(row).map_err(|error| {
        let byte = error.valid_up_to();
        invalid_row(format!("the row is not UTF-8 at its byte {byte}"))
    })
}

fn too_wide(cells_max: usize) -> Fault {
    invalid_row(format!(
        "the row has more than {cells_max} cells; put quotes around one that holds the delimiter"
    ))
}
