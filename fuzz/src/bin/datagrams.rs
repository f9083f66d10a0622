//! Datagrams of line protocol or JSON, cut at the byte 0x1e: also, none costs
//! another its place.
#![no_main]

use hourglass::decode::{LineMapping, LineOptions, TextOnly};
use hourglass_fuzz::{Caps, check, context, ends_in};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let mapping = LineMapping::default();
    let options = LineOptions {
        mapping: &mapping,
        text_only: TextOnly::Refuse,
    };
    let parts = || input.split(|byte| *byte == 0x1e);
    let behind: &[u8] = b"z,sensor=Z z=1";
    let all = hourglass::decode::datagrams(
        parts().chain([behind]),
        &context(),
        options,
        &mut Caps::default(),
    );
    check(&all.decoded);
    assert!(ends_in(&all.decoded, "Z"), "the datagram behind is lost");
    assert_eq!(all.datagrams, parts().count() as u64 + 1);
    assert!(all.empty + all.faulty < all.datagrams);
});
