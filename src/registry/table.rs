//! CSV with a header that says what each column is, row by row as objects. Pure.

use std::collections::HashSet;
use std::io::Cursor;

use bytes::{Buf, Bytes};
use serde_json::{Map, Value};

use super::error::clipped;
use super::list::{LINE_BYTES_MAX, Line, ListError, too_long};
use crate::model::MeasureName;

/// Most columns of a table.
const COLUMNS_MAX: usize = 1024;

/// What some programs put in front of a table in UTF-8.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Columns of one member of a sensor each.
const MEMBERS: [&str; 6] = [
    "sensorId",
    "name",
    "model",
    "site",
    "retention",
    "rawRetention",
];

/// What a column is.
#[derive(Debug)]
enum Column {
    /// A member of the form, or `sensorId`.
    Member(&'static str),
    /// A member of an object of the form.
    Inner(&'static str, String),
}

/// A table that is read row by row.
#[derive(Debug)]
pub(super) struct Table {
    columns: Vec<Column>,
    body: Bytes,
    reader: csv::Reader<Cursor<Bytes>>,
    row: csv::StringRecord,
}

impl Table {
    /// Reads the header.
    pub(super) fn new(mut body: Bytes) -> Result<Self, ListError> {
        if body.starts_with(BYTE_ORDER_MARK) {
            body.advance(BYTE_ORDER_MARK.len());
        }
        let mut reader = csv::ReaderBuilder::new()
            .flexible(true)
            .trim(csv::Trim::All)
            .from_reader(Cursor::new(body.clone()));
        let header = reader
            .headers()
            .map_err(|error| ListError::Header(error.to_string()))?;
        if header.len() > COLUMNS_MAX {
            let told = format!("it has {} columns, at most {COLUMNS_MAX}", header.len());
            return Err(ListError::Header(told));
        }
        let mut names = HashSet::new();
        if let Some(twice) = header.iter().find(|name| !names.insert(*name)) {
            let told = format!("the column `{}` stands there twice", clipped(twice));
            return Err(ListError::Header(told));
        }
        if header.is_empty() {
            return Err(ListError::Empty);
        }
        let is_named = names.contains("sensorId");
        let columns: Result<Vec<Column>, ListError> = header.iter().map(column).collect();
        let columns = columns?;
        if !is_named {
            let told = "it must have a column `sensorId`";
            return Err(ListError::Header(told.to_owned()));
        }
        let header_end = usize::try_from(reader.position().byte()).unwrap_or(usize::MAX);
        let rows = body.get(header_end..).unwrap_or_default();
        if rows.trim_ascii().is_empty() {
            return Err(ListError::Empty);
        }
        Ok(Self {
            columns,
            body,
            reader,
            row: csv::StringRecord::new(),
        })
    }

    /// The next row.
    pub(super) fn next(&mut self) -> Option<Line> {
        // The reader counts blank lines to the row behind them.
        let before = self.reader.position().clone();
        let start = usize::try_from(before.byte()).unwrap_or(usize::MAX);
        let rest = self.body.get(start..).unwrap_or_default();
        let blank = rest
            .iter()
            .take_while(|byte| matches!(byte, b'\r' | b'\n'))
            .count();
        let blank_lines = rest.iter().take(blank).filter(|byte| **byte == b'\n');
        let number = before.line() + blank_lines.count() as u64;
        let read = self.reader.read_record(&mut self.row);
        let end = usize::try_from(self.reader.position().byte()).unwrap_or(usize::MAX);
        let bytes = end.saturating_sub(start + blank);
        let said = match read {
            Ok(false) => return None,
            Ok(true) => self.object(bytes),
            Err(error) => Err(("invalid_row", invalid(&error))),
        };
        Some(Line {
            number,
            bytes,
            said,
        })
    }

    fn object(&self, bytes: usize) -> Result<Value, (&'static str, String)> {
        if bytes > LINE_BYTES_MAX {
            return Err(("line_too_long", too_long()));
        }
        if self.row.len() != self.columns.len() {
            let (cells, columns) = (self.row.len(), self.columns.len());
            let told = format!("the row has {cells} cells, the header {columns}");
            return Err(("invalid_row", told));
        }
        let mut members = Map::new();
        for (column, cell) in self.columns.iter().zip(&self.row) {
            if cell.is_empty() {
                continue;
            }
            match column {
                Column::Member(member) => {
                    members.insert((*member).to_owned(), cell.into());
                }
                Column::Inner(member, key) => {
                    let inner = members
                        .entry(*member)
                        .or_insert_with(|| Value::Object(Map::new()));
                    if let Value::Object(inner) = inner {
                        inner.insert(key.clone(), cell.into());
                    }
                }
            }
        }
        Ok(Value::Object(members))
    }
}

/// Without the reader's own place of the row.
fn invalid(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::Utf8 { err, .. } => format!("the row is not UTF-8: {err}"),
        _ => error.to_string(),
    }
}

fn column(name: &str) -> Result<Column, ListError> {
    if let Some(member) = MEMBERS.into_iter().find(|member| *member == name) {
        return Ok(Column::Member(member));
    }
    if let Some(measure) = name.strip_prefix("unit.")
        && MeasureName::new(measure).is_ok()
    {
        return Ok(Column::Inner("units", measure.to_owned()));
    }
    if let Some(key) = name.strip_prefix("attr.")
        && !key.is_empty()
    {
        return Ok(Column::Inner("attributes", key.to_owned()));
    }
    Err(ListError::Header(format!(
        "the column `{}` is unknown; known are {}, unit.<measure> and attr.<key>",
        clipped(name),
        MEMBERS.join(", ")
    )))
}
