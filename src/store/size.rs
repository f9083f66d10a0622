//! How large a bucket's BSON document gets: upper bounds from names and counts
//! alone, so that the caller closes a part before it outgrows its bound.
//!
//! The layout is that of <https://bsonspec.org/spec.html>: an element is a type
//! byte, its name, a nul and its value; a document is four bytes of length, its
//! elements and a nul.

use crate::bucket::Element;
use crate::model::{BucketKey, MeasureName, escape_field, escape_id, sum_field};

/// More bytes than any document of a part has: `store.part_bytes_max` is 8 MiB at
/// most, and only a single element may go beyond it, of 256 measures at most.
pub const PART_BYTES_LARGEST: usize = 9 << 20;

/// Type byte and the nul behind the name.
const ELEMENT: usize = 2;
/// Length and the nul at the end.
const DOCUMENT: usize = 5;
/// A double or a 64-bit integer, and the most that a number takes.
const NUMBER: usize = 8;
/// Digits of an array index: a document of 16 MB holds fewer than 10^7 elements.
const INDEX_DIGITS: usize = 7;

/// Most bytes that `element` adds to the document of its bucket, computed
/// fields not included: those are [`document_overhead`].
#[must_use]
pub fn element_bytes(element: Element<'_>) -> usize {
    let sec = ELEMENT + "sec".len() + NUMBER;
    let values: usize = element
        .values()
        .map(|(name, _)| ELEMENT + escape_field(name).len() + NUMBER)
        .sum();
    ELEMENT + INDEX_DIGITS + DOCUMENT + sec + values
}

/// Most bytes of the document of a bucket without any reading, where readings
/// of `measures` are in it: keys, version, sums and computed fields.
#[must_use]
pub fn document_overhead<'m>(
    key: &BucketKey,
    measures: impl IntoIterator<Item = &'m MeasureName>,
) -> usize {
    let string = |bytes: usize| 4 + bytes + 1;
    let id = escape_id(&key.sensor).len() + "|2026-05-01T10#4294967295".len();
    let fixed = DOCUMENT
        + named("_id", string(id))
        + named("sensorId", string(key.sensor.as_str().len()))
        + named("hour", NUMBER)
        + named("part", NUMBER)
        + named("rev", NUMBER)
        + named("by", NUMBER)
        + named("count", NUMBER)
        + named("readings", DOCUMENT)
        + named("computed", DOCUMENT)
        + named("full", 1);
    let stats = DOCUMENT
        + named("count", NUMBER)
        + named("sum", NUMBER)
        + named("min", NUMBER)
        + named("max", NUMBER);
    measures.into_iter().fold(fixed, |bytes, name| {
        bytes + named(&sum_field(name), NUMBER) + named(&escape_field(name), stats)
    })
}

fn named(name: &str, value: usize) -> usize {
    ELEMENT + name.len() + value
}
