//! The column of instants: microseconds into the hour, in order of arrival.

use super::super::bytes::{Reader, put_varint, put_zigzag};
use super::super::damage::Damage;
use super::{PACK_ENTRIES_MIN, packed};

/// First instant and one step.
const REGULAR: u8 = 0;
/// Delta of delta as zigzag varints.
const DELTA: u8 = 1;
/// Packed with `pco`.
const PACKED: u8 = 2;

/// Last microsecond of an hour.
const OFFSET_MAX: u32 = 3_599_999_999;

/// Devices report in whole units of 10^k microseconds, at most whole seconds.
const UNIT_EXPONENT_MAX: u32 = 6;

/// Appends the column: kind, exponent of the unit, then instants in that unit.
pub(super) fn encode(out: &mut Vec<u8>, offsets: &[u32]) {
    let exponent = (1..=UNIT_EXPONENT_MAX)
        .take_while(|e| offsets.iter().all(|at| at % 10u32.pow(*e) == 0))
        .last()
        .unwrap_or(0);
    let unit = 10u32.pow(exponent);
    let column: Vec<u32> = offsets.iter().map(|at| at / unit).collect();
    let start = out.len();

    let step = |pair: &[u32]| i64::from(pair[1]) - i64::from(pair[0]);
    let first_step = column.get(..2).map_or(0, step);
    if column.windows(2).all(|pair| step(pair) == first_step) {
        out.extend([REGULAR, exponent as u8]);
        put_varint(out, u64::from(column.first().copied().unwrap_or(0)));
        put_zigzag(out, first_step);
        return;
    }

    out.extend([DELTA, exponent as u8]);
    let (mut last, mut last_delta) = (0, 0);
    for at in &column {
        let delta = i64::from(*at) - last;
        put_zigzag(out, delta - last_delta);
        (last, last_delta) = (i64::from(*at), delta);
    }
    if column.len() >= PACK_ENTRIES_MIN {
        let mut other = vec![PACKED, exponent as u8];
        if packed::encode(&mut other, &column) && other.len() < out.len() - start {
            out.truncate(start);
            out.extend_from_slice(&other);
        }
    }
}

/// A decoded column.
#[derive(Debug)]
pub(super) enum Instants {
    /// Worked out when asked for, so that a damaged number of elements takes no
    /// memory.
    Regular {
        first: i64,
        step: i64,
    },
    Listed(Vec<u32>),
}

impl Instants {
    /// Instant `row` of those that [`decode`] was asked for.
    pub(super) fn at(&self, row: usize) -> Option<u32> {
        match self {
            Self::Regular { first, step } => u32::try_from(first + step * row as i64).ok(),
            Self::Listed(offsets) => offsets.get(row).copied(),
        }
    }
}

/// Reads a column of `rows` instants, below 2^32.
pub(super) fn decode(reader: &mut Reader<'_>, rows: usize) -> Result<Instants, Damage> {
    let kind = reader.byte()?;
    let exponent = u32::from(reader.byte()?);
    if exponent > UNIT_EXPONENT_MAX {
        return Err(Damage::Invalid("its instants have an unknown unit"));
    }
    let unit = 10i64.pow(exponent);
    let offset = |at: i64| {
        let micros = at.checked_mul(unit).and_then(|at| u32::try_from(at).ok());
        micros
            .filter(|micros| *micros <= OFFSET_MAX)
            .ok_or(Damage::Invalid("an instant lies outside its hour"))
    };
    match kind {
        REGULAR => {
            let first = offset(i64::try_from(reader.varint()?).unwrap_or(i64::MAX))?;
            let step = reader.zigzag()?;
            let last = (rows.max(1) as i64 - 1)
                .checked_mul(step)
                .and_then(|way| way.checked_add(i64::from(first) / unit));
            offset(last.unwrap_or(i64::MAX))?;
            Ok(Instants::Regular {
                first: i64::from(first),
                // Cannot overflow for two rows and more, as the last is in range.
                step: if rows > 1 { step * unit } else { 0 },
            })
        }
        DELTA => {
            if rows > reader.left() {
                return Err(Damage::Truncated);
            }
            let mut offsets = Vec::with_capacity(rows);
            let (mut last, mut last_delta) = (0i64, 0i64);
            for _ in 0..rows {
                last_delta = last_delta.wrapping_add(reader.zigzag()?);
                last = last.wrapping_add(last_delta);
                offsets.push(offset(last)?);
            }
            Ok(Instants::Listed(offsets))
        }
        PACKED => {
            let column: Vec<u32> = packed::decode(reader, rows)?;
            let offsets = column.into_iter().map(|at| offset(i64::from(at)));
            offsets.collect::<Result<_, _>>().map(Instants::Listed)
        }
        _ => Err(Damage::Invalid("its instants are of an unknown kind")),
    }
}
