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
