//! The small records: one an hour, one a sensor.

use super::bytes::{Reader, put_block, put_varint, put_zigzag, seal, unseal};
use super::damage::Damage;
use crate::bucket::{Computed, Stats, Sum};
use crate::model::{MeasureName, Micros};
use crate::store::BucketVersion;

/// The format of both records that this version writes.
const FORMAT: u8 = 1;

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
        let mut out = vec![FORMAT];
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
        let mut reader = open(record)?;
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

/// The record of a sensor: when it was last heard of.
pub(super) fn encode_seen(last_seen: Micros) -> Vec<u8> {
    let mut out = vec![FORMAT];
    out.extend_from_slice(&last_seen.get().to_le_bytes());
    seal(&mut out);
    out
}

/// Reads what [`encode_seen`] wrote.
pub(super) fn decode_seen(record: &[u8]) -> Result<Micros, Damage> {
    let mut reader = open(record)?;
    let micros = reader.i64()?;
    reader.end()?;
    Micros::new(micros).map_err(|_| Damage::Invalid("its time is beyond the years 0001 to 9999"))
}

fn open(record: &[u8]) -> Result<Reader<'_>, Damage> {
    let mut reader = Reader::new(unseal(record)?);
    match reader.byte()? {
        FORMAT => Ok(reader),
        format => Err(Damage::UnknownFormat(format)),
    }
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
        let mut bytes = vec![2, 0, 0];
        seal(&mut bytes);
        assert_eq!(HourRecord::decode(&bytes), Err(Damage::UnknownFormat(2)));
        assert_eq!(decode_seen(&bytes), Err(Damage::UnknownFormat(2)));
    }

    #[test]
    fn the_time_of_a_sensor_comes_back() {
        for micros in [Micros::MIN, Micros::MAX] {
            assert_eq!(decode_seen(&encode_seen(micros)), Ok(micros));
        }
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
