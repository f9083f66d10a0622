//! InfluxDB line protocol: `measurement,tag=value field=value,… timestamp`.
//!
//! The grammar is that of InfluxDB's reference ("Line protocol", v1.8 and v2):
//! escapes, comments (`#` at the start of a line), blank lines, CRLF, text
//! fields that hold line ends. What differs, because nothing may be guessed:
//!
//! - A tag or a field twice in one line refuses the line; InfluxDB keeps one.
//! - Text is never a number: text fields are skipped and counted.
//! - Integers beyond 2^53 are refused; InfluxDB keeps 64 bits.
//!
//! A line at fault costs no other. Where its quotes are sound the next line
//! begins where it ends; where they are not, behind its first line end, so that
//! a stray quote does not swallow what follows.

mod line;
mod mapping;
mod scan;
mod value;

use std::collections::HashMap;

pub use mapping::LineMapping;
pub(super) use mapping::{NamedSensor, Series};
pub(super) use value::{is_float, is_no_finite_word};

use super::decoded::Fault;
use super::item::Items;
use super::{DecodeContext, Decoded, Gate, ItemForm, RowEnd};
use crate::model::RejectCode;
use line::Line;

/// What becomes of a line that holds no number, only text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TextOnly {
    /// It is refused (`no_measures`).
    Refuse,
    /// It is skipped; its fields are counted.
    Skip,
}

/// How lines are read.
#[derive(Debug, Clone, Copy)]
pub struct LineOptions<'a> {
    /// Which sensor a line is about.
    pub mapping: &'a LineMapping,
    /// What becomes of lines without a number.
    pub text_only: TextOnly,
}

/// Decodes a body of line protocol. Times are in the context's unit, by
/// magnitude where it has none. A byte order mark before the first line is
/// skipped.
pub fn line_protocol(
    body: &[u8],
    context: &DecodeContext,
    options: LineOptions<'_>,
    gate: &mut dyn Gate,
) -> Decoded {
    let mut items = Items::new(context, gate);
    let mut reader = LineReader::new(options);
    reader.read(body, &mut items);
    items.finish()
}

/// Where the line of `text` that begins at `start` ends: a comment and a blank
/// line at their line end, another one by its quotes.
#[must_use]
pub fn line_end(text: &[u8], start: usize) -> RowEnd {
    let rest = text.get(start..).unwrap_or_default();
    let blanks = rest
        .iter()
        .take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | 0));
    let blanks = blanks.count();
    match rest.get(blanks) {
        None => RowEnd::At(text.len()),
        Some(b'\n' | b'#') => {
            let end = memchr::memchr(b'\n', &rest[blanks..]);
            RowEnd::At(end.map_or(text.len(), |end| start + blanks + end + 1))
        }
        Some(_) => line::sound_end(text, start + blanks),
    }
}

/// Most series of a body that are known by their raw text: a body of nothing but
/// series that come once must not take many times its bytes.
const KNOWN_MAX: usize = 65_536;

/// A series that an accepted line had: its raw text is enough to know it again.
#[derive(Debug, Clone, Copy)]
struct KnownSeries {
    sensor: u32,
    origin: Option<u32>,
}

/// Reads bodies into one batch. Known series are looked up by their raw text,
/// so that most lines cost no parsing of tags.
#[derive(Debug)]
pub(super) struct LineReader<'a, 'o> {
    options: LineOptions<'o>,
    /// Known series in the order in which they came first.
    series: Vec<(&'a str, KnownSeries)>,
    /// Places in `series`.
    known: HashMap<&'a str, usize>,
    /// Place of the series of the line before. Most senders send one series in a
    /// row, or their series in turn, so it and the next one are tried first.
    last: usize,
}

impl<'a, 'o> LineReader<'a, 'o> {
    pub(super) fn new(options: LineOptions<'o>) -> Self {
        Self {
            options,
            series: Vec::new(),
            known: HashMap::new(),
            last: 0,
        }
    }

    pub(super) fn read(&mut self, body: &'a [u8], items: &mut Items<'a, '_>) {
        items.set_form(ItemForm::Line);
        let mut rest = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body);
        let mut number = 1;
        loop {
            let error = match std::str::from_utf8(rest) {
                Ok(text) => {
                    self.read_text(text, number, items);
                    return;
                }
                Err(error) => error,
            };
            // The lines before the one with the bad byte, that line, the rest.
            let (sound, _) = rest.split_at(error.valid_up_to());
            let start = memchr::memrchr(b'\n', sound).map_or(0, |end| end + 1);
            let text = std::str::from_utf8(&rest[..start]).unwrap_or_default();
            number = self.read_text(text, number, items);
            let end = memchr::memchr(b'\n', &rest[start..]).map_or(rest.len(), |at| start + at + 1);
            items.begin_item();
            let detail = format!(
                "the line is not UTF-8 at its byte {}",
                error.valid_up_to() - start
            );
            let fault = Fault::new(RejectCode::InvalidLine, None, detail);
            items.end_item(Err(fault), Some(number), Some(&rest[start..end]));
            number += 1;
            rest = &rest[end..];
        }
    }

    /// Reads whole lines, the first of which is line `number`; the number of the
    /// line behind them.
    fn read_text(&mut self, text: &'a str, mut number: u64, items: &mut Items<'a, '_>) -> u64 {
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'\n' => number += 1,
                b' ' | b'\t' | b'\r' | 0 => {}
                b'#' => {
                    let Some(end) = memchr::memchr(b'\n', &bytes[at..]) else {
                        return number;
                    };
                    at += end;
                    number += 1;
                }
                _ => {
                    let (end, lines) = self.read_line(text, at, number, items);
                    at = end;
                    number += lines;
                    continue;
                }
            }
            at += 1;
        }
        number
    }

    /// Reads the line at `start`: where the next begins, and how many line ends
    /// are between.
    fn read_line(
        &mut self,
        text: &'a str,
        start: usize,
        number: u64,
        items: &mut Items<'a, '_>,
    ) -> (usize, u64) {
        items.begin_item();
        let mut line = Line::new(text, start);
        let fields = self.fields_of(&mut line, items);
        let end = match fields {
            Ok(()) => line.position(),
            Err(_) => line::end_of_line(text.as_bytes(), start),
        };
        let raw = &text.as_bytes()[start..end];
        let accepted = items.end_line(fields, number, self.options.text_only, raw);
        if let Some((sensor, origin)) = accepted {
            self.learn(line.series(), KnownSeries { sensor, origin });
        }
        let lines = if line.is_multiline() || end > line.position() {
            memchr::memchr_iter(b'\n', &text.as_bytes()[start..end]).count() as u64
        } else {
            u64::from(text.as_bytes()[start..end].ends_with(b"\n"))
        };
        (end, lines)
    }

    /// The series whose text is `raw`, if an accepted line had it.
    fn find(&mut self, raw: &str) -> Option<KnownSeries> {
        for place in [self.last, self.last + 1, 0] {
            if let Some((known, series)) = self.series.get(place)
                && *known == raw
            {
                self.last = place;
                return Some(*series);
            }
        }
        self.last = *self.known.get(raw)?;
        Some(self.series[self.last].1)
    }

    fn learn(&mut self, raw: &'a str, series: KnownSeries) {
        let last = self.series.get(self.last);
        let is_known = last.is_some_and(|(known, _)| *known == raw);
        if !is_known && self.series.len() < KNOWN_MAX {
            self.last = self.series.len();
            self.series.push((raw, series));
            self.known.insert(raw, self.last);
        }
    }

    fn fields_of(&mut self, line: &mut Line<'a>, items: &mut Items<'a, '_>) -> Result<(), Fault> {
        let raw = line.read_series()?;
        let known = self.find(raw);
        let mapping = self.options.mapping;
        let measurement = match known {
            Some(series) => {
                items.known_series(series.sensor, series.origin);
                mapping
                    .measurement_prefix
                    .then(|| line::measurement_of(raw))
            }
            None => {
                let series = line::parse_series(raw)?;
                let sensor = mapping.sensor(&series);
                items.new_series(&sensor, &series)?;
                mapping.measurement_prefix.then_some(series.measurement)
            }
        };
        line.read_fields(measurement.as_deref(), mapping, items)?;
        line.read_time(items)
    }
}
