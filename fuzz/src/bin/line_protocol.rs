//! Line protocol: also, no line costs one behind it its place. The first byte of
//! the input chooses how lines are mapped.
#![no_main]

use std::sync::LazyLock;

use hourglass::decode::{LineMapping, LineOptions, TextOnly};
use hourglass_fuzz::{Caps, check, context, ends_in};
use libfuzzer_sys::fuzz_target;

static MAPPINGS: LazyLock<[LineMapping; 2]> = LazyLock::new(|| {
    let second = LineMapping {
        dimension_tags: vec!["b".into(), "core".into()],
        measurement_prefix: true,
        ..LineMapping::default()
    };
    [LineMapping::default(), second]
});

fuzz_target!(|input: &[u8]| {
    let Some((choice, body)) = input.split_first() else {
        return;
    };
    let options = LineOptions {
        mapping: &MAPPINGS[usize::from(choice & 1)],
        text_only: if choice & 2 == 0 {
            TextOnly::Refuse
        } else {
            TextOnly::Skip
        },
    };
    let read = |body: &[u8]| {
        hourglass::decode::line_protocol(body, &context(), options, &mut Caps::default())
    };
    check(&read(body));
    let followed = read(&[body, b"\nz,sensor=Z z=1"].concat());
    check(&followed);
    assert!(ends_in(&followed, "Z"), "the line behind is lost");
});
