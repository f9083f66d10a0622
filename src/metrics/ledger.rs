//! The ledger of invariant I7.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::UdpLedger;
use crate::model::RejectCode;

/// Why a whole request was refused; its items are not counted as received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The journal is at its bound.
    JournalFull,
    /// The journal cannot be written.
    JournalFailed,
    /// The process is stopping.
    Stopping,
    /// The bodies under way take all the memory they may.
    Busy,
    /// The body could not be read or is no body of its type.
    BadBody,
    /// The idempotency key was used for something else.
    KeyReused,
}

impl Refusal {
    /// Every refusal, in the order of declaration.
    pub const ALL: [Self; 6] = [
        Self::JournalFull,
        Self::JournalFailed,
        Self::Stopping,
        Self::Busy,
        Self::BadBody,
        Self::KeyReused,
    ];

    /// As a label's value.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::JournalFull => "journal_full",
            Self::JournalFailed => "journal_failed",
            Self::Stopping => "stopping",
            Self::Busy => "busy",
            Self::BadBody => "bad_body",
            Self::KeyReused => "key_reused",
        }
    }
}

/// Counters since the start of the process.
#[derive(Debug, Default)]
pub struct Ledger {
    received_items: AtomicU64,
    refused_items: AtomicU64,
    accepted_items: AtomicU64,
    rejected: [AtomicU64; RejectCode::ALL.len()],
    accepted_values: AtomicU64,
    recovered_values: AtomicU64,
    stored_values: AtomicU64,
    duplicate_values: AtomicU64,
    conflict_values: AtomicU64,
    deleted_values: AtomicU64,
    /// Values that passed retention before they were stored.
    expired_values: AtomicU64,
    /// Values durable in the journal and not yet applied to the buffer.
    backlog_values: AtomicU64,
    text_fields: AtomicU64,
    /// Of `conflict_values`, those that came under another origin.
    two_origins_values: AtomicU64,
    attributes_refused: AtomicU64,
    refusals: [AtomicU64; Refusal::ALL.len()],
    udp: UdpLedger,
}

/// The ledger at one moment. At rest,
/// `received = accepted + rejected + refused` in items (refused: answered 503
/// because the journal failed under them), and in values
/// `accepted + recovered = stored + duplicates + conflicts + expired + deleted +
/// pending`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(
    missing_docs,
    reason = "the fields are the terms of the equation above"
)]
pub struct LedgerSnapshot {
    pub received_items: u64,
    pub accepted_items: u64,
    pub rejected_items: u64,
    pub refused_items: u64,
    pub accepted_values: u64,
    pub recovered_values: u64,
    pub stored_values: u64,
    pub duplicate_values: u64,
    pub conflict_values: u64,
    pub deleted_values: u64,
    pub expired_values: u64,
    pub pending_values: u64,
}

impl LedgerSnapshot {
    /// Whether both equations hold.
    #[must_use]
    pub fn balances(&self) -> bool {
        self.received_items == self.accepted_items + self.rejected_items + self.refused_items
            && self.accepted_values + self.recovered_values
                == self.stored_values
                    + self.duplicate_values
                    + self.conflict_values
                    + self.deleted_values
                    + self.expired_values
                    + self.pending_values
    }
}

impl Ledger {
    /// Items of a body that was admitted to the journal.
    pub fn receive(&self, items: u64) {
        self.received_items.fetch_add(items, Relaxed);
    }

    /// Received items that the journal then failed to take.
    pub fn refuse_items(&self, items: u64) {
        self.refused_items.fetch_add(items, Relaxed);
    }

    /// Items that were refused one by one.
    pub fn reject(&self, code: RejectCode, items: u64) {
        self.rejected[code as usize].fetch_add(items, Relaxed);
    }

    /// Text fields skipped by a decoder.
    pub fn skip_text_fields(&self, fields: u64) {
        self.text_fields.fetch_add(fields, Relaxed);
    }

    /// A request refused as a whole.
    pub fn refuse(&self, refusal: Refusal) {
        self.refusals[refusal as usize].fetch_add(1, Relaxed);
    }

    /// A batch became durable.
    pub fn accept(&self, items: u64, values: u64) {
        self.backlog_values.fetch_add(values, Relaxed);
        self.accepted_values.fetch_add(values, Relaxed);
        self.accepted_items.fetch_add(items, Relaxed);
    }

    /// Values found in the journal at the start.
    pub fn recover(&self, values: u64) {
        self.backlog_values.fetch_add(values, Relaxed);
        self.recovered_values.fetch_add(values, Relaxed);
    }

    /// Values left the backlog for the buffer.
    pub fn apply(&self, values: u64) {
        self.backlog_values.fetch_sub(values, Relaxed);
    }

    /// Values that were there already.
    pub fn duplicate(&self, values: u64) {
        self.duplicate_values.fetch_add(values, Relaxed);
    }

    /// Values refused because the instant has another one.
    pub fn conflict(&self, values: u64) {
        self.conflict_values.fetch_add(values, Relaxed);
    }

    /// One of the values counted by [`Ledger::conflict`] came under another
    /// origin than the value that stays.
    pub fn conflict_of_two_origins(&self) {
        self.two_origins_values.fetch_add(1, Relaxed);
    }

    /// Values that passed retention before they were stored.
    pub fn expire(&self, values: u64) {
        self.expired_values.fetch_add(values, Relaxed);
    }

    /// Tags that did not become attributes.
    pub fn refuse_attributes(&self, tags: u64) {
        self.attributes_refused.fetch_add(tags, Relaxed);
    }

    /// Values that were deleted before the store had them.
    pub fn delete(&self, values: u64) {
        self.deleted_values.fetch_add(values, Relaxed);
    }

    /// Values the store confirmed.
    pub fn store(&self, values: u64) {
        self.stored_values.fetch_add(values, Relaxed);
    }

    /// What became of datagrams.
    #[must_use]
    pub fn udp(&self) -> &UdpLedger {
        &self.udp
    }

    /// Refused items by code.
    #[must_use]
    pub fn rejected(&self, code: RejectCode) -> u64 {
        self.rejected[code as usize].load(Relaxed)
    }

    /// Refused requests by reason.
    #[must_use]
    pub fn refused(&self, refusal: Refusal) -> u64 {
        self.refusals[refusal as usize].load(Relaxed)
    }

    /// Text fields skipped so far.
    #[must_use]
    pub fn text_fields(&self) -> u64 {
        self.text_fields.load(Relaxed)
    }

    /// Conflicts of two origins so far, in values.
    #[must_use]
    pub fn conflicts_of_two_origins(&self) -> u64 {
        self.two_origins_values.load(Relaxed)
    }

    /// Tags that did not become attributes so far.
    #[must_use]
    pub fn attributes_refused(&self) -> u64 {
        self.attributes_refused.load(Relaxed)
    }

    /// Values durable and not yet in the buffer.
    #[must_use]
    pub fn backlog(&self) -> u64 {
        self.backlog_values.load(Relaxed)
    }

    /// All terms now; `buffered_values` is what the buffer holds unflushed.
    #[must_use]
    pub fn snapshot(&self, buffered_values: u64) -> LedgerSnapshot {
        let rejected_items = RejectCode::ALL.iter().map(|c| self.rejected(*c)).sum();
        LedgerSnapshot {
            received_items: self.received_items.load(Relaxed),
            accepted_items: self.accepted_items.load(Relaxed),
            rejected_items,
            refused_items: self.refused_items.load(Relaxed),
            accepted_values: self.accepted_values.load(Relaxed),
            recovered_values: self.recovered_values.load(Relaxed),
            stored_values: self.stored_values.load(Relaxed),
            duplicate_values: self.duplicate_values.load(Relaxed),
            conflict_values: self.conflict_values.load(Relaxed),
            deleted_values: self.deleted_values.load(Relaxed),
            expired_values: self.expired_values.load(Relaxed),
            pending_values: self.backlog() + buffered_values,
        }
    }
}
