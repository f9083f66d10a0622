//! The journal's bound on disk: bytes are reserved before they are written.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of the journal, on disk and reserved.
#[derive(Debug)]
pub struct Space {
    used: AtomicU64,
    bytes_max: u64,
}

/// The journal is at its bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the journal holds {used} of at most {bytes_max} bytes; the store must take some first")]
pub struct SpaceFull {
    /// Bytes in use.
    pub used: u64,
    /// The bound.
    pub bytes_max: u64,
}

impl Space {
    /// A bound of `bytes_max`.
    #[must_use]
    pub fn new(bytes_max: u64) -> Arc<Self> {
        Arc::new(Self {
            used: AtomicU64::new(0),
            bytes_max,
        })
    }

    /// Reserves `bytes` until the reservation is dropped.
    ///
    /// # Errors
    /// [`SpaceFull`] at the bound.
    pub fn reserve(self: &Arc<Self>, bytes: u64) -> Result<Reservation, SpaceFull> {
        let full = |used| SpaceFull {
            used,
            bytes_max: self.bytes_max,
        };
        self.used
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |used| {
                used.checked_add(bytes).filter(|sum| *sum <= self.bytes_max)
            })
            .map_err(full)?;
        Ok(Reservation {
            space: Arc::clone(self),
            bytes,
        })
    }

    /// Counts bytes that are on disk whatever the bound says (found at start,
    /// headers of segments).
    pub fn take(&self, bytes: u64) {
        self.used.fetch_add(bytes, Ordering::AcqRel);
    }

    /// Bytes that left the disk.
    pub fn give_back(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::AcqRel);
    }

    /// Bytes in use.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Acquire)
    }

    /// The bound.
    #[must_use]
    pub fn bytes_max(&self) -> u64 {
        self.bytes_max
    }
}

/// Bytes reserved for one append, given back when it is dropped. The log
/// counts what it has written itself.
#[derive(Debug)]
pub struct Reservation {
    space: Arc<Space>,
    bytes: u64,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.space.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reservation_is_given_back_and_the_bound_holds() {
        let space = Space::new(100);
        let first = space.reserve(60).unwrap();
        assert_eq!(
            space.reserve(41).unwrap_err(),
            SpaceFull {
                used: 60,
                bytes_max: 100
            }
        );
        let second = space.reserve(40).unwrap();
        drop(first);
        space.take(35);
        drop(second);
        assert_eq!(space.used(), 35);
        space.give_back(35);
        assert_eq!(space.used(), 0);
    }
}
