//! The record of a sensor: all but its recent readings, which have a record of
//! their own so that lists do not read them.

use super::bytes::{Reader, open, put_optional, put_text, put_varint, put_zigzag, seal};
use super::damage::Damage;
use super::fields::{
    instant, put_optional_text, put_retention, put_version, read_measure, read_optional_text,
    read_retention, read_version,
};
use crate::model::{HourStart, SensorId, SiteCopy, SiteId, Tags};
use crate::store::StoredSensor;

/// The first format: the time alone.
const FORMAT_TIME: u8 = 1;

/// The second: time and attributes.
const FORMAT_ATTRIBUTES: u8 = 2;

/// The format that this version writes.
const FORMAT: u8 = 3;

/// The bytes of all but id and recent readings.
pub(super) fn encode(sensor: &StoredSensor) -> Vec<u8> {
    let details = &sensor.details;
    let mut out = vec![FORMAT];
    put_optional(&mut out, sensor.last_seen, |out, seen| {
        out.extend_from_slice(&seen.get().to_le_bytes());
    });
    put_varint(&mut out, sensor.attributes.len() as u64);
    for (key, text) in sensor.attributes.iter() {
        put_text(&mut out, key);
        put_text(&mut out, text);
        out.push(u8::from(details.attributes.get(key).is_some()));
    }
    put_optional(&mut out, sensor.version, put_version);
    put_optional_text(&mut out, details.name.as_deref());
    put_optional_text(&mut out, details.model.as_deref());
    put_varint(&mut out, details.units.len() as u64);
    for (measure, unit) in &details.units {
        put_text(&mut out, measure.as_str());
        put_text(&mut out, unit);
    }
    put_optional(&mut out, details.site.as_ref(), put_copy);
    put_retention(&mut out, details.retention);
    put_optional(&mut out, sensor.raw_dropped_before, |out, hour| {
        put_zigzag(out, hour.hours().into());
    });
    seal(&mut out);
    out
}

fn put_copy(out: &mut Vec<u8>, copy: &SiteCopy) {
    put_text(out, copy.id.as_str());
    put_optional_text(out, copy.name.as_deref());
    put_optional_text(out, copy.city.as_deref());
    put_zigzag(out, copy.rev);
}

/// Reads every format there was.
pub(super) fn decode(id: SensorId, record: &[u8]) -> Result<StoredSensor, Damage> {
    let (format, mut reader) = open(record)?;
    let reader = &mut reader;
    let mut sensor = StoredSensor::blank(id);
    match format {
        FORMAT_TIME => sensor.last_seen = Some(instant(reader.i64()?)?),
        FORMAT_ATTRIBUTES => {
            sensor.last_seen = Some(instant(reader.i64()?)?);
            let mut attributes = Vec::new();
            for _ in 0..reader.count()? {
                attributes.push((reader.text()?, reader.text()?));
            }
            sensor.attributes = Tags::new(attributes);
        }
        FORMAT => read(reader, &mut sensor)?,
        other => return Err(Damage::UnknownFormat(other)),
    }
    reader.end()?;
    Ok(sensor)
}

fn read(reader: &mut Reader<'_>, sensor: &mut StoredSensor) -> Result<(), Damage> {
    sensor.last_seen = reader.optional(|reader| instant(reader.i64()?))?;
    let (mut all, mut set) = (Vec::new(), Vec::new());
    for _ in 0..reader.count()? {
        let pair = (reader.text()?, reader.text()?);
        all.push(pair);
        if reader.byte()? != 0 {
            set.push(pair);
        }
    }
    sensor.attributes = Tags::new(all);
    sensor.version = reader.optional(read_version)?;
    let details = &mut sensor.details;
    details.attributes = Tags::new(set);
    details.name = read_optional_text(reader)?;
    details.model = read_optional_text(reader)?;
    for _ in 0..reader.count()? {
        let measure = read_measure(reader)?;
        details.units.insert(measure, reader.text()?.into());
    }
    details.site = reader.optional(read_copy)?;
    details.retention = read_retention(reader)?;
    sensor.raw_dropped_before = reader.optional(|reader| {
        let hours = i32::try_from(reader.zigzag()?);
        hours
            .map(HourStart::from_hours)
            .map_err(|_| Damage::Invalid("an hour in it is beyond the years 0001 to 9999"))
    })?;
    Ok(())
}

fn read_copy(reader: &mut Reader<'_>) -> Result<SiteCopy, Damage> {
    Ok(SiteCopy {
        id: SiteId::new(reader.text()?).map_err(|_| Damage::Invalid("it names no legal site"))?,
        name: read_optional_text(reader)?,
        city: read_optional_text(reader)?,
        rev: reader.zigzag()?,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::Micros;
    use crate::store::embedded::bytes::unseal;
    use crate::store::embedded::tests::samples::stored_sensor;

    fn heard_of(attributes: Tags) -> StoredSensor {
        StoredSensor {
            last_seen: Some(Micros::new(1_777_629_600_000_000).unwrap()),
            attributes,
            ..StoredSensor::blank(SensorId::new("S1").unwrap())
        }
    }

    /// As they were written before there were attributes.
    #[test]
    fn a_sensor_record_of_format_1_is_read() {
        let bytes = [
            0x01, 0x00, 0xa8, 0xd9, 0xa4, 0xbe, 0x50, 0x06, 0x00, 0x33, 0x0e, 0x52, 0x81,
        ];
        let expected = heard_of(Tags::default());
        assert_eq!(decode(expected.id.clone(), &bytes), Ok(expected));
    }

    /// As they were written before people could say anything.
    #[test]
    fn a_sensor_record_of_format_2_is_read() {
        let bytes = [
            0x02, 0x00, 0xa8, 0xd9, 0xa4, 0xbe, 0x50, 0x06, 0x00, 0x01, 0x04, 0x72, 0x6f, 0x6f,
            0x6d, 0x02, 0x34, 0x62, 0xc6, 0xa3, 0x52, 0x07,
        ];
        let expected = heard_of(Tags::new([("room", "4b")]));
        assert_eq!(decode(expected.id.clone(), &bytes), Ok(expected));
    }

    #[test]
    fn another_format_is_told_by_its_number() {
        let mut bytes = vec![4, 0, 0];
        seal(&mut bytes);
        let read = decode(SensorId::new("S1").unwrap(), &bytes);
        assert_eq!(read, Err(Damage::UnknownFormat(4)));
    }

    proptest! {
        #[test]
        fn sensors_come_back(sensor in stored_sensor()) {
            let record = encode(&sensor);
            prop_assert_eq!(decode(sensor.id.clone(), &record), Ok(sensor));
        }

        #[test]
        fn mutated_bytes_with_a_right_checksum_never_panic(
            sensor in stored_sensor(),
            at: prop::sample::Index,
            byte: u8,
            cut: prop::sample::Index,
        ) {
            let record = encode(&sensor);
            let mut body = unseal(&record).unwrap().to_vec();
            let mut cut_off = body[..cut.index(body.len())].to_vec();
            seal(&mut cut_off);
            prop_assert!(decode(sensor.id.clone(), &cut_off).is_err());
            let at = at.index(body.len());
            body[at] = byte;
            seal(&mut body);
            if let Ok(read) = decode(sensor.id, &body) {
                prop_assert!(read.attributes.len() <= body.len());
            }
        }
    }
}
