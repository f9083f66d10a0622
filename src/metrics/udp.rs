//! What became of datagrams.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Why a datagram that was read was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UdpDrop {
    /// The queue to the decoder is at its bound.
    QueueFull,
    /// Its source is in none of the networks that are taken.
    SourceNotAllowed,
    /// It is larger than any that there should be, and was cut.
    Truncated,
    /// The journal cannot be written.
    JournalFailed,
    /// It alone is more than the journal takes at once.
    TooLarge,
    /// The process stops and its grace ran out.
    Stopping,
}

impl UdpDrop {
    /// Every reason, in the order of declaration.
    pub const ALL: [Self; 6] = [
        Self::QueueFull,
        Self::SourceNotAllowed,
        Self::Truncated,
        Self::JournalFailed,
        Self::TooLarge,
        Self::Stopping,
    ];

    /// As a label's value.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::QueueFull => "queue_full",
            Self::SourceNotAllowed => "source_not_allowed",
            Self::Truncated => "truncated",
            Self::JournalFailed => "journal_failed",
            Self::TooLarge => "too_large",
            Self::Stopping => "stopping",
        }
    }
}

/// Counters of datagrams since the start of the process. At rest, received =
/// decoded + dropped.
#[derive(Debug, Default)]
pub struct UdpLedger {
    received: AtomicU64,
    received_bytes: AtomicU64,
    decoded: AtomicU64,
    empty: AtomicU64,
    dropped: [AtomicU64; UdpDrop::ALL.len()],
}

impl UdpLedger {
    /// Datagrams that were read from a socket, with their bytes together.
    pub fn receive(&self, datagrams: u64, bytes: u64) {
        self.received.fetch_add(datagrams, Relaxed);
        self.received_bytes.fetch_add(bytes, Relaxed);
    }

    /// Datagrams whose items are counted, `empty` of which had none.
    pub fn decode(&self, datagrams: u64, empty: u64) {
        self.decoded.fetch_add(datagrams, Relaxed);
        self.empty.fetch_add(empty, Relaxed);
    }

    /// Datagrams that were read and dropped.
    pub fn drop_datagrams(&self, reason: UdpDrop, datagrams: u64) {
        self.dropped[reason as usize].fetch_add(datagrams, Relaxed);
    }

    /// Datagrams read so far.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.received.load(Relaxed)
    }

    /// Their bytes.
    #[must_use]
    pub fn received_bytes(&self) -> u64 {
        self.received_bytes.load(Relaxed)
    }

    /// Datagrams decoded so far.
    #[must_use]
    pub fn decoded(&self) -> u64 {
        self.decoded.load(Relaxed)
    }

    /// Those of them that were empty.
    #[must_use]
    pub fn empty(&self) -> u64 {
        self.empty.load(Relaxed)
    }

    /// Datagrams dropped for `reason`.
    #[must_use]
    pub fn dropped(&self, reason: UdpDrop) -> u64 {
        self.dropped[reason as usize].load(Relaxed)
    }
}
