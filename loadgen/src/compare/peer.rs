//! What every system can be told to do.

use std::path::PathBuf;
use std::time::Duration;

use super::CompareError;
use super::load::{Batches, Form};
use super::question::{Question, Row};
use super::write::Written;
use crate::cpu::Usage;

/// Where a system runs, and how it is written to.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// A folder of its own, new in every round.
    pub(super) folder: PathBuf,
    /// Connections that write.
    pub(super) connections: usize,
}

/// Bytes on disk when everything rests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stored {
    /// Data and indexes, without journals and logs of operations.
    pub(super) data: u64,
    /// All files, of all servers of the system.
    pub(super) all: u64,
}

/// A system under comparison. It starts with [`Peer::start`] and may be stopped
/// and started again; its data stay.
pub(super) trait Peer {
    /// How it takes readings.
    fn form(&self) -> Form;

    /// Starts its servers and waits until they answer.
    async fn start(&mut self) -> Result<(), CompareError>;

    /// CPU and memory of its servers, by name.
    fn usage(&self) -> Result<Vec<(&'static str, Usage)>, CompareError>;

    /// Its version, as it tells.
    async fn version(&mut self) -> Result<String, CompareError>;

    /// Writes batches of its form.
    async fn write(&mut self, batches: Batches) -> Result<Written, CompareError>;

    /// Waits until what was acknowledged is in the store.
    async fn drain(&mut self) -> Result<(), CompareError>;

    /// Lets it come to rest, stops it and counts its bytes.
    async fn rest(&mut self) -> Result<Stored, CompareError>;

    /// Asks a question; the time until the whole answer was read.
    async fn ask(&mut self, question: &Question, cached: bool) -> Result<Duration, CompareError>;

    /// The answer to a question, in no order.
    async fn answer(&mut self, question: &Question) -> Result<Vec<Row>, CompareError>;

    /// Whether it keeps answers about hours, which [`Peer::ask`] can use or not.
    fn keeps_answers(&self) -> bool {
        false
    }

    /// Stops its servers.
    async fn stop(&mut self) -> Result<(), CompareError>;
}
