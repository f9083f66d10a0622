//! The flags of `import`.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};

use crate::config::{byte_count, span};
use crate::import::{Columns, FileFormat, ImportOptions, Source};

const HELP: &str = "\
Examples:
  hourglass import readings.ndjson.gz
  hourglass import --sensor-id M1 --ts timestamp --column temp=value machine.csv
  zstdcat lines.zst | hourglass import --format line --unit ns -

Files are read one after the other and sent in chunks, strictly in order. While
the server is away or refuses for the moment, the chunk is sent again. What is
sent twice is stored once: an import that was cut off is run again as it was.
Lines without a time are stored once where the same import is run again within
24 h; later they are new readings.

Exit codes:
  0  everything was accepted
  1  a failure: what came before it was sent
  2  wrong usage
  4  some items were rejected, the others accepted";

/// Sends files to a running server
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct ImportFlags {
    /// CSV, NDJSON or line protocol, plain, gzip or zstd; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// What the files hold [default: by extension: .csv .tsv .ndjson .jsonl .lp, also below .gz .zst]
    #[arg(long, value_name = "FORMAT")]
    format: Option<FileFormat>,
    /// The server
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    to: String,
    /// CSV: takes this column as that measure, and no column that is not named; repeatable
    #[arg(long = "column", value_name = "MEASURE=COLUMN", value_parser = measure)]
    columns: Vec<(String, String)>,
    /// CSV: the column of the sensor; if there is none of that name, the sensor of all rows
    #[arg(long, value_name = "COLUMN|ID")]
    sensor_id: Option<String>,
    /// CSV: the column of the time
    #[arg(long, value_name = "COLUMN")]
    ts: Option<String>,
    /// CSV: the column of the age in milliseconds
    #[arg(long, value_name = "COLUMN")]
    age_ms: Option<String>,
    /// CSV: the zone of times that name none, such as Europe/Berlin [default: UTC]
    #[arg(long, value_name = "ZONE")]
    tz: Option<String>,
    /// CSV: what stands between cells [default: a comma; in .tsv a tab]
    #[arg(long, value_name = "CHAR", value_parser = [",", ";", "tab"])]
    delimiter: Option<String>,
    /// The unit of numeric times [default: by their size]
    #[arg(long, value_name = "UNIT", value_parser = ["ns", "us", "ms", "s", "m", "h"])]
    unit: Option<String>,
    /// Gives up on a chunk after this time of trying
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = time)]
    retry_for: Duration,
    /// Sends about so much at once
    #[arg(long, value_name = "SIZE", default_value = "1MiB", value_parser = size)]
    chunk_bytes: usize,
    /// Has everything stored, also what the server remembers from an import of the
    /// last 24 h: after its store was emptied or restored
    #[arg(long)]
    again: bool,
    /// Writes all rejections that the server names here, one JSON object a line
    #[arg(long, value_name = "FILE")]
    rejects: Option<PathBuf>,
}

impl ValueEnum for FileFormat {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()))
    }
}

impl ImportFlags {
    /// What the flags ask for.
    ///
    /// # Errors
    /// What does not do, and what would.
    pub(super) fn resolve(self) -> Result<ImportOptions, String> {
        if !self.to.starts_with("http://") {
            return Err(format!(
                "`--to {}` is no http:// address; the server does not speak TLS",
                self.to
            ));
        }
        let columns = Columns {
            sensor: self.sensor_id,
            time: self.ts,
            age: self.age_ms,
            zone: self.tz,
            delimiter: self.delimiter,
            measures: self.columns,
        };
        let mut sources = Vec::new();
        for path in self.files {
            let source = match path.to_str() {
                Some("-") => Source::Stdin,
                _ => Source::File(path),
            };
            let by_name = match &source {
                Source::Stdin => None,
                Source::File(path) => FileFormat::of(path),
            };
            let format = self.format.or(by_name).ok_or_else(|| {
                format!(
                    "the name of {source} does not say what it holds; add --format csv, tsv, \
                     ndjson or line"
                )
            })?;
            sources.push((source, format));
        }
        let has_table = sources
            .iter()
            .any(|(_, format)| matches!(format, FileFormat::Csv | FileFormat::Tsv));
        if !has_table && !columns.is_empty() {
            return Err("flags for CSV were given, and no file is CSV".to_owned());
        }
        Ok(ImportOptions {
            sources,
            to: self.to,
            columns,
            unit: self.unit,
            retry_for: self.retry_for,
            chunk_bytes: self.chunk_bytes,
            again: self.again,
            rejects: self.rejects,
        })
    }
}

fn measure(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((measure, column)) if !measure.is_empty() && !column.is_empty() => {
            Ok((measure.to_owned(), column.to_owned()))
        }
        _ => Err("write it as MEASURE=COLUMN".to_owned()),
    }
}

fn time(text: &str) -> Result<Duration, String> {
    span(text).ok_or_else(|| "write it with its unit, such as 30s or 5m".to_owned())
}

/// At most a quarter of what a server takes by default, as a chunk may have a
/// little more.
fn size(text: &str) -> Result<usize, String> {
    const BYTES_MAX: usize = 8 << 20;
    byte_count(text)
        .and_then(|bytes| usize::try_from(bytes).ok())
        .filter(|bytes| (1..=BYTES_MAX).contains(bytes))
        .ok_or_else(|| "write it as 256KiB or 1MiB, at most 8MiB".to_owned())
}
