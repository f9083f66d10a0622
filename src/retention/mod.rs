//! How long readings are kept: the policy, pure, and the table of what it comes
//! to now, which everybody asks.
//!
//! Retention knows whole hours. A bucket may go once its whole hour lies further
//! back than its readings are kept ([`cutoff`]); from then on nothing of that
//! hour is taken any more, neither at the door nor from the journal or the
//! buffer. Both are one comparison with one value of [`RetentionTable`], so a
//! bucket that goes never waits for a reading that was admitted.

mod policy;
mod table;

pub use policy::{Cutoffs, Keeps, cutoff};
pub use table::RetentionTable;
