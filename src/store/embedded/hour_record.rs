//! The record of an hour: version, counts, computed fields.

use super::bytes::{open, put_text, put_varint, put_zigzag, seal};
use super::damage::Damage;
use super::fields::read_measure;
use crate::bucket::{Computed, Stats, Sum};
use crate::store::BucketVersion;

/// The format of an hour that has its readings.
const FORMAT: u8 = 1;

/// The format of an hour whose readings were dropped: it counts no chunks.
const FORMAT_RAW_DROPPED: u8 = 2;

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
    /// Whether its readings were dropped: then it has no elements and no chunks,
    /// and gets none.
    pub(super) raw_dropped: bool,
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
        let mut out = vec![if self.raw_dropped {
            FORMAT_RAW_DROPPED
        } else {
            FORMAT
        }];
        put_zigzag(&mut out, self.rev);
        out.extend_from_slice(&self.by.to_le_bytes());
        if !self.raw_dropped {
            for number in [self.elements, self.chunks, self.open_chunks] {
                put_varint(&mut out, number);
            }
        }
        put_varint(&mut out, self.computed.count);
        put_varint(&mut out, self.computed.measures.len() as u64);
        for (name, stats) in &self.computed.measures {
            put_text(&mut out, name.as_str());
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
        let (format, mut reader) = open(record)?;
        let raw_dropped = match format {
            FORMAT => false,
            FORMAT_RAW_DROPPED => true,
            other => return Err(Damage::UnknownFormat(other)),
        };
        let mut hour = Self {
            rev: reader.zigzag()?,
            by: reader.i64()?,
            elements: 0,
            chunks: 0,
            open_chunks: 0,
            raw_dropped,
            computed: Computed::default(),
        };
        if !raw_dropped {
            hour.elements = reader.varint()?;
            hour.chunks = reader.varint()?;
            hour.open_chunks = reader.varint()?;
        }
        hour.computed.count = reader.varint()?;
        for _ in 0..reader.count()? {
            let name = read_measure(&mut reader)?;
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    use crate::model::MeasureName;
    use crate::store::embedded::bytes::unseal;

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
            raw_dropped: false,
            computed,
        }
    }

    #[test]
    fn another_format_is_told_by_its_number() {
        let mut bytes = vec![3, 0, 0];
        seal(&mut bytes);
        assert_eq!(HourRecord::decode(&bytes), Err(Damage::UnknownFormat(3)));
    }

    proptest! {
        /// Sums with what rounding lost included.
        #[test]
        fn hour_records_come_back(values in prop::collection::vec(-1e300f64..1e300, 0..20)) {
            let record = record(&values);
            let dropped = HourRecord {
                elements: 0,
                chunks: 0,
                open_chunks: 0,
                raw_dropped: true,
                ..record.clone()
            };
            for record in [record, dropped] {
                prop_assert_eq!(HourRecord::decode(&record.encode()), Ok(record));
            }
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
