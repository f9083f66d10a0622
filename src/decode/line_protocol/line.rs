//! One line: series, fields, time.

use std::borrow::Cow;

use super::super::decoded::{Fault, excerpt};
use super::super::item::Items;
use super::mapping::{LineMapping, Series};
use super::scan::{KEY, MEASUREMENT, end_of, end_of_series, end_of_string, unescape};
use super::value::parse_value;
use crate::decode::RowEnd;
use crate::model::RejectCode;

/// A line that is read from left to right.
#[derive(Debug)]
pub(super) struct Line<'a> {
    text: &'a str,
    at: usize,
    series: &'a str,
    is_multiline: bool,
}

impl<'a> Line<'a> {
    /// The line of `text` that begins at `start`.
    pub(super) fn new(text: &'a str, start: usize) -> Self {
        Self {
            text,
            at: start,
            series: "",
            is_multiline: false,
        }
    }

    /// How far it is read; behind the line's end once its time is.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Measurement and tags as they stand there.
    pub(super) fn series(&self) -> &'a str {
        self.series
    }

    /// Whether a text field holds a line end.
    pub(super) fn is_multiline(&self) -> bool {
        self.is_multiline
    }

    fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    fn peek(&self) -> Option<u8> {
        self.bytes().get(self.at).copied()
    }

    /// The byte behind the one at hand.
    fn next_byte(&self) -> Option<u8> {
        self.bytes().get(self.at + 1).copied()
    }

    /// Whether the line ends here, CR before LF and at the end of all included.
    fn is_at_end(&self) -> bool {
        match self.peek() {
            None | Some(b'\n') => true,
            Some(b'\r') => matches!(self.next_byte(), None | Some(b'\n')),
            Some(_) => false,
        }
    }

    fn skip_spaces(&mut self) {
        while self.peek() == Some(b' ') {
            self.at += 1;
        }
    }

    /// Measurement and tags, raw, and the space behind them.
    pub(super) fn read_series(&mut self) -> Result<&'a str, Fault> {
        let end = end_of_series(self.bytes(), self.at);
        let mut series = &self.text[self.at..end];
        if self.bytes().get(end) != Some(&b' ') {
            series = series.trim_end_matches('\r');
        }
        self.series = series;
        self.at += series.len();
        self.skip_spaces();
        if self.is_at_end() {
            let detail = if series.contains('\\') {
                "the line has no fields; a backslash before a space makes it part of the name"
            } else {
                "the line has no fields; a line is `measurement,tag=value field=1.5 timestamp`"
            };
            return Err(invalid(None, detail));
        }
        Ok(series)
    }

    /// All fields, into `items`.
    pub(super) fn read_fields(
        &mut self,
        measurement: Option<&str>,
        mapping: &LineMapping,
        items: &mut Items<'a, '_>,
    ) -> Result<(), Fault> {
        loop {
            let end = end_of(self.bytes(), self.at, KEY);
            let raw = &self.text[self.at..end];
            if self.bytes().get(end) != Some(&b'=') {
                let detail = "a field has no `=`; write it as name=value, and put a backslash \
                              before a space, comma or equals sign of its name";
                return Err(invalid(Some(raw.trim_end()), detail));
            }
            if raw.is_empty() {
                return Err(invalid(None, "a field has no name before its `=`"));
            }
            self.at = end + 1;
            let mut name = unescape(raw, KEY);
            if let Some(measurement) = measurement {
                name = mapping.measure(measurement, name);
            }
            if self.peek() == Some(b'"') {
                let from = self.at + 1;
                let Some(end) = end_of_string(self.bytes(), from) else {
                    let detail = "a text is not ended; put a quote behind it";
                    return Err(invalid(Some(&name), detail));
                };
                self.is_multiline |= memchr::memchr(b'\n', &self.bytes()[from..end]).is_some();
                self.at = end + 1;
                items.text_field(name)?;
            } else {
                let value = self.read_value();
                if value.is_empty() {
                    let detail = "a field has no value; leave it out where nothing was measured";
                    return Err(invalid(Some(&name), detail));
                }
                items.number(name, parse_value(value))?;
            }
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b' ') => return Ok(()),
                _ if self.is_at_end() => return Ok(()),
                _ => {
                    let detail = "something follows the end of a text; put a comma or a space \
                                  there, and a backslash before quotes inside the text";
                    return Err(invalid(None, detail));
                }
            }
        }
    }

    fn read_value(&mut self) -> &'a str {
        let bytes = self.bytes();
        let start = self.at;
        while let Some(byte) = self.peek() {
            if matches!(byte, b',' | b' ' | b'\n') || byte == b'\r' && self.is_at_end() {
                break;
            }
            self.at += 1;
        }
        debug_assert!(self.at <= bytes.len());
        &self.text[start..self.at]
    }

    /// The timestamp, if there is one, and the line's end.
    pub(super) fn read_time(&mut self, items: &mut Items<'a, '_>) -> Result<(), Fault> {
        self.skip_spaces();
        let start = self.at;
        while !self.is_at_end() && self.peek() != Some(b' ') {
            self.at += 1;
        }
        let time = &self.text[start..self.at];
        self.skip_spaces();
        if !self.is_at_end() {
            let detail = "something follows the timestamp; quote texts, and put one reading on \
                          a line";
            return Err(invalid(None, detail));
        }
        if !time.is_empty() {
            let digits = time.strip_prefix('-').unwrap_or(time);
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                let detail = format!(
                    "{} is no timestamp, which is a whole number; a text with spaces needs quotes",
                    excerpt(time)
                );
                return Err(Fault::new(
                    RejectCode::InvalidTime,
                    Some("timestamp"),
                    detail,
                ));
            }
            items.timestamp(time)?;
        }
        if self.peek() == Some(b'\r') {
            self.at += 1;
        }
        if self.peek() == Some(b'\n') {
            self.at += 1;
        }
        Ok(())
    }
}

fn invalid(field: Option<&str>, detail: &str) -> Fault {
    Fault::new(RejectCode::InvalidLine, field, detail)
}

/// The measurement of a raw series key.
pub(super) fn measurement_of(raw: &str) -> Cow<'_, str> {
    unescape(&raw[..end_of(raw.as_bytes(), 0, MEASUREMENT)], MEASUREMENT)
}

/// Measurement and tags of a raw series key.
pub(super) fn parse_series(raw: &str) -> Result<Series<'_>, Fault> {
    let bytes = raw.as_bytes();
    let mut at = end_of(bytes, 0, MEASUREMENT);
    if at == 0 {
        return Err(invalid(None, "the line has no measurement before its tags"));
    }
    let measurement = unescape(&raw[..at], MEASUREMENT);
    let mut tags = Vec::new();
    while at < bytes.len() {
        // At a comma.
        let end = end_of(bytes, at + 1, KEY);
        let key = &raw[at + 1..end];
        if key.is_empty() || bytes.get(end) != Some(&b'=') {
            let detail = "a tag has no name or no `=`; write it as ,name=value";
            return Err(invalid(Some(key), detail));
        }
        at = end_of(bytes, end + 1, KEY);
        let value = &raw[end + 1..at];
        if value.is_empty() {
            let detail = "a tag has no value; leave it out";
            return Err(invalid(Some(key), detail));
        }
        if bytes.get(at) == Some(&b'=') {
            let detail = "the value of a tag holds an equals sign; put a backslash before it";
            return Err(invalid(Some(key), detail));
        }
        tags.push((unescape(key, KEY), unescape(value, KEY)));
    }
    tags.sort();
    if let Some(twice) = tags.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        let key = &twice[0].0;
        let detail = format!(
            "the tag {} is in the line twice; send it once",
            excerpt(key)
        );
        return Err(Fault::new(RejectCode::DuplicateField, Some(key), detail));
    }
    Ok(Series { measurement, tags })
}

/// Where the line at `start` ends, its line end included, by its quotes where
/// they are sound, else at the first line end.
pub(super) fn end_of_line(text: &[u8], start: usize) -> usize {
    let physical = physical_from(text, start);
    match sound_end(text, start) {
        RowEnd::At(end) => end.max(physical),
        _ => physical,
    }
}

/// Where the line at `start` ends, its line end included, by its quotes.
pub(super) fn sound_end(text: &[u8], start: usize) -> RowEnd {
    let mut at = end_of_series(text, start);
    while text.get(at) == Some(&b' ') {
        at += 1;
    }
    // Only a quote right behind the `=` of a field begins a text.
    loop {
        at = end_of(text, at, KEY);
        if text.get(at) != Some(&b'=') {
            return RowEnd::At(physical_from(text, at));
        }
        at += 1;
        if text.get(at) == Some(&b'"') {
            match end_of_string(text, at + 1) {
                Some(end) => at = end + 1,
                None => return RowEnd::Open,
            }
            match text.get(at) {
                None | Some(b' ' | b'\n' | b'\r' | b',') => {}
                Some(_) => return RowEnd::Unsound(at),
            }
        } else {
            while text
                .get(at)
                .is_some_and(|b| !matches!(b, b',' | b' ' | b'\n'))
            {
                at += 1;
            }
        }
        if text.get(at) != Some(&b',') {
            return RowEnd::At(physical_from(text, at));
        }
        at += 1;
    }
}

/// Behind the first line end from `at` on.
fn physical_from(text: &[u8], at: usize) -> usize {
    let end = text.get(at..).and_then(|rest| memchr::memchr(b'\n', rest));
    end.map_or(text.len(), |end| at + end + 1)
}
