//! The array `readings`, written as bytes: a document for each reading, and a text
//! for its place, would be most of what a flush costs this process.

use ::mongodb::bson::raw::{CString, RawArrayBuf};
use ::mongodb::bson::{RawBson, RawDocumentBuf};

use super::document::{field, offset_to_sec};
use crate::bucket::Elements;
use crate::model::{MeasureName, escape_field};

/// Types of elements (bsonspec.org, version 1.1).
const DOUBLE: u8 = 0x01;
const DOCUMENT: u8 = 0x03;
const ARRAY: u8 = 0x04;
const INT32: u8 = 0x10;

/// Bytes of a reading of one measure with a short name: what is reserved.
const READING_BYTES: usize = 40;

/// `readings` in order of arrival.
pub(super) fn readings(elements: &Elements) -> RawArrayBuf {
    let names: Vec<(&MeasureName, CString)> = elements
        .names()
        .iter()
        .map(|name| (name, field(escape_field(name).into_owned())))
        .collect();
    let mut bytes = Vec::with_capacity(elements.len() * READING_BYTES + 64);
    let around = open(&mut bytes);
    bytes.push(ARRAY);
    bytes.extend_from_slice(b"readings\0");
    let array = open(&mut bytes);
    let mut place = Decimal::default();
    let mut guess = 0;
    for element in elements.iter() {
        bytes.push(DOCUMENT);
        bytes.extend_from_slice(place.text());
        bytes.push(0);
        place.advance();
        let reading = open(&mut bytes);
        push_sec(&mut bytes, element.offset);
        for (name, value) in element.values() {
            // Readings mostly carry their measures in one order: the name
            // after the last one is the best guess.
            if names.get(guess).is_none_or(|(n, _)| *n != name) {
                guess = names
                    .iter()
                    .position(|(n, _)| *n == name)
                    .expect("the names of elements hold every measure of theirs");
            }
            bytes.push(DOUBLE);
            bytes.extend_from_slice(names[guess].1.as_str().as_bytes());
            bytes.push(0);
            bytes.extend_from_slice(&value.to_le_bytes());
            guess = (guess + 1) % names.len();
        }
        close(&mut bytes, reading);
    }
    close(&mut bytes, array);
    close(&mut bytes, around);
    RawDocumentBuf::from_bytes(bytes)
        .expect("its length stands before it and a 0 behind it")
        .get_array("readings")
        .expect("it is the array just written")
        .to_owned()
}

fn push_sec(bytes: &mut Vec<u8>, offset: u32) {
    let (kind, number): (u8, &[u8]) = match offset_to_sec(offset) {
        RawBson::Int32(sec) => (INT32, &sec.to_le_bytes()),
        RawBson::Double(sec) => (DOUBLE, &sec.to_le_bytes()),
        other => unreachable!("seconds are a number, not {other:?}"),
    };
    bytes.push(kind);
    bytes.extend_from_slice(b"sec\0");
    bytes.extend_from_slice(number);
}

/// Begins a document; its length comes once it ends. Answers where it began.
fn open(bytes: &mut Vec<u8>) -> usize {
    bytes.extend_from_slice(&[0; 4]);
    bytes.len() - 4
}

fn close(bytes: &mut Vec<u8>, start: usize) {
    bytes.push(0);
    let length = i32::try_from(bytes.len() - start).expect("a part is far below 2 GiB");
    bytes[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

/// A number that counts up as text.
#[derive(Debug)]
struct Decimal(Vec<u8>);

impl Default for Decimal {
    fn default() -> Self {
        Self(b"0".to_vec())
    }
}

impl Decimal {
    fn text(&self) -> &[u8] {
        &self.0
    }

    fn advance(&mut self) {
        for digit in self.0.iter_mut().rev() {
            if *digit < b'9' {
                *digit += 1;
                return;
            }
            *digit = b'0';
        }
        self.0.insert(0, b'1');
    }
}

#[cfg(test)]
mod tests {
    use ::mongodb::bson::raw::cstr;
    use proptest::prelude::*;

    use super::*;

    /// The same by the library's own means.
    fn plain(elements: &Elements) -> RawArrayBuf {
        elements
            .iter()
            .map(|element| {
                let mut reading = RawDocumentBuf::new();
                reading.append(cstr!("sec"), offset_to_sec(element.offset));
                for (name, value) in element.values() {
                    reading.append(field(escape_field(name).into_owned()), value);
                }
                reading
            })
            .collect()
    }

    #[test]
    fn places_count_on_over_every_digit() {
        let mut place = Decimal::default();
        for n in 0..12_000 {
            assert_eq!(place.text(), n.to_string().as_bytes());
            place.advance();
        }
    }

    proptest! {
        #[test]
        fn the_bytes_are_those_of_the_library(
            readings in proptest::collection::vec(
                (0u32..3_600_000_000, 0u32..3600, any::<bool>(),
                 proptest::collection::vec((0usize..5, -1e300..1e300f64), 1..4)),
                0..150,
            )
        ) {
            let names = ["temp", "$x", "a.b", "sec", "ü"].map(|n| MeasureName::new(n).unwrap());
            let mut elements = Elements::default();
            for (micros, second, is_whole, values) in readings {
                let offset = if is_whole { second * 1_000_000 } else { micros };
                elements.push(offset, values.iter().map(|(n, v)| (&names[*n], *v)));
            }
            let array = super::readings(&elements);
            let expected = plain(&elements);
            prop_assert_eq!(array.as_bytes(), expected.as_bytes());
        }
    }
}
