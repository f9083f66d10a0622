//! Which journal sequences the buffer still needs.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::lock;

/// A multiset of sequences; the lowest is the journal's low-water mark.
#[derive(Debug, Default)]
pub(super) struct Pins {
    counts: Mutex<BTreeMap<u64, usize>>,
}

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
