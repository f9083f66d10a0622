//! The bound on the memory of all request bodies together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that the bodies of all requests under way hold, decompressed.
#[derive(Debug)]
pub struct BodyBudget {
    used: AtomicUsize,
    bytes_max: usize,
}

impl BodyBudget {
    /// A bound of `bytes_max`.
    #[must_use]
    pub fn new(bytes_max: usize) -> Arc<Self> {
        Arc::new(Self {
            used: AtomicUsize::new(0),
            bytes_max,
        })
    }

    /// The share of one body, empty yet.
    #[must_use]
    pub fn share(self: &Arc<Self>) -> BodyShare {
        BodyShare {
            budget: Arc::clone(self),
            bytes: 0,
        }
    }

    /// Bytes in use.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// The bound.
    #[must_use]
    pub fn bytes_max(&self) -> usize {
        self.bytes_max
    }
}

/// What one body holds of the budget; given back when dropped.
#[derive(Debug)]
pub struct BodyShare {
    budget: Arc<BodyBudget>,
    bytes: usize,
}

impl BodyShare {
    /// Grows the share to `bytes` in all; whether there was room.
    #[must_use]
    pub fn grow_to(&mut self, bytes: usize) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        let max = self.budget.bytes_max;
        let grown = self
            .budget
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                used.checked_add(more).filter(|sum| *sum <= max)
            });
        if grown.is_ok() {
            self.bytes += more;
        }
        grown.is_ok()
    }
}

impl Drop for BodyShare {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_grow_within_the_bound_and_are_given_back() {
        let budget = BodyBudget::new(100);
        let (mut first, mut second) = (budget.share(), budget.share());
        assert!(first.grow_to(60) && first.grow_to(50));
        assert!(!second.grow_to(41) && second.grow_to(40));
        drop(first);
        assert_eq!(budget.used(), 40);
        drop(second);
        assert_eq!(budget.used(), 0);
    }
}
