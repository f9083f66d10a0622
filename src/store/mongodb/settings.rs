//! What can be set beside the connection string.

use std::fmt;
use std::time::Duration;

use ::mongodb::event::EventHandler;
use ::mongodb::event::command::CommandEvent;

/// Settings of the MongoDB store. A timeout in the connection string wins over
/// the one here; write concern and read preference of the string are ignored, as
/// the store's guarantees rest on its own.
#[derive(Clone)]
pub struct MongoSettings {
    /// How long a call looks for a primary before it fails as unavailable
    /// (`serverSelectionTimeoutMS`).
    pub server_selection_timeout: Duration,
    /// How long one command may take before its outcome counts as unknown. The
    /// driver itself waits without end for a server that is silent but
    /// connected.
    pub call_timeout: Duration,
    /// Largest size of one part in bytes; well below MongoDB's 16 MB.
    pub part_bytes_max: usize,
    /// What is done where collections and indexes are missing.
    pub missing: Missing,
    /// Told of every command sent and answered: for counting them.
    pub command_events: Option<EventHandler<CommandEvent>>,
}

/// What is done where collections and indexes are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// They are made.
    Make,
    /// Nothing is made; a database that no hourglass has begun is refused.
    Refuse,
    /// Nothing is made; a database in which none has stored anything is refused,
    /// too.
    RefuseEmpty,
}

impl Default for MongoSettings {
    fn default() -> Self {
        Self {
            server_selection_timeout: Duration::from_secs(5),
            call_timeout: Duration::from_secs(30),
            part_bytes_max: 1024 * 1024,
            missing: Missing::Make,
            command_events: None,
        }
    }
}

impl fmt::Debug for MongoSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MongoSettings")
            .field("server_selection_timeout", &self.server_selection_timeout)
            .field("call_timeout", &self.call_timeout)
            .field("part_bytes_max", &self.part_bytes_max)
            .finish_non_exhaustive()
    }
}
