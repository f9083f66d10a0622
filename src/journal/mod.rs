//! The journal: a write-ahead log on local disk, the redo log of everything
//! behind it.
//!
//! - [`record`]: what is logged, typed and versioned; [`bytes`]: of which bytes.
//! - [`frame`]: groups of records under one CRC-32C; one group is one write
//!   and one sync, and the next is written only after that sync succeeded.
//! - [`disk`]: the seam to the file system.
//! - [`Log`]: segments on a disk, as a value that does what it is told on the
//!   caller's thread.
//! - [`GroupCommit`]: one append and one sync for many records, then their
//!   answers; as a value too.
//! - [`Journal`]: the handle of the writer thread; group commit without a
//!   timer: what arrives during one sync is the next group.
//! - [`tail`]: durable records on their way to the applier, in memory while it
//!   keeps up.
//!
//! Constraints: a batch is acknowledged after its sync, never before. A failed
//! sync poisons the journal for good (the kernel may have dropped the pages;
//! a second sync that succeeds proves nothing). A torn tail is cut and said, a
//! damaged middle stops the start (I12). A segment is removed only when
//! everything in it is confirmed by the store.

pub mod bytes;
mod commit;
pub mod disk;
mod error;
pub mod frame;
mod leftover;
mod log;
mod outlook;
mod reader;
pub mod record;
mod scan;
mod space;
pub mod tail;
mod writer;

pub use commit::{Answer, Append, GroupCommit};
pub use error::{AppendError, LogError};
pub use leftover::holds_records;
pub use log::{FoundDeletion, FoundKeyed, Log, Recovered, TornTail};
pub use outlook::Outlook;
pub use reader::LogReader;
pub use record::{KeyedAnswer, Record};
pub use space::{Reservation, Space, SpaceFull};
pub use writer::{Journal, JournalError, JournalState, KeyedWatch, WriterThread};
