//! `text/csv`: with a header of its own the input is a whole body; behind a known
//! header no row costs one behind it its place.
#![no_main]

use hourglass::decode::CsvColumns;
use hourglass_fuzz::{Caps, check, context, ends_in};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let columns = CsvColumns::by_name();
    let read =
        |body: &[u8]| hourglass::decode::csv(body, &context(), &columns, &mut Caps::default());
    match read(input) {
        Ok(decoded) => check(&decoded),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    let body = [b"sensor,ts,a,text\n", input, b"\nZ,,1,x"].concat();
    let followed = read(&body).expect("the header is sound");
    check(&followed);
    assert!(ends_in(&followed, "Z"), "the row behind is lost");
});
