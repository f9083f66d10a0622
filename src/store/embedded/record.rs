//! The small records: one an hour, one a sensor.

use super::bytes::{Reader, put_block, put_varint, put_zigzag, seal, unseal};
use super::damage::Damage;
use crate::bucket::{Computed, Stats, Sum};
use crate::model::{MeasureName, Micros, Tags};
use crate::store::BucketVersion;

/// The format of hour records.
const HOUR_FORMAT: u8 = 1;

/// The first format of sensor records: without attributes.
const SENSOR_FORMAT_BARE: u8 = 1;

/// The format of sensor records that this version writes.
const SENSOR_FORMAT: u8 = 2;

/// What is kept of an hour beside its chunks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HourRecord {
    /// Updates so far.
    pub(super) rev: i64,
    /// Who made the last one.
    pub(super) by: i64,
    /// Elements over all chunks.
    pub(super) elements: u64,
    /// Number of chunks.
    pub(super) chunks: u64,
    /// How many of them, at the end, the next merge takes.
    pub(super) open_chunks: u64,
    /// The computed fields.
    pub(super) computed: Computed,
}

impl HourRecord {
    /// The version of the bucket; parts are no matter of this store.
    pub(super) fn version(&self) -> BucketVersion {
        BucketVersion {
            part: 0,
            rev: self.rev,
            by: self.by,
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = vec![HOUR_FORMAT];
        put_zigzag(&mut out, self.rev);
        out.extend_from_slice(&self.by.to_le_bytes());
        for number in [self.elements, self.chunks, self.open_chunks] {
            put_varint(&mut out, number);
        }
        put_varint(&mut out, self.computed.count);
        put_varint(&mut out, self.computed.measures.len() as u64);
        for (name, stats) in &self.computed.measures {
            put_block(&mut out, name.as_str().as_bytes());
            put_varint(&mut out, stats.count);
            let (total, lost) = stats.sum.parts();
            for number in [total, lost, stats.min, stats.max] {
                out.extend_from_slice(&number.to_le_bytes());
            }
        }
        seal(&mut out);
        out
    }

    pub(super) fn decode(record: &[u8]) -> Result<Self, Damage> {
        let mut reader = match open(record)? {
            (HOUR_FORMAT, reader) => reader,
            (format, _) => return Err(Damage::UnknownFormat(format)),
        };
        let mut hour = Self {
            rev: reader.zigzag()?,
            by: reader.i64()?,
            elements: reader.varint()?,
            chunks: reader.varint()?,
            open_chunks: reader.varint()?,
            computed: Computed {
                count: reader.varint()?,
                ..Computed::default()
            },
        };
        for _ in 0..reader.count()? {
            let name = std::str::from_utf8(reader.block()?).ok();
            let name = name.and_then(|text| MeasureName::new(text).ok());
            let name = name.ok_or(Damage::Invalid("it names no legal measure"))?;
            let stats = Stats {
                count: reader.varint()?,
                sum: Sum::from_parts(reader.f64()?, reader.f64()?),
                min: reader.f64()?,
                max: reader.f64()?,
            };
            hour.computed.measures.insert(name, stats);
        }
        reader.end()?;
        Ok(hour)
    }
}

/// What is kept of a sensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SensorRecord {
    /// When it was last heard of.
    pub(super) last_seen: Micros,
    /// Its attributes.
    pub(super) attributes: Tags,
}

impl SensorRecord {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = vec![SENSOR_FORMAT];
        out.extend_from_slice(&self.last_seen.get().to_le_bytes());
        put_varint(&mut out, self.attributes.len() as u64);
        for (key, value) in self.attributes.iter() {
            put_block(&mut out, key.as_bytes());
            put_block(&mut out, value.as_bytes());
        }
        seal(&mut out);
        out
    }

    pub(super) fn decode(record: &[u8]) -> Result<Self, Damage> {
        let (format, mut reader) = open(record)?;
        if !matches!(format, SENSOR_FORMAT_BARE | SENSOR_FORMAT) {
            return Err(Damage::UnknownFormat(format));
        }
        let last_seen = Micros::new(reader.i64()?)
            .map_err(|_| Damage::Invalid("its time is beyond the years 0001 to 9999"))?;
        let mut attributes = Vec::new();
        if format == SENSOR_FORMAT {
            for _ in 0..reader.count()? {
                attributes.push((text(reader.block()?)?, text(reader.block()?)?));
            }
        }
        reader.end()?;
        Ok(Self {
            last_seen,
            attributes: Tags::new(attributes),
        })
    }
}

fn text(block: &[u8]) -> Result<&str, Damage> {
    std::str::from_utf8(block).map_err(|_| Damage::Invalid("an attribute is not UTF-8"))
}

/// The format of a sound record, and what is behind it.
fn open(record: &[u8]) -> Result<(u8, Reader<'_>), Damage> {
    let mut reader = Reader::new(unseal(record)?);
    Ok((reader.byte()?, reader))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn record(values: &[f64]) -> HourRecord {
        let mut computed = Computed {
            count: values.len() as u64,
            ..Computed::default()
        };
        for (at, value) in values.iter().enumerate() {
            let name = MeasureName::new(["sec", "a.b", "🌡"][at % 3]).unwrap();
            let stats = computed.measures.entry(name);
            stats
                .and_modify(|stats| stats.add(*value))
                .or_insert_with(|| Stats::of(*value));
        }
        HourRecord {
            rev: 12,
            by: i64::MIN,
            elements: 300,
            chunks: 7,
            open_chunks: 3,
            computed,
        }
    }

    #[test]
    fn another_format_is_told_by_its_number() {
        let mut bytes = vec![3, 0, 0];
        seal(&mut bytes);
        assert_eq!(HourRecord::decode(&bytes), Err(Damage::UnknownFormat(3)));
        assert_eq!(SensorRecord::decode(&bytes), Err(Damage::UnknownFormat(3)));
    }

    #[test]
    fn a_sensor_comes_back_with_its_attributes() {
        for last_seen in [Micros::MIN, Micros::MAX] {
            for tags in [vec![], vec![("room", "4b"), ("é", ""), ("a.b", "$x")]] {
                let record = SensorRecord {
                    last_seen,
                    attributes: Tags::new(tags),
                };
                assert_eq!(SensorRecord::decode(&record.encode()), Ok(record));
            }
        }
    }

    /// As they were written before there were attributes.
    #[test]
    fn a_sensor_record_of_format_1_is_read() {
        let bytes = [
            0x01, 0x00, 0xa8, 0xd9, 0xa4, 0xbe, 0x50, 0x06, 0x00, 0x33, 0x0e, 0x52, 0x81,
        ];
        let record = SensorRecord {
            last_seen: Micros::new(1_777_629_600_000_000).unwrap(),
            attributes: Tags::default(),
        };
        assert_eq!(SensorRecord::decode(&bytes), Ok(record));
    }

    proptest! {
        /// Sums with what rounding lost included.
        #[test]
        fn hour_records_come_back(values in prop::collection::vec(-1e300f64..1e300, 0..20)) {
            let record = record(&values);
            prop_assert_eq!(HourRecord::decode(&record.encode()), Ok(record));
        }

        #[test]
        fn mutated_bytes_with_a_right_checksum_never_panic(
            at: prop::sample::Index,
            byte: u8,
            cut: prop::sample::Index,
        ) {
            let bytes = record(&[1.5, 2.5, -0.0, 4.0]).encode();
            let mut body = unseal(&bytes).unwrap().to_vec();
            let at = at.index(body.len());
            body[at] = byte;
            let mut cut_off = body[..cut.index(body.len())].to_vec();
            seal(&mut body);
            seal(&mut cut_off);
            prop_assert!(HourRecord::decode(&cut_off).is_err());
            if let Ok(read) = HourRecord::decode(&body) {
                prop_assert!(read.computed.measures.len() <= 3);
            }
        }
    }
}
