//! `hourglass import`: files to a running server, through `POST /v1/readings`.
//!
//! A file is cut into chunks of whole items ([`Chunker`]), which are sent
//! strictly in order; while one is under way the next is read and decompressed.
//! Each carries an `Idempotency-Key` of its content and its place, so that a
//! chunk whose answer was lost is stored once, lines without a time included.
//! Readings that have a time may be sent any number of times: an import that was
//! cut off is run again.

mod chunks;
mod cut;
mod input;
mod options;
mod outcome;
mod progress;
mod rejects;
mod run;
mod sender;
mod summary;

pub use chunks::{Chunk, Chunker};
pub use cut::{Cutter, ItemTooLong, Items};
pub use input::InputError;
pub use options::{Columns, FileFormat, ImportOptions, Source};
pub use run::{ImportError, run};
pub use sender::SendError;
pub use summary::Summary;
