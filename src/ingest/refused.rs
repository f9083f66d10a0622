//! The text of refused items, from the body they came in.

use std::net::SocketAddr;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::Format;
use crate::decode::{DecodedDatagrams, Rejections, TextOnly};
use crate::model::{Micros, Rejection};
use crate::quarantine::{RefusedItem, RefusedSource};

const JSON: &str = "json";
const CSV: &str = "csv";
const LINE_PROTOCOL: &str = "line-protocol";

/// A JSON body that wraps its items.
#[derive(Deserialize)]
struct Wrapped<'a> {
    #[serde(borrow)]
    readings: Vec<&'a RawValue>,
}

fn refused(
    rejection: &Rejection,
    received_at: Micros,
    source: RefusedSource,
    format: &'static str,
) -> RefusedItem {
    RefusedItem {
        received_at,
        source,
        format,
        reason: rejection.code,
        detail: rejection.detail.clone(),
        field: rejection.field.clone(),
        index: rejection.index,
        line: rejection.line,
        header: None,
        item: String::new(),
        cut: false,
    }
}

/// The refused items of a body, with their texts.
pub(super) fn of_body(
    body: &[u8],
    format: &Format,
    rejections: &Rejections,
    received_at: Micros,
) -> Vec<RefusedItem> {
    let (source, name) = match format {
        Format::Json | Format::NdJson => (RefusedSource::Readings, JSON),
        Format::Csv(_) => (RefusedSource::Readings, CSV),
        // Only the imitated endpoints let text fields pass.
        Format::LineProtocol(TextOnly::Skip) => (RefusedSource::Write, LINE_PROTOCOL),
        Format::LineProtocol(TextOnly::Refuse) => (RefusedSource::Readings, LINE_PROTOCOL),
    };
    let items = match format {
        Format::Json => json_items(body),
        _ => Vec::new(),
    };
    let mut lines = Lines::new(body);
    let header = matches!(format, Format::Csv(_)).then(|| Lines::new(body).line(1));
    let header = header
        .flatten()
        .map(|line| String::from_utf8_lossy(line).into_owned());
    let item = |rejection: &Rejection| {
        let text = match rejection.line {
            Some(line) => lines.line(line),
            None => items.get(rejection.index as usize).copied(),
        };
        let mut item = refused(rejection, received_at, source, name);
        item.header.clone_from(&header);
        // A body of one item is that item.
        item.with_text(text.unwrap_or(body))
    };
    rejections.kept().iter().map(item).collect()
}

/// The refused items of datagrams: each the whole datagram.
pub(super) fn of_datagrams(
    all: &DecodedDatagrams,
    datagram: impl Fn(usize) -> Option<(Vec<u8>, Option<SocketAddr>)>,
    received_at: Micros,
) -> Vec<RefusedItem> {
    let rejections = all.decoded.rejections.kept().iter();
    let item = |(rejection, place): (&Rejection, &usize)| {
        let (bytes, sender) = datagram(*place)?;
        let is_json = matches!(bytes.trim_ascii_start().first(), Some(b'{' | b'['));
        let format = if is_json { JSON } else { LINE_PROTOCOL };
        let source = RefusedSource::Udp(sender);
        Some(refused(rejection, received_at, source, format).with_text(&bytes))
    };
    rejections.zip(&all.refused_in).filter_map(item).collect()
}

fn json_items(body: &[u8]) -> Vec<&[u8]> {
    let body = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body);
    let items: Vec<&RawValue> = serde_json::from_slice(body)
        .or_else(|_| serde_json::from_slice(body).map(|wrapped: Wrapped<'_>| wrapped.readings))
        .unwrap_or_default();
    items.iter().map(|item| item.get().as_bytes()).collect()
}

/// Lines of a body, asked for in rising order.
struct Lines<'a> {
    rest: &'a [u8],
    number: u64,
}

impl<'a> Lines<'a> {
    fn new(body: &'a [u8]) -> Self {
        Self {
            rest: body,
            number: 1,
        }
    }

    /// Line `number`, from 1.
    fn line(&mut self, number: u64) -> Option<&'a [u8]> {
        while self.number < number {
            let end = memchr::memchr(b'\n', self.rest)?;
            self.rest = &self.rest[end + 1..];
            self.number += 1;
        }
        let end = memchr::memchr(b'\n', self.rest).unwrap_or(self.rest.len());
        (self.number == number).then(|| &self.rest[..end])
    }
}
