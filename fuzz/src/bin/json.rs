//! `application/json`.
#![no_main]

use hourglass_fuzz::{Caps, check, context};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    match hourglass::decode::json(body, &context(), &mut Caps::default()) {
        Ok(decoded) => check(&decoded),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
