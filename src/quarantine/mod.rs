//! Refused items, kept on disk for whoever wants to look at them, mend them and
//! post them again.
//!
//! Constraints: keeping never slows, blocks or fails what takes readings. Items
//! go into a queue bounded in bytes, and a thread writes them; what finds no room
//! there, or none on the disk, is counted as not kept. Nothing is synced: a crash
//! of the machine loses what the system had not written, a crash of the process
//! what was in the queue.
//!
//! On disk: segments of NDJSON that people can read, each named by the id of its
//! first record. The oldest segments go first, at a bound of items, of bytes or
//! of age. A torn end is cut at the start, a damaged line is passed over and
//! told; neither ever stops a start.

mod log;
mod query;
mod queue;
mod record;
mod writer;

pub use query::{ItemsForm, RejectedQuery, Segments};
pub use queue::{Held, Quarantine, Totals};
pub use record::Source;
pub use writer::QuarantineThread;
