//! Requests with an idempotency key: the first answer, given again.
//!
//! - [`IdempotencyKey`]: what a sender may call a request.
//! - [`Keys`]: the keys that are remembered, with their answers, and those whose
//!   request is running, on which others wait.
//! - [`Saver`]: the thread that writes what the journal holds of them to a log
//!   of its own, so that they outlive the journal.
//!
//! Constraints: an answer and its readings are one record of the journal, so
//! they are durable together. [`Keys::note`] hears of it before the journal
//! could be released, and the journal is held ([`Keys::hold`]) until the log of
//! keys has it synced. What is remembered is bounded in number, bytes and age;
//! at a bound the oldest is forgotten. Nothing is forgotten because the wall
//! clock stepped while the process ran.

mod key;
mod keys;
mod saver;
mod table;

pub use key::{IdempotencyKey, InvalidKey, digest};
pub use keys::{Begin, Keys, Running, Turn};
pub use saver::{Saver, SaverThread};
