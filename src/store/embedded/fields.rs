//! Fields that records of several kinds hold.

use super::bytes::{Reader, put_text, put_varint, put_zigzag};
use super::damage::Damage;
use crate::model::{Keep, MeasureName, Micros, Retention};
use crate::store::RecordVersion;

const KEEP_AS_WIDER: u8 = 0;
const KEEP_FOREVER: u8 = 1;
const KEEP_SECONDS: u8 = 2;

pub(super) fn read_measure(reader: &mut Reader<'_>) -> Result<MeasureName, Damage> {
    MeasureName::new(reader.text()?).map_err(|_| Damage::Invalid("it names no legal measure"))
}

/// An instant that is `micros` after the epoch.
pub(super) fn instant(micros: i64) -> Result<Micros, Damage> {
    Micros::new(micros)
        .map_err(|_| Damage::Invalid("a time in it is beyond the years 0001 to 9999"))
}

pub(super) fn put_optional_text(out: &mut Vec<u8>, text: Option<&str>) {
    super::bytes::put_optional(out, text, put_text);
}

pub(super) fn read_optional_text(reader: &mut Reader<'_>) -> Result<Option<Box<str>>, Damage> {
    reader.optional(|reader| Ok(reader.text()?.into()))
}

pub(super) fn put_version(out: &mut Vec<u8>, version: RecordVersion) {
    put_zigzag(out, version.rev);
    out.extend_from_slice(&version.by.to_le_bytes());
}

pub(super) fn read_version(reader: &mut Reader<'_>) -> Result<RecordVersion, Damage> {
    Ok(RecordVersion {
        rev: reader.zigzag()?,
        by: reader.i64()?,
    })
}

pub(super) fn put_retention(out: &mut Vec<u8>, retention: Retention) {
    for keep in [retention.hours, retention.readings] {
        match keep {
            None => out.push(KEEP_AS_WIDER),
            Some(Keep::Forever) => out.push(KEEP_FOREVER),
            Some(Keep::Seconds(seconds)) => {
                out.push(KEEP_SECONDS);
                put_varint(out, seconds);
            }
        }
    }
}

pub(super) fn read_retention(reader: &mut Reader<'_>) -> Result<Retention, Damage> {
    let mut keep = || match reader.byte()? {
        KEEP_AS_WIDER => Ok(None),
        KEEP_FOREVER => Ok(Some(Keep::Forever)),
        KEEP_SECONDS => Ok(Some(Keep::Seconds(reader.varint()?))),
        _ => Err(Damage::Invalid("it has a retention of no known kind")),
    };
    Ok(Retention {
        hours: keep()?,
        readings: keep()?,
    })
}
