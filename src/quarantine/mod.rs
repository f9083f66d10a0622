//! Refused items, kept for whoever mends and sends them again.
//!
//! - [`RefusedItem`]: one of them, as a line of JSON.
//! - [`Quarantine`]: the handle; what it is given a thread writes to segments in
//!   a directory, bounded in number, bytes and age, the oldest going first.
//!
//! Keeping never holds up readings: it is handed over without waiting, not
//! synced, and what finds no room is counted as lost. A kill may lose the last
//! moments; a line that it cut is cut off at the next start.

mod item;
mod segments;
mod writer;

pub use item::{RefusedItem, RefusedSource};
pub use segments::{Question, SegmentPart};
pub use writer::{Quarantine, QuarantineThread, Totals};
