//! I6: the buffer keeps its bound in bytes. What the store tells of a bucket, and
//! what late data make of one, come on top of it: a bucket's worth for each that
//! is under way.

use crate::World;

/// Bytes that the small buckets of a run may take beyond the bound.
const BEYOND: usize = 32 << 10;

/// # Errors
/// The bytes.
pub fn check(world: &World) -> Result<(), String> {
    let buffer = &world.process.buffer;
    let (bytes, bytes_max) = (buffer.bytes(), buffer.bytes_max());
    match bytes <= bytes_max + BEYOND {
        true => Ok(()),
        false => Err(format!("I6: the buffer has {bytes} bytes of {bytes_max}")),
    }
}
