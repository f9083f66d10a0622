//! What goes wrong with a store.

use hourglass::store::StoreError;

/// What the next call that writes comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// An error, and nothing went in.
    ErrorBefore,
    /// Everything went in, and the reply is lost.
    ReplyLost,
    /// Full parts were closed, then an error.
    LostHalfWay,
    /// An error now; the writes reach the store later, if at all.
    Delayed,
    /// The first write fails, the others go on.
    FirstFails,
    /// All are refused, nothing went in.
    Refused,
    /// The writes are carried out twice, as a driver does that got no reply and
    /// tries again by itself; the second reply is told.
    Twice,
}

pub(super) fn away() -> StoreError {
    StoreError::Unavailable {
        store: "simulated",
        reason: "trouble was planted".to_owned(),
    }
}

pub(super) fn refused() -> StoreError {
    StoreError::Refused {
        store: "simulated",
        reason: "trouble was planted".to_owned(),
    }
}
