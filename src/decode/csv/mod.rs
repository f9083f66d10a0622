//! `text/csv`: a header row, then one item a row (RFC 4180).
//!
//! Which column is what is told by [`CsvColumns`] or by the names of the
//! columns. What differs from other readers, because nothing may be guessed:
//!
//! - A row with another number of cells than the header is refused, and so is
//!   one with something behind a closing quote.
//! - Text is never a number: it is skipped and counted. An empty cell is a
//!   measure that is absent.
//! - Nothing of a row outlives it: a row without a time has the time of receipt.
//!
//! A row at fault costs no other. One that spans several lines and does not fit
//! is refused for its first line alone, and the next one begins behind that, so
//! that a stray quote does not swallow what follows.

mod cell;
mod columns;
mod header;
mod rows;

pub use columns::{CsvColumns, CsvZone};
pub use rows::csv_row_end;

use std::borrow::Cow;

use super::decoded::{Fault, excerpt};
use super::item::Items;
use super::timestamp::read_time_in;
use super::{BodyError, DecodeContext, Decoded, Gate};
use crate::model::RejectCode;
use cell::{CellValue, parse_cell};
use header::{Layout, SensorSource};
use rows::Rows;

/// Decodes a body of CSV. Numeric times are in the context's unit, by magnitude
/// where it has none. A byte order mark before the header and blank lines are
/// skipped; CRLF ends a row as LF does, and the last row needs no end. Spaces
/// and tabs around a cell are not part of it.
///
/// # Errors
/// [`BodyError::CsvHeader`]: there is no header, or none that fits the columns.
pub fn csv(
    body: &[u8],
    context: &DecodeContext,
    columns: &CsvColumns,
    gate: &mut dyn Gate,
) -> Result<Decoded, BodyError> {
    let body = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body);
    let mut rows = Rows::new(body, columns.delimiter());
    let layout = Layout::read(&mut rows, columns)?;
    let header = rows.last_row();
    let mut items = Items::of_table(context, gate, ADVICE);
    let mut cells = Vec::new();
    while let Some((line, row)) = rows.next(&layout, &mut cells) {
        items.begin_item();
        let fields = row.and_then(|()| fields(&cells, &layout, columns, context, &mut items));
        items.end_item(fields, Some(line), Some(rows.last_row()));
    }
    items.set_header(header);
    Ok(items.finish())
}

/// For whoever sends rows of text alone.
const ADVICE: &str = "a number is written as 1.5 or 1e3, with a decimal point";

fn fields<'h>(
    cells: &[Cow<'_, str>],
    layout: &'h Layout<'h>,
    columns: &CsvColumns,
    context: &DecodeContext,
    items: &mut Items<'h, '_>,
) -> Result<(), Fault> {
    match &layout.sensor {
        SensorSource::Every(id) => items.sensor_id(Some(id))?,
        SensorSource::Column(place) => {
            let name = &layout.names[*place];
            let id = trimmed(&cells[*place]);
            if id.is_empty() {
                let detail = "the cell of the sensor is empty; put its id there";
                return Err(Fault::new(RejectCode::MissingSensorId, Some(name), detail));
            }
            items.sensor_id(Some(id)).map_err(|fault| fault.of(name))?;
        }
    }
    if let Some(place) = layout.time {
        let name = &layout.names[place];
        let time = trimmed(&cells[place]);
        if !time.is_empty() {
            let at = read_time_in(time, columns.zone(), context);
            let at = at.map_err(|(code, detail)| Fault::new(code, Some(name), detail))?;
            items.time(at);
        }
    }
    if let Some(place) = layout.age {
        let age = trimmed(&cells[place]);
        if !age.is_empty() {
            let name = &layout.names[place];
            items.age_ms(Some(age)).map_err(|fault| fault.of(name))?;
        }
    }
    for (measure, place) in &layout.measures {
        let name = || Cow::Borrowed(&**measure);
        let taken = match parse_cell(trimmed(&cells[*place])) {
            CellValue::Absent => Ok(()),
            CellValue::Text => items.text_field(name()),
            CellValue::Number(value) => items.number(name(), value),
        };
        taken.map_err(|fault| fault.of(&layout.names[*place]))?;
    }
    Ok(())
}

/// A cell without the spaces and tabs around it.
fn trimmed(cell: &str) -> &str {
    cell.trim_matches([' ', '\t'])
}

fn invalid_row(detail: impl std::fmt::Display) -> Fault {
    Fault::new(RejectCode::InvalidRow, None, detail)
}

fn header_fault(reason: impl Into<String>) -> BodyError {
    BodyError::CsvHeader {
        reason: reason.into(),
    }
}

/// The columns of a header, for messages: `a`, `b` and 3 more.
fn listed(names: &[String]) -> String {
    const LISTED_MAX: usize = 30;
    let shown: Vec<String> = names
        .iter()
        .take(LISTED_MAX)
        .map(|name| format!("`{}`", excerpt(name)))
        .collect();
    let list = shown.join(", ");
    match names.len().saturating_sub(LISTED_MAX) {
        0 => list,
        more => format!("{list} and {more} more"),
    }
}
