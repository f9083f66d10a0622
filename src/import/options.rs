//! What is imported, from where, and how it is read.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Items;

/// An import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportOptions {
    /// Read one after the other.
    pub sources: Vec<(Source, FileFormat)>,
    /// The server, such as `http://127.0.0.1:8080`.
    pub to: String,
    /// What CSV files hold.
    pub columns: Columns,
    /// The unit of numeric times (`unit=`).
    pub unit: Option<String>,
    /// A chunk is given up after this time of trying.
    pub retry_for: Duration,
    /// Bytes from which on a chunk ends with its item.
    pub chunk_bytes: usize,
    /// Whether the server shall take what it remembers as sent: its store may have
    /// lost it since. Lines without a time are stored once more then.
    pub again: bool,
    /// Where rejections are written, one JSON object a line.
    pub rejects: Option<PathBuf>,
}

/// Where items are read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Standard input.
    Stdin,
    /// A file.
    File(PathBuf),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdin => f.write_str("stdin"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    /// Comma-separated values with a header.
    Csv,
    /// The same with tabs.
    Tsv,
    /// A JSON object a line.
    NdJson,
    /// Line protocol.
    LineProtocol,
}

impl FileFormat {
    /// Every format.
    pub const ALL: [Self; 4] = [Self::Csv, Self::Tsv, Self::NdJson, Self::LineProtocol];

    /// As `--format` has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::NdJson => "ndjson",
            Self::LineProtocol => "line",
        }
    }

    /// The format that the name of a file says, also below `.gz` and `.zst`.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
        let packed = [".gz", ".zst", ".zstd"];
        let name = packed
            .iter()
            .find_map(|end| name.strip_suffix(end))
            .unwrap_or(&name);
        match name.rsplit_once('.')?.1 {
            "csv" => Some(Self::Csv),
            "tsv" | "tab" => Some(Self::Tsv),
            "ndjson" | "jsonl" => Some(Self::NdJson),
            "lp" | "line" | "influx" => Some(Self::LineProtocol),
            _ => None,
        }
    }

    /// As `format=` has it.
    fn parameter(self) -> &'static str {
        match self {
            Self::Csv | Self::Tsv => "csv",
            Self::NdJson => "ndjson",
            Self::LineProtocol => "line",
        }
    }

    fn has_columns(self) -> bool {
        matches!(self, Self::Csv | Self::Tsv)
    }
}

/// What the columns of CSV files are; what is not said follows from their names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Columns {
    /// `sensorId=`: a column, or the sensor of every row.
    pub sensor: Option<String>,
    /// `ts=`.
    pub time: Option<String>,
    /// `ageMs=`.
    pub age: Option<String>,
    /// `tz=`.
    pub zone: Option<String>,
    /// `delimiter=`.
    pub delimiter: Option<String>,
    /// Measures with their columns.
    pub measures: Vec<(String, String)>,
}

impl Columns {
    /// Whether anything is said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The byte between cells of a file of `format`.
    fn delimiter_byte(&self, format: FileFormat) -> u8 {
        match (self.delimiter.as_deref(), format) {
            (Some(";"), _) => b';',
            (Some("\t" | "\\t" | "tab"), _) | (None, FileFormat::Tsv) => b'\t',
            _ => b',',
        }
    }
}

impl ImportOptions {
    /// How files of `format` are cut.
    #[must_use]
    pub fn items(&self, format: FileFormat) -> Items {
        match format {
            FileFormat::Csv | FileFormat::Tsv => Items::Rows {
                delimiter: self.columns.delimiter_byte(format),
            },
            FileFormat::NdJson => Items::Lines,
            FileFormat::LineProtocol => Items::LineProtocol,
        }
    }

    /// The parameters of requests for files of `format`, encoded.
    #[must_use]
    pub fn query(&self, format: FileFormat) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("format", format.parameter());
        if let Some(unit) = &self.unit {
            query.append_pair("unit", unit);
        }
        if format.has_columns() {
            let columns = &self.columns;
            let delimiter = match self.columns.delimiter_byte(format) {
                b';' => ";",
                b'\t' => "tab",
                _ => ",",
            };
            query.append_pair("delimiter", delimiter);
            for (name, value) in [
                ("sensorId", &columns.sensor),
                ("ts", &columns.time),
                ("ageMs", &columns.age),
                ("tz", &columns.zone),
            ] {
                if let Some(value) = value {
                    query.append_pair(name, value);
                }
            }
            query.extend_pairs(&columns.measures);
        }
        query.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_says_its_format() {
        for (name, format) in [
            ("a.csv", Some(FileFormat::Csv)),
            ("dir/A.CSV.GZ", Some(FileFormat::Csv)),
            ("a.tsv.zst", Some(FileFormat::Tsv)),
            ("a.b.jsonl", Some(FileFormat::NdJson)),
            ("a.ndjson.zstd", Some(FileFormat::NdJson)),
            ("a.lp", Some(FileFormat::LineProtocol)),
            ("a.txt", None),
            ("a.gz", None),
            ("csv", None),
        ] {
            assert_eq!(FileFormat::of(Path::new(name)), format, "{name}");
        }
    }

    #[test]
    fn parameters_are_those_of_the_interface() {
        let mut options = ImportOptions {
            sources: Vec::new(),
            to: String::new(),
            columns: Columns::default(),
            unit: Some("ms".to_owned()),
            retry_for: Duration::ZERO,
            chunk_bytes: 1,
            again: false,
            rejects: None,
        };
        assert_eq!(options.query(FileFormat::NdJson), "format=ndjson&unit=ms");
        assert_eq!(
            options.query(FileFormat::Tsv),
            "format=csv&unit=ms&delimiter=tab"
        );
        options.columns.sensor = Some("M 1".to_owned());
        options.columns.zone = Some("Europe/Berlin".to_owned());
        options.columns.delimiter = Some(";".to_owned());
        options.columns.measures = vec![("temp".to_owned(), "val=ue".to_owned())];
        assert_eq!(
            options.query(FileFormat::Csv),
            "format=csv&unit=ms&delimiter=%3B&sensorId=M+1&tz=Europe%2FBerlin&temp=val%3Due"
        );
    }
}
