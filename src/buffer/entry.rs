//! One bucket's entry.

use std::time::Duration;

use crate::bucket::{Conflict, Element, Merge, MergeOutcome};
use crate::model::MeasureName;
use crate::store::{BucketVersion, Expect, StoredBucket};

use super::origins::{ElementOrigins, OriginNumber};
use super::plan::LastPart;

/// Bytes an entry takes beside its elements: measured as memory of the process
/// over 100,000 buckets of one reading.
pub(super) const ENTRY_BYTES: usize = 475;

/// A bucket that has, or had, something unflushed.
#[derive(Debug, Default)]
pub(super) struct Entry {
    pub(super) merge: Merge,
    /// Under which origins its elements came; those that were loaded, unknown.
    pub(super) origins: ElementOrigins,
    /// Elements `[0, stored)` are in the store.
    pub(super) stored: usize,
    /// The last part as the store has it; `None` while nothing was stored or
    /// loaded: then the bucket is taken to be absent, and the fence tells.
    pub(super) last: Option<LastPart>,
    pub(super) flight: Option<Box<Flight>>,
    /// Journal sequence of the first pending element, if any is pending.
    pub(super) pending_seq: Option<u64>,
    /// When the first pending element came.
    pub(super) pending_since: Duration,
    /// When an element came last.
    pub(super) touched: Duration,
    /// Since the store failed for this bucket alone.
    pub(super) retry: Option<Retry>,
}

/// A bucket that the store failed for: when it is tried again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Retry {
    /// By the clock's elapsed time.
    pub(super) not_before: Duration,
    /// The pause that led there.
    pub(super) pause: Duration,
    /// Whether waiting may help.
    pub(super) is_passing: bool,
}

/// A lease under way: elements `[stored, end)`.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) end: usize,
    pub(super) after: LastPart,
    pub(super) expect: Expect,
    pub(super) seq: u64,
    /// When the first of its elements came.
    pub(super) since: Duration,
}

/// Why a bucket is flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DueReason {
    /// It holds the oldest journal segment, which must go.
    PinsJournal,
    /// Memory is short, or everything is to be flushed.
    Pressed,
    /// Its hour has closed.
    HourClosed,
    /// Its oldest pending reading is old enough.
    Age,
    /// It has enough pending readings.
    Size,
}

impl Entry {
    pub(super) fn bytes(&self) -> usize {
        self.merge.bytes() + self.origins.bytes()
    }

    pub(super) fn flight_end(&self) -> usize {
        self.flight.as_ref().map_or(self.stored, |f| f.end)
    }

    pub(super) fn pending(&self) -> usize {
        self.merge.elements().len() - self.flight_end()
    }

    /// Whether the store holds all of it.
    pub(super) fn is_clean(&self) -> bool {
        self.flight.is_none() && self.pending() == 0
    }

    pub(super) fn add<'m>(
        &mut self,
        offset: u32,
        values: impl IntoIterator<Item = (&'m MeasureName, f64)>,
        origin: OriginNumber,
        elapsed: Duration,
    ) -> MergeOutcome {
        self.touched = elapsed;
        if self.pending() == 0 {
            self.pending_since = elapsed;
        }
        self.merge_in(offset, values, origin)
    }

    /// Takes an element of an older state of this entry over.
    pub(super) fn keep(&mut self, element: Element<'_>, origin: OriginNumber) {
        self.merge_in(element.offset, element.values(), origin);
    }

    fn merge_in<'m>(
        &mut self,
        offset: u32,
        values: impl IntoIterator<Item = (&'m MeasureName, f64)>,
        origin: OriginNumber,
    ) -> MergeOutcome {
        let row = self.merge.elements().len();
        let outcome = self.merge.add(offset, values);
        if self.merge.elements().len() > row {
            self.origins.push(row, origin);
        }
        outcome
    }

    /// Notes the sequence of an element that just became pending; whether it
    /// is the first one.
    pub(super) fn pin_pending(&mut self, seq: u64) -> bool {
        if self.pending_seq.is_some() {
            return false;
        }
        self.pending_seq = Some(seq);
        true
    }

    /// Takes a flight back whose outcome nobody knows: what it carried is
    /// pending again. Answers the sequence that is pinned no more.
    pub(super) fn take_back(&mut self, flight: &Flight) -> Option<u64> {
        let later = self.pending_seq.replace(flight.seq);
        self.pending_since = flight.since;
        later
    }

    /// The entry as the store's bucket says, with what was not stored merged
    /// in again. Answers what became of those values.
    pub(super) fn rebase(&mut self, loaded: Option<&StoredBucket>) -> Rebased {
        let old = std::mem::take(&mut self.merge);
        let origins = std::mem::take(&mut self.origins);
        let unsure = self.stored..old.elements().len();
        let mut rebased = Rebased::default();
        self.last = None;
        if let Some(bucket) = loaded {
            for part in &bucket.parts {
                let from = self.merge.elements().len();
                for element in part.elements.iter() {
                    self.merge_in(element.offset, element.values(), OriginNumber::UNKNOWN);
                }
                self.last = Some(LastPart {
                    version: part.version,
                    full: part.full,
                    bytes: part.bytes,
                    computed: self.merge.computed(from, self.merge.elements().len()),
                });
            }
        }
        self.stored = self.merge.elements().len();
        self.flight = None;
        for row in unsure {
            let element = old.elements().get(row);
            let origin = origins.of(row);
            let (counts, conflicts) = self.merge_in(element.offset, element.values(), origin);
            rebased.pending += counts.new;
            rebased.duplicates += counts.duplicates;
            let conflicts = conflicts.into_iter().map(|conflict| (conflict, origin));
            rebased.conflicts.extend(conflicts);
        }
        rebased
    }

    /// The versions the bucket has before and after the flight.
    pub(super) fn flight_versions(&self) -> Option<(Option<BucketVersion>, BucketVersion)> {
        let flight = self.flight.as_ref()?;
        let closing = match flight.expect {
            Expect::Next { closing, .. } => closing,
            Expect::Absent | Expect::Open(_) => None,
        };
        Some((closing, flight.after.version))
    }
}

/// What a re-base found of the values that were not known to be stored.
#[derive(Debug, Default)]
pub(super) struct Rebased {
    pub(super) pending: usize,
    pub(super) duplicates: usize,
    /// Each with the origin of the value that is refused.
    pub(super) conflicts: Vec<(Conflict, OriginNumber)>,
}
