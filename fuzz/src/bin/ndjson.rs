//! `application/x-ndjson`: also, no line costs one behind it its place.
#![no_main]

use hourglass_fuzz::{Caps, check, context, ends_in};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    let read = |body: &[u8]| hourglass::decode::ndjson(body, &context(), &mut Caps::default());
    let alone = read(body);
    check(&alone);
    let followed = read(&[body, b"\n{\"sensorId\":\"Z\",\"z\":1}"].concat());
    check(&followed);
    assert_eq!(followed.batch.len(), alone.batch.len() + 1);
    assert!(ends_in(&followed, "Z"));
});
