//! Keys, in the order of (sensor id in bytes, hour, sequence).
//!
//! An id holds no control characters, so a zero byte ends it: no key is the
//! beginning of another sensor's, and `a` sorts before `a|b` as it does alone.

use crate::model::{BucketKey, HourRange, HourStart, SensorId};

/// Ends the id inside a key.
const ID_END: u8 = 0;

/// What all keys of `sensor` begin with.
pub(super) fn sensor_prefix(sensor: &SensorId) -> Vec<u8> {
    let mut key = Vec::with_capacity(sensor.as_str().len() + 13);
    key.extend_from_slice(sensor.as_str().as_bytes());
    key.push(ID_END);
    key
}

/// The key of an hour record, and what the keys of its chunks begin with.
pub(super) fn hour_key(sensor: &SensorId, hour: HourStart) -> Vec<u8> {
    let mut key = sensor_prefix(sensor);
    // With the sign bit flipped, bytes compare as the numbers do.
    key.extend_from_slice(&(hour.hours() as u32 ^ 1 << 31).to_be_bytes());
    key
}

/// The key of the hour record of `key`.
pub(super) fn bucket_key(key: &BucketKey) -> Vec<u8> {
    hour_key(&key.sensor, key.hour)
}

/// First key inside and first key outside of a sensor's hours.
pub(super) fn hour_range(sensor: &SensorId, hours: HourRange) -> (Vec<u8>, Vec<u8>) {
    (hour_key(sensor, hours.from), hour_key(sensor, hours.to))
}

/// The key of the chunk that write `sequence` made.
pub(super) fn chunk_key(hour_key: &[u8], sequence: u64) -> Vec<u8> {
    [hour_key, &sequence.to_be_bytes()].concat()
}

/// The bucket that an hour record's key names.
pub(super) fn read_hour_key(key: &[u8]) -> Option<BucketKey> {
    let (id, hour) = key.split_last_chunk::<4>()?;
    let (end, id) = id.split_last()?;
    let sensor = read_sensor_id(id)?;
    let hours = (u32::from_be_bytes(*hour) ^ 1 << 31) as i32;
    let hour = HourStart::from_hours(hours);
    (*end == ID_END && hour.hours() == hours).then_some(BucketKey { sensor, hour })
}

/// The sensor that these bytes of a key name.
pub(super) fn read_sensor_id(id: &[u8]) -> Option<SensorId> {
    SensorId::new(std::str::from_utf8(id).ok()?).ok()
}

/// The hour and the sequence that a chunk's key names.
pub(super) fn chunk_parts(key: &[u8]) -> Option<(BucketKey, u64)> {
    let (hour, sequence) = key.split_last_chunk::<8>()?;
    Some((read_hour_key(hour)?, u64::from_be_bytes(*sequence)))
}

/// A key as people can read it.
pub(super) fn readable(key: &[u8]) -> String {
    match read_hour_key(key) {
        Some(bucket) => bucket.to_string(),
        None => key.escape_ascii().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_key_that_is_none_is_told_readably() {
        assert_eq!(read_hour_key(b"S1"), None);
        assert_eq!(readable(b"S1\0\x01"), "S1\\x00\\x01");
        assert_eq!(read_hour_key(b"S1\0\xFF\xFF\xFF\xFF"), None);
    }

    fn bucket() -> impl Strategy<Value = BucketKey> {
        ("[ab|/ é🌡]{1,3}", -300i32..300).prop_filter_map("blank", |(id, hours)| {
            Some(BucketKey {
                sensor: SensorId::new(&id).ok()?,
                hour: HourStart::from_hours(hours),
            })
        })
    }

    proptest! {
        #[test]
        fn keys_sort_as_buckets_do_and_none_begins_another(
            a in bucket(),
            b in bucket(),
            sequences: (u64, u64),
        ) {
            let (key_a, key_b) = (bucket_key(&a), bucket_key(&b));
            prop_assert_eq!(key_a.cmp(&key_b), a.cmp(&b));
            prop_assert_eq!(key_a.starts_with(&key_b), a == b);
            prop_assert_eq!(
                chunk_key(&key_a, sequences.0).cmp(&chunk_key(&key_b, sequences.1)),
                (&a, sequences.0).cmp(&(&b, sequences.1))
            );
            prop_assert_eq!(key_a.starts_with(&sensor_prefix(&b.sensor)), a.sensor == b.sensor);
            let chunk = chunk_key(&key_a, sequences.0);
            prop_assert_eq!(chunk_parts(&chunk), Some((a.clone(), sequences.0)));
            prop_assert_eq!(read_hour_key(&key_a), Some(a));
        }
    }
}
