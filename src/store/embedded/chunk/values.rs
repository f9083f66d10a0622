//! A column of values: those of one measure, in order of arrival.

use super::super::bytes::{Reader, put_zigzag};
use super::super::damage::Damage;
use super::layout::Layout;
use super::{PACK_ENTRIES_MIN, packed};
use crate::bucket::Elements;

/// Scaled decimals, deltas as zigzag varints.
const SCALED: u8 = 0;
/// Doubles, 8 bytes each.
const RAW: u8 = 1;
/// Scaled decimals packed with `pco`.
const SCALED_PACKED: u8 = 2;
/// Doubles packed with `pco`.
const RAW_PACKED: u8 = 3;

/// Powers of ten that a column is tried with. Sensors give up to 6 decimals;
/// 9 let single-precision values that were printed and read again scale, too.
const SCALES: [f64; 10] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

/// Up to here every integer is a double.
const SCALED_MAX: f64 = (1u64 << 53) as f64;

/// The values of each measure, in the order of the names.
pub(super) fn columns(elements: &Elements, layout: &Layout) -> Vec<Vec<f64>> {
    if let Some(columns) = elements.columns(0, elements.len()) {
        return columns.map(|(_, column)| column.collect()).collect();
    }
    let entries = layout.entries_by_measure(elements.names().len());
    let mut columns: Vec<Vec<f64>> = entries.into_iter().map(Vec::with_capacity).collect();
    let shapes = layout
        .runs()
        .flat_map(|(shape, run)| std::iter::repeat_n(shape, run));
    for (element, shape) in elements.iter().zip(shapes) {
        for ((_, value), measure) in element.values().zip(shape) {
            columns[*measure as usize].push(value);
        }
    }
    columns
}

/// `value` x 10^exponent as an integer, if that gives the value back bit for bit.
fn scale(value: f64, exponent: usize) -> Option<i64> {
    let scaled = (value * SCALES[exponent]).round();
    if scaled.abs() > SCALED_MAX {
        return None;
    }
    let integer = scaled as i64;
    (unscale(integer, exponent).to_bits() == value.to_bits()).then_some(integer)
}

fn unscale(integer: i64, exponent: usize) -> f64 {
    integer as f64 / SCALES[exponent]
}

/// The smallest exponent that scales the whole column, and the integers.
fn scale_all(column: &[f64]) -> Option<(usize, Vec<i64>)> {
    let mut exponent = 0;
    // What a value needs, the column needs; so the exponent only ever grows.
    for value in column {
        exponent = (exponent..SCALES.len()).find(|e| scale(*value, *e).is_some())?;
    }
    let integers: Option<Vec<i64>> = column.iter().map(|v| scale(*v, exponent)).collect();
    integers.map(|integers| (exponent, integers))
}

/// Appends the column: kind, exponent where scaled, values.
pub(super) fn encode(out: &mut Vec<u8>, column: &[f64]) {
    let start = out.len();
    let scaled = scale_all(column);
    match &scaled {
        Some((exponent, integers)) => {
            out.extend([SCALED, *exponent as u8]);
            let mut last = 0;
            for integer in integers {
                put_zigzag(out, integer - last);
                last = *integer;
            }
        }
        None => {
            out.push(RAW);
            out.extend(column.iter().flat_map(|value| value.to_le_bytes()));
        }
    }
    if column.len() < PACK_ENTRIES_MIN {
        return;
    }
    let mut other = Vec::new();
    let packed = match &scaled {
        Some((exponent, integers)) => {
            other.extend([SCALED_PACKED, *exponent as u8]);
            packed::encode(&mut other, integers)
        }
        None => {
            other.push(RAW_PACKED);
            packed::encode(&mut other, column)
        }
    };
    if packed && other.len() < out.len() - start {
        out.truncate(start);
        out.extend_from_slice(&other);
    }
}

/// Reads a column of `entries` values.
pub(super) fn decode(reader: &mut Reader<'_>, entries: usize) -> Result<Vec<f64>, Damage> {
    let kind = reader.byte()?;
    let mut exponent = || match usize::from(reader.byte()?) {
        exponent if exponent < SCALES.len() => Ok(exponent),
        _ => Err(Damage::Invalid("a column of values has an unknown scale")),
    };
    match kind {
        SCALED => {
            let exponent = exponent()?;
            if entries > reader.left() {
                return Err(Damage::Truncated);
            }
            let mut last = 0i64;
            let mut next = || {
                last = last.wrapping_add(reader.zigzag()?);
                Ok(unscale(last, exponent))
            };
            (0..entries).map(|_| next()).collect()
        }
        RAW => {
            if entries > reader.left() / 8 {
                return Err(Damage::Truncated);
            }
            (0..entries).map(|_| reader.f64()).collect()
        }
        SCALED_PACKED => {
            let exponent = exponent()?;
            let integers: Vec<i64> = packed::decode(reader, entries)?;
            Ok(integers.into_iter().map(|i| unscale(i, exponent)).collect())
        }
        RAW_PACKED => packed::decode(reader, entries),
        _ => Err(Damage::Invalid("a column of values is of an unknown kind")),
    }
}
