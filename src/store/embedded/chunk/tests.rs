//! Chunks give every bit back, and damaged ones are told.

use proptest::prelude::*;

use super::*;

/// Elements as plain values, with the bits of the doubles.
fn plain(elements: &Elements) -> Vec<(u32, Vec<(String, u64)>)> {
    let values = |element: crate::bucket::Element<'_>| {
        let values = element.values();
        values.map(|(n, v)| (n.to_string(), v.to_bits())).collect()
    };
    elements.iter().map(|e| (e.offset, values(e))).collect()
}

fn round_trip(elements: &Elements) -> Elements {
    let mut back = Elements::default();
    decode_into(&encode(elements), &mut back).unwrap();
    back
}

fn name(text: &str) -> MeasureName {
    MeasureName::new(text).unwrap()
}

fn of_temp(readings: impl IntoIterator<Item = (u32, f64)>) -> Elements {
    let temp = name("temp");
    let mut elements = Elements::default();
    for (offset, value) in readings {
        elements.push(offset, [(&temp, value)]);
    }
    elements
}

/// An hour at 1 Hz, values in tenths that wander.
fn calm_hour() -> Elements {
    let mut state = 1u32;
    let mut tenths = 240i32;
    of_temp((0..3600).map(|second| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        tenths += i32::try_from(state >> 30).unwrap_or(0) / 3 - i32::from(state >> 28 == 0) * 4;
        (second * 1_000_000, f64::from(tenths) / 10.0)
    }))
}

/// Finite doubles of any bits, and such that scale.
fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<u64>()
            .prop_map(f64::from_bits)
            .prop_filter("finite", |v| v.is_finite()),
        (-100_000i32..100_000, 0..7i32).prop_map(|(v, e)| f64::from(v) / 10f64.powi(e)),
        prop::sample::select(vec![
            0.0,
            -0.0,
            5e-324,
            -5e-324,
            1e300,
            -1e300,
            f64::MIN_POSITIVE
        ]),
    ]
}

fn scaled_value() -> impl Strategy<Value = f64> {
    (-1000i32..1000).prop_map(|v| f64::from(v) / 10.0)
}

fn measure_set() -> impl Strategy<Value = Vec<&'static str>> {
    let names = vec!["temp", "humidity", "sec", "a.b", "é"];
    prop::sample::subsequence(names, 1..=5).prop_shuffle()
}

/// Up to 300 elements, in any order, with one measure set or many.
fn elements(value: impl Strategy<Value = f64> + Clone) -> impl Strategy<Value = Elements> {
    let element = (
        0u32..3_600_000_000,
        measure_set(),
        prop::collection::vec(value, 5),
    );
    let unit = prop::sample::select(vec![1u32, 1000, 1_000_000]);
    (prop::collection::vec(element, 1..300), any::<bool>(), unit).prop_map(
        |(list, uniform, unit)| {
            let first_set = list[0].1.clone();
            let mut elements = Elements::default();
            for (offset, set, values) in list {
                let set = if uniform { &first_set } else { &set };
                let names: Vec<_> = set.iter().map(|text| name(text)).collect();
                elements.push(offset / unit * unit, names.iter().zip(values));
            }
            elements
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_elements_come_back_bit_for_bit(elements in elements(value().boxed())) {
        let back = round_trip(&elements);
        prop_assert_eq!(plain(&back), plain(&elements));
        prop_assert_eq!(back.names(), elements.names());
    }

    #[test]
    fn scalable_elements_come_back_bit_for_bit(elements in elements(scaled_value().boxed())) {
        prop_assert_eq!(plain(&round_trip(&elements)), plain(&elements));
    }

    /// I12: whatever is damaged is told.
    #[test]
    fn i12_a_mutated_chunk_is_refused(
        elements in elements(value().boxed()),
        at: prop::sample::Index,
        flip in 1u8..,
        cut: prop::sample::Index,
    ) {
        let chunk = encode(&elements);
        let mut flipped = chunk.clone();
        flipped[at.index(chunk.len())] ^= flip;
        let mut back = Elements::default();
        prop_assert_eq!(decode_into(&flipped, &mut back), Err(Damage::Checksum));
        prop_assert!(decode_into(&chunk[..cut.index(chunk.len())], &mut back).is_err());
        prop_assert!(back.is_empty());
    }

    /// Behind the checksum, too, no bytes panic or ask for much memory.
    #[test]
    fn mutated_bytes_with_a_right_checksum_never_panic(
        elements in elements(scaled_value().boxed()),
        mutations in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut: prop::sample::Index,
    ) {
        let chunk = encode(&elements);
        let mut body = unseal(&chunk).unwrap().to_vec();
        let end = cut.index(body.len());
        prop_assert!(decode_body(&body[..end], &mut Elements::default()).is_err());
        for (at, byte) in mutations {
            let at = at.index(body.len());
            body[at] = byte;
        }
        let mut back = Elements::default();
        if decode_body(&body, &mut back).is_ok() {
            prop_assert!(back.value_count() >= back.len());
        }
        // A mutated count may fit what a cut left: then it is read.
        let mut back = Elements::default();
        if decode_body(&body[..end], &mut back).is_ok() {
            prop_assert!(back.value_count() >= back.len());
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
        let mut body = vec![FORMAT];
        body.extend(bytes);
        let mut back = Elements::default();
        if decode_body(&body, &mut back).is_err() {
            prop_assert!(back.is_empty());
        }
    }
}

#[test]
fn another_format_is_told_by_its_number() {
    let mut chunk = vec![9, 1, 2, 3];
    seal(&mut chunk);
    let damage = decode_into(&chunk, &mut Elements::default()).unwrap_err();
    assert_eq!(damage, Damage::UnknownFormat(9));
    assert!(damage.to_string().contains("start the version"));
}

#[test]
fn a_calm_hour_at_1_hz_takes_less_than_half_a_byte_a_reading() {
    let hour = calm_hour();
    assert_eq!(round_trip(&hour), hour);
    let bytes = encode(&hour).len();
    assert!(bytes < 1800, "{bytes} bytes for 3600 readings");
}

#[test]
fn a_small_regular_chunk_takes_little_more_than_its_values() {
    let minute = calm_hour().slice(0, 60);
    assert_eq!(round_trip(&minute), minute);
    let bytes = encode(&minute).len();
    assert!(bytes < 90, "{bytes} bytes for 60 readings");
}

#[test]
fn chunks_are_appended_in_order() {
    let hour = calm_hour();
    let mut back = Elements::default();
    decode_into(&encode(&hour.slice(0, 60)), &mut back).unwrap();
    decode_into(&encode(&hour.slice(60, 200)), &mut back).unwrap();
    assert_eq!(back, hour.slice(0, 200));
}

#[test]
fn more_than_one_packed_block_comes_back() {
    let elements = of_temp((0..70_000).map(|i| (i * 50_000 + i % 7, f64::from(i % 91) / 10.0)));
    assert_eq!(plain(&round_trip(&elements)), plain(&elements));
}

/// The real 5-minute file with its long decimals.
#[test]
fn real_readings_come_back_bit_for_bit() {
    let text = include_str!("../../../../tests/data/machine_temperature.csv");
    let values: Vec<f64> = text
        .lines()
        .skip(1)
        .map(|line| line.split_once(',').unwrap().1.parse().unwrap())
        .collect();
    let mut bytes = 0;
    for hour in values.chunks(12) {
        let elements = of_temp((0..).map(|i| i * 300_000_000).zip(hour.iter().copied()));
        assert_eq!(plain(&round_trip(&elements)), plain(&elements));
        bytes += encode(&elements).len();
    }
    // Raw they are 16 bytes each.
    assert!(
        bytes < values.len() * 11,
        "{bytes} bytes for {} readings",
        values.len()
    );
}
