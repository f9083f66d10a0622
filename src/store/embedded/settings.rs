//! What can be set.

const MIB: u64 = 1024 * 1024;

/// Memory of the embedded store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmbeddedSettings {
    /// Cache of blocks read from disk, in bytes. Default 64 MiB: some 80,000
    /// hour records and the chunks of some 10,000 hours.
    pub cache_bytes: u64,
    /// Bytes that each of the two large key spaces gathers in memory before
    /// they become a table on disk, at least 1 MiB. A store keeps the value it
    /// was created with. Default 16 MiB: what memory gathers is what an open
    /// after a crash replays, at most 64 MiB of it (see
    /// [`Self::JOURNAL_BYTES_MAX`]), which takes below a second.
    pub memtable_bytes: u64,
}

impl EmbeddedSettings {
    /// Bound on the library's own journals, in bytes: the smallest it allows,
    /// since they set how long a start takes.
    pub const JOURNAL_BYTES_MAX: u64 = 64 * MIB;

    /// Smallest memtable: below, tables are too many and too small.
    pub(super) const MEMTABLE_BYTES_MIN: u64 = MIB;
}

impl Default for EmbeddedSettings {
    fn default() -> Self {
        Self {
            cache_bytes: 64 * MIB,
            memtable_bytes: 16 * MIB,
        }
    }
}
