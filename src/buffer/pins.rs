//! Which journal sequences the buffer still needs.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::lock;

/// A multiset of sequences; the lowest is the journal's low-water mark.
#[derive(Debug, Default)]
pub(super) struct Pins {
    counts: Mutex<BTreeMap<u64, usize>>,
}

/// The hold of one lease on the journal; given back by the flusher once all
/// that derives from the lease is durable too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a pin that is not given back holds the journal for ever"]
pub struct Pin(pub(super) u64);

impl Pins {
    pub(super) fn add(&self, seq: u64) {
        *lock(&self.counts).entry(seq).or_default() += 1;
    }

    pub(super) fn remove(&self, seq: u64) {
        let mut counts = lock(&self.counts);
        if let Some(count) = counts.get_mut(&seq) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&seq);
            }
        }
    }

    pub(super) fn lowest(&self) -> Option<u64> {
        lock(&self.counts).keys().next().copied()
    }
}
