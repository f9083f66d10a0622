//! Deletion of readings: asked for, noted in the journal, done at the store.
//!
//! - [`DeletionRun`]: one deletion at the store, a call a turn; a turn that failed
//!   is made again, and a run that is cut off is begun anew and changes nothing
//!   that is done.
//! - [`DeletionTask`]: takes the oldest that is open, once no write of its buckets
//!   is out, until it is done; then notes that in the journal.
//! - [`Deletions`]: asks for one and waits for its end.

mod request;
mod run;
mod task;

pub use request::{DELETIONS_MAX, DeletionError, Deletions};
pub use run::{DeletionReport, DeletionRun, DeletionTurn};
pub use task::DeletionTask;
