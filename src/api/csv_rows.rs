//! Readings as CSV (RFC 4180): `ts`, then one column a measure; a measure named
//! `ts` stands under `measures.ts`.

use crate::model::{MeasureName, Micros};

/// Writes rows for a fixed list of columns.
#[derive(Debug)]
pub(super) struct CsvRows {
    columns: Vec<MeasureName>,
}

impl CsvRows {
    pub(super) fn new(columns: Vec<MeasureName>) -> Self {
        Self { columns }
    }

    pub(super) fn header(&self) -> Vec<u8> {
        let names = self.columns.iter().map(|name| match name.as_str() {
            // The first column has that name.
            "ts" => "measures.ts",
            name => name,
        });
        row(["ts"].into_iter().chain(names))
    }

    /// One reading; a column without a value is empty.
    pub(super) fn reading(&self, at: Micros, values: &[(MeasureName, f64)]) -> Vec<u8> {
        let ts = at.to_string();
        let cells: Vec<String> = self
            .columns
            .iter()
            .map(|column| {
                let value = values.iter().find(|(name, _)| name == column);
                value.map_or_else(String::new, |(_, value)| format!("{value:?}"))
            })
            .collect();
        row([ts.as_str()]
            .into_iter()
            .chain(cells.iter().map(String::as_str)))
    }
}

fn row<'a>(cells: impl Iterator<Item = &'a str>) -> Vec<u8> {
    let mut writer = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .from_writer(Vec::new());
    writer
        .write_record(cells)
        .expect("writing to memory does not fail");
    writer
        .into_inner()
        .expect("flushing to memory does not fail")
}
