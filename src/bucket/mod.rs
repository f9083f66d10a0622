//! The bucket as a value: a sensor's readings of one hour, in order of arrival,
//! and the fields computed from them.
//!
//! - [`Elements`]: compact columns, append-only.
//! - [`Merge`]: elements with an index of instants; tells new values from
//!   duplicates and conflicts.
//! - [`Computed`], [`Sum`]: count, sum, min, max per measure, accurate in any
//!   order of arrival.
//! - [`RecentList`]: the newest readings of a sensor over all its hours.
//! - [`check`]: computed fields against readings (invariant I3).

mod check;
mod computed;
mod elements;
mod merge;
mod recent;
mod rows;
mod sorted;
mod sum;
mod without;

pub use check::{Difference, check};
pub use computed::{Computed, Stats};
pub use elements::{Element, Elements};
pub use merge::{Conflict, Merge, MergeCounts, MergeOutcome};
pub use recent::RecentList;
pub use sorted::join_sorted;
pub use sum::Sum;
pub use without::{Rest, without};
