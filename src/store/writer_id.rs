//! Numbers of writes, for the `by` of bucket versions.

use std::sync::atomic::{AtomicU64, Ordering};

/// Gives every write of a process a number of its own: random per start, then
/// a sequence.
#[derive(Debug)]
pub struct WriterId {
    start: u64,
    sequence: AtomicU64,
}

impl WriterId {
    /// A writer; `random` tells its start from every other one.
    #[must_use]
    pub fn new(random: u32) -> Self {
        // 31 random bits, then 2^32 writes; bit 63 stays clear so that the
        // number is positive for people. More writes run into the random bits,
        // which still repeats no number of this start.
        Self {
            start: u64::from(random >> 1) << 32,
            sequence: AtomicU64::new(0),
        }
    }

    /// The next number.
    pub fn next(&self) -> i64 {
        let number = self.start + self.sequence.fetch_add(1, Ordering::Relaxed);
        (number & i64::MAX.cast_unsigned()).cast_signed()
    }
}
