//! What is logged: typed, versioned records.
//!
//! Byte layout in `docs/formats.md`. A kind or version that this build does not
//! know stops the start with a message; it is never skipped.

use std::sync::Arc;

use super::bytes::{Input, Malformed, put_text, put_varint, unzigzag, zigzag};
use crate::model::{Batch, MeasureName, Micros, Origin, SensorId, TimeRange};

const KIND_BATCH: u8 = 1;
/// Readings and nothing else.
const BATCH_VERSION: u8 = 1;
/// With a keyed answer, origins, or both.
const BATCH_VERSION_KEYED: u8 = 2;

/// Readings of a sensor that go.
const KIND_DELETION: u8 = 2;
/// A deletion that the store has done.
const KIND_DELETION_DONE: u8 = 3;
const DELETION_VERSION: u8 = 1;

/// Bytes of the digest of a body: SHA-256.
pub const DIGEST_BYTES: usize = 32;

/// The answer to a request that had an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyedAnswer {
    /// The key, as it came.
    pub key: Box<str>,
    /// Digest of what was asked.
    pub digest: [u8; DIGEST_BYTES],
    /// The answer, encoded by whoever gives it.
    pub answer: Box<[u8]>,
}

impl KeyedAnswer {
    /// Bytes it takes in memory, near enough to bound by.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.key.len() + self.answer.len()
    }
}

/// A record of the journal.
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    /// Readings that were received together.
    Batch {
        /// When they were received.
        received_at: Micros,
        /// The readings.
        batch: Batch,
        /// The answer to give again, where the request had a key.
        keyed: Option<Box<KeyedAnswer>>,
    },
    /// Readings of a sensor are deleted: those of records before this one, and
    /// those that the store has.
    Deletion {
        /// When it was asked for.
        received_at: Micros,
        /// Of which sensor.
        sensor: SensorId,
        /// Of which time.
        range: TimeRange,
    },
    /// The store has done a deletion: it is not done again.
    DeletionDone {
        /// Its sequence.
        deletion: u64,
    },
}

/// Why a record cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// Written by a newer build.
    #[error(
        "a record of kind {kind} version {version} is unknown to this build; \
         start the version of hourglass that wrote it"
    )]
    Unknown {
        /// The kind byte.
        kind: u8,
        /// The version byte.
        version: u8,
    },
    /// The bytes are not what the kind says.
    #[error("a record is malformed: {0}")]
    Malformed(&'static str),
}

impl From<Malformed> for RecordError {
    fn from(Malformed(what): Malformed) -> Self {
        Self::Malformed(what)
    }
}

impl Record {
    /// Kind, version and payload as bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Batch {
                received_at,
                batch,
                keyed,
            } => encode_batch(*received_at, batch, keyed.as_deref()),
            Self::Deletion {
                received_at,
                sensor,
                range,
            } => {
                let mut out = vec![KIND_DELETION, DELETION_VERSION];
                for instant in [received_at, &range.from, &range.to] {
                    out.extend(instant.get().to_le_bytes());
                }
                put_text(&mut out, sensor.as_str());
                out
            }
            Self::DeletionDone { deletion } => {
                let mut out = vec![KIND_DELETION_DONE, DELETION_VERSION];
                put_varint(&mut out, *deletion);
                out
            }
        }
    }

    /// Its readings, where it has any.
    #[must_use]
    pub fn batch(&self) -> Option<&Batch> {
        match self {
            Self::Batch { batch, .. } => Some(batch),
            Self::Deletion { .. } | Self::DeletionDone { .. } => None,
        }
    }

    /// Its readings and their values, in numbers.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        self.batch().map_or((0, 0), |batch| {
            (batch.len() as u64, batch.value_count() as u64)
        })
    }

    /// Reads what [`Record::encode`] wrote.
    ///
    /// # Errors
    /// [`RecordError`] where it is something else.
    pub fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        let mut input = Input::new(bytes);
        let (kind, version) = (input.u8()?, input.u8()?);
        match (kind, version) {
            (KIND_BATCH, BATCH_VERSION) => decode_batch(&mut input, false),
            (KIND_BATCH, BATCH_VERSION_KEYED) => decode_batch(&mut input, true),
            (KIND_DELETION, DELETION_VERSION) => decode_deletion(&mut input),
            (KIND_DELETION_DONE, DELETION_VERSION) => {
                let deletion = input.varint()?;
                ended(&input)?;
                Ok(Self::DeletionDone { deletion })
            }
            _ => Err(RecordError::Unknown { kind, version }),
        }
    }
}

fn encode_batch(received_at: Micros, batch: &Batch, keyed: Option<&KeyedAnswer>) -> Vec<u8> {
    let mut out = Vec::with_capacity(64 + batch.len() * 8 + batch.value_count() * 10);
    let is_plain = keyed.is_none() && batch.origins().is_empty();
    out.extend([
        KIND_BATCH,
        if is_plain {
            BATCH_VERSION
        } else {
            BATCH_VERSION_KEYED
        },
    ]);
    out.extend(received_at.get().to_le_bytes());
    if !is_plain {
        out.push(u8::from(keyed.is_some()));
        if let Some(keyed) = keyed {
            put_keyed(&mut out, keyed);
        }
        put_origins(&mut out, batch.origins());
    }
    let has_origins = !batch.origins().is_empty();
    put_varint(&mut out, batch.sensors().len() as u64);
    for sensor in batch.sensors() {
        put_text(&mut out, sensor.as_str());
    }
    put_varint(&mut out, batch.measures().len() as u64);
    for measure in batch.measures() {
        put_text(&mut out, measure.as_str());
    }
    put_varint(&mut out, batch.len() as u64);
    put_varint(&mut out, batch.value_count() as u64);
    let mut before = received_at.get();
    for reading in batch.readings() {
        put_varint(&mut out, u64::from(reading.sensor_index()));
        put_varint(&mut out, zigzag(reading.at().get().wrapping_sub(before)));
        before = reading.at().get();
        if has_origins {
            put_varint(
                &mut out,
                reading.origin_index().map_or(0, |o| u64::from(o) + 1),
            );
        }
        let values = reading.indexed_values();
        put_varint(&mut out, values.len() as u64);
        for (measure, value) in values {
            put_varint(&mut out, u64::from(measure));
            out.extend(value.to_bits().to_le_bytes());
        }
    }
    out
}

fn decode_batch(input: &mut Input<'_>, is_keyed: bool) -> Result<Record, RecordError> {
    let malformed = RecordError::Malformed;
    let received_at =
        Micros::new(input.i64()?).map_err(|_| malformed("time of receipt out of range"))?;
    let mut batch = Batch::default();
    let mut keyed = None;
    let mut origins = 0;
    if is_keyed {
        keyed = match input.u8()? {
            0 => None,
            1 => Some(Box::new(read_keyed(input)?)),
            _ => return Err(malformed("keyed or not")),
        };
        origins = read_origins(input, &mut batch)?;
    }
    let sensors = input.count(1)?;
    for _ in 0..sensors {
        let id = SensorId::new(input.text()?).map_err(|_| malformed("sensor id"))?;
        batch.add_sensor(id);
    }
    let measures = input.count(1)?;
    for _ in 0..measures {
        let name = MeasureName::new(input.text()?).map_err(|_| malformed("measure name"))?;
        batch.add_measure(name);
    }
    let readings = input.count(3)?;
    let values = input.varint()?;
    let mut before = received_at.get();
    for _ in 0..readings {
        let sensor = input.index(sensors)?;
        let at = before.wrapping_add(unzigzag(input.varint()?));
        before = at;
        let at = Micros::new(at).map_err(|_| malformed("instant out of range"))?;
        let origin = match origins {
            0 => None,
            origins => input.index(origins + 1)?.checked_sub(1),
        };
        for _ in 0..input.varint()? {
            let measure = input.index(measures)?;
            let value = f64::from_bits(input.u64()?);
            if !value.is_finite() {
                return Err(malformed("value not finite"));
            }
            batch.push_value(measure, value);
        }
        batch.finish_reading_from(sensor, at, origin);
    }
    if batch.value_count() as u64 != values || !input.is_empty() {
        return Err(malformed("length"));
    }
    Ok(Record::Batch {
        received_at,
        batch,
        keyed,
    })
}

fn decode_deletion(input: &mut Input<'_>) -> Result<Record, RecordError> {
    let malformed = RecordError::Malformed;
    let mut instant = || {
        let micros = input.i64()?;
        Micros::new(micros).map_err(|_| malformed("instant out of range"))
    };
    let (received_at, from, to) = (instant()?, instant()?, instant()?);
    let sensor = SensorId::new(input.text()?).map_err(|_| malformed("sensor id"))?;
    ended(input)?;
    Ok(Record::Deletion {
        received_at,
        sensor,
        range: TimeRange { from, to },
    })
}

fn ended(input: &Input<'_>) -> Result<(), RecordError> {
    match input.is_empty() {
        true => Ok(()),
        false => Err(RecordError::Malformed("length")),
    }
}

fn put_keyed(out: &mut Vec<u8>, keyed: &KeyedAnswer) {
    put_text(out, &keyed.key);
    out.extend(keyed.digest);
    put_varint(out, keyed.answer.len() as u64);
    out.extend(&keyed.answer);
}

fn read_keyed(input: &mut Input<'_>) -> Result<KeyedAnswer, RecordError> {
    let key = input.text()?.into();
    let mut digest = [0; DIGEST_BYTES];
    digest.copy_from_slice(input.take(DIGEST_BYTES)?);
    let bytes = input.count(1)?;
    let answer = input.take(bytes)?.into();
    Ok(KeyedAnswer {
        key,
        digest,
        answer,
    })
}

fn put_origins(out: &mut Vec<u8>, origins: &[Arc<Origin>]) {
    put_varint(out, origins.len() as u64);
    for origin in origins {
        put_text(out, origin.measurement());
        let tags = origin.tags();
        put_varint(out, tags.len() as u64);
        for (key, value) in tags {
            put_text(out, key);
            put_text(out, value);
        }
    }
}

/// Reads the table of origins into `batch`; how many there are.
fn read_origins(input: &mut Input<'_>, batch: &mut Batch) -> Result<usize, RecordError> {
    let origins = input.count(2)?;
    for _ in 0..origins {
        let measurement = input.text()?;
        let count = input.count(2)?;
        let mut tags = Vec::with_capacity(count);
        for _ in 0..count {
            tags.push((input.text()?, input.text()?));
        }
        let (origin, left_out) = Origin::new(measurement, tags.iter().copied());
        let is_sorted = tags.is_sorted();
        if left_out > 0 || !is_sorted || origin.measurement() != measurement {
            return Err(RecordError::Malformed("origin"));
        }
        batch.add_origin(Arc::new(origin));
    }
    Ok(origins)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Number of the sensor, instant, numbers of measures with bits of values.
    type Drawn = (u8, i64, Vec<(u8, u64)>);

    fn batch(readings: &[Drawn], has_origins: bool) -> Batch {
        let mut batch = Batch::default();
        for n in 0..4 {
            batch.add_sensor(SensorId::new(&format!("s{n}")).unwrap());
            batch.add_measure(MeasureName::new(&format!("m{n}")).unwrap());
        }
        for (sensor, at, values) in readings {
            for (measure, bits) in values {
                let value = f64::from_bits(*bits);
                let value = if value.is_finite() { value } else { -0.0 };
                batch.push_value(u32::from(measure % 4), value);
            }
            let origin = (has_origins && at % 3 != 0).then(|| {
                let (origin, _) = Origin::new("m", [("b", "2"), ("a", "1")]);
                batch.add_origin(Arc::new(origin))
            });
            let at = Micros::new(*at).unwrap();
            batch.finish_reading_from(u32::from(sensor % 4), at, origin);
        }
        batch
    }

    proptest! {
        #[test]
        fn a_batch_comes_back_bit_for_bit(
            readings in proptest::collection::vec(
                (
                    any::<u8>(),
                    Micros::MIN.get()..Micros::MAX.get(),
                    proptest::collection::vec((any::<u8>(), any::<u64>()), 0..4),
                ),
                0..20,
            ),
            received_at in Micros::MIN.get()..Micros::MAX.get(),
            key in proptest::option::of("[a-z]{1,9}"),
            has_origins: bool,
        ) {
            let keyed = key.map(|key| Box::new(KeyedAnswer {
                key: key.into(),
                digest: [7; DIGEST_BYTES],
                answer: Box::new([1, 2]),
            }));
            let record = Record::Batch {
                received_at: Micros::new(received_at).unwrap(),
                batch: batch(&readings, has_origins),
                keyed,
            };
            let bytes = record.encode();
            let read = Record::decode(&bytes).unwrap();
            prop_assert_eq!(format!("{:?}", &read), format!("{:?}", &record));
            for cut in 0..bytes.len() {
                prop_assert!(Record::decode(&bytes[..cut]).is_err());
            }
        }

        #[test]
        fn a_deletion_comes_back(
            sensor in "[^\\p{Cc}]{1,9}",
            instants: [i32; 3],
            deletion: u64,
        ) {
            let Ok(sensor) = SensorId::new(&sensor) else {
                return Ok(());
            };
            let [received_at, from, to] =
                instants.map(|at| Micros::new(i64::from(at) * 1_000_000).unwrap());
            let range = TimeRange { from, to };
            for record in [
                Record::Deletion { received_at, sensor, range },
                Record::DeletionDone { deletion },
            ] {
                let bytes = record.encode();
                prop_assert_eq!(&Record::decode(&bytes).unwrap(), &record);
                for cut in 0..bytes.len() {
                    prop_assert!(Record::decode(&bytes[..cut]).is_err());
                }
                prop_assert!(Record::decode(&[&bytes[..], &[0]].concat()).is_err());
            }
        }

        #[test]
        fn damaged_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let framed = |version| [&[KIND_BATCH, version], &bytes[..]].concat();
            let (plain, keyed) = (framed(BATCH_VERSION), framed(BATCH_VERSION_KEYED));
            for input in [&bytes, &plain, &keyed] {
                if let Ok(record) = Record::decode(input) {
                    let again = Record::decode(&record.encode()).unwrap();
                    prop_assert_eq!(format!("{again:?}"), format!("{record:?}"));
                }
            }
        }
    }

    #[test]
    fn a_record_of_the_future_is_named_not_skipped() {
        assert_eq!(
            Record::decode(&[9, 1, 0]),
            Err(RecordError::Unknown {
                kind: 9,
                version: 1
            })
        );
    }
}
