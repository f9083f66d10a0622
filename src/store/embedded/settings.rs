//! What can be set.

const MIB: u64 = 1024 * 1024;

/// Memory of the embedded store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmbeddedSettings {
    /// Cache of blocks read from disk, in bytes. Default 64 MiB, twice what the
    /// library takes by itself: hourly queries of many sensors live in it.
    pub cache_bytes: u64,
    /// Bytes that each of the two large key spaces gathers in memory before
    /// they become a table on disk, at least [`Self::MEMTABLE_BYTES_MIN`]; the small
    /// ones gather 1 MiB, or this where it is less. A store keeps the value it
    /// was created with. Default 16 MiB, a quarter of the library's: what is in
    /// memory is what an open after a crash replays from the library's journals
    /// (at most [`Self::JOURNAL_BYTES_MAX`]).
    pub memtable_bytes: u64,
}

impl EmbeddedSettings {
    /// Bound on the library's own journals, in bytes: the smallest it allows,
    /// since they set how long a start takes.
    pub const JOURNAL_BYTES_MAX: u64 = 64 * MIB;

    /// Smallest memtable, in bytes: of use where tables and their merging are
    /// to happen early. Below, a round of writes would be several tables.
    pub const MEMTABLE_BYTES_MIN: u64 = 16 * 1024;
}

impl Default for EmbeddedSettings {
    fn default() -> Self {
        Self {
            cache_bytes: 64 * MIB,
            memtable_bytes: 16 * MIB,
        }
    }
}
