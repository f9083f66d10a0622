//! The record of a sensor's recent readings.

use super::bytes::{open, put_text, put_varint, put_zigzag, seal};
use super::damage::Damage;
use super::fields::{instant, put_version, read_measure, read_version};
use crate::model::{MeasureName, RecentReading};
use crate::store::{RecordVersion, StoredRecent};

const FORMAT: u8 = 1;

/// The bytes of `readings` at `version`.
pub(super) fn encode(version: RecordVersion, readings: &[RecentReading]) -> Vec<u8> {
    let mut out = vec![FORMAT];
    put_version(&mut out, version);
    let mut measures: Vec<&MeasureName> = Vec::new();
    for (name, _) in readings.iter().flat_map(|reading| &reading.values) {
        if !measures.contains(&name) {
            measures.push(name);
        }
    }
    put_varint(&mut out, measures.len() as u64);
    for name in &measures {
        put_text(&mut out, name.as_str());
    }
    put_varint(&mut out, readings.len() as u64);
    let mut before = 0;
    for reading in readings {
        // Both lie within the years 0001 to 9999: the difference fits.
        put_zigzag(&mut out, reading.at.get() - before);
        before = reading.at.get();
        put_varint(&mut out, reading.values.len() as u64);
        for (name, value) in &reading.values {
            let number = measures.iter().position(|known| *known == name);
            put_varint(&mut out, number.unwrap_or_default() as u64);
            out.extend_from_slice(&value.to_le_bytes());
        }
    }
    seal(&mut out);
    out
}

pub(super) fn decode(record: &[u8]) -> Result<StoredRecent, Damage> {
    let (format, mut reader) = open(record)?;
    if format != FORMAT {
        return Err(Damage::UnknownFormat(format));
    }
    let version = read_version(&mut reader)?;
    let mut measures = Vec::new();
    for _ in 0..reader.count()? {
        measures.push(read_measure(&mut reader)?);
    }
    let mut readings = Vec::new();
    let mut before: i64 = 0;
    for _ in 0..reader.count()? {
        before = before.saturating_add(reader.zigzag()?);
        let mut values = Vec::new();
        for _ in 0..reader.count()? {
            let number = usize::try_from(reader.varint()?).ok();
            let name = number.and_then(|number| measures.get(number)).cloned();
            let name = name.ok_or(Damage::Invalid("a value in it is of no measure it names"))?;
            values.push((name, reader.f64()?));
        }
        readings.push(RecentReading {
            at: instant(before)?,
            values,
        });
    }
    reader.end()?;
    Ok(StoredRecent {
        version: Some(version),
        readings,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::store::embedded::bytes::unseal;
    use crate::store::embedded::tests::samples::stored_recent;

    proptest! {
        #[test]
        fn recent_readings_come_back(recent in stored_recent()) {
            let record = encode(recent.version.unwrap(), &recent.readings);
            prop_assert_eq!(decode(&record), Ok(recent));
        }

        #[test]
        fn mutated_bytes_with_a_right_checksum_never_panic(
            recent in stored_recent(),
            at: prop::sample::Index,
            byte: u8,
        ) {
            let record = encode(recent.version.unwrap(), &recent.readings);
            let mut body = unseal(&record).unwrap().to_vec();
            let at = at.index(body.len());
            body[at] = byte;
            seal(&mut body);
            if let Ok(read) = decode(&body) {
                prop_assert!(read.readings.len() <= body.len());
            }
        }
    }
}
