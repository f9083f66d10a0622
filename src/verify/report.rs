//! What a run found, in numbers.

use std::fmt;

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Report {
    /// Buckets looked at that could be read.
    pub buckets: u64,
    /// Readings (instants) in them.
    pub readings: u64,
    /// Parts with a field that differs.
    pub differing: u64,
    /// Of those, repaired.
    pub repaired: u64,
    /// Parts of which retention dropped the readings.
    pub dropped: u64,
    /// Parts all readings of which were deleted.
    pub empty: u64,
    /// Buckets, and what is none, in which something is missing or contradicts
    /// something else.
    pub damaged: u64,
    /// Buckets with something that this version does not know.
    pub not_understood: u64,
    /// Sensors looked at.
    pub sensors: u64,
    /// Those whose newest readings are not those of their buckets.
    pub recent_differing: u64,
    /// Of those, repaired.
    pub recent_repaired: u64,
    /// Sensors whose copy of a site is not what the site says.
    pub copies_stale: u64,
    /// Of those, repaired.
    pub copies_repaired: u64,
    /// Records of sensors and sites, and what belongs to none, that are damaged.
    pub records_damaged: u64,
    /// Those with something that this version does not know.
    pub records_not_understood: u64,
}

impl Report {
    /// Whether everything is right now.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.differing == self.repaired
            && self.recent_differing == self.recent_repaired
            && self.copies_stale == self.copies_repaired
            && [
                self.damaged,
                self.not_understood,
                self.records_damaged,
                self.records_not_understood,
            ] == [0; 4]
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} buckets with {} readings: {} parts differ, {} repaired, {} buckets damaged, {} not \
             understood; {} parts without readings, {} empty",
            self.buckets,
            self.readings,
            self.differing,
            self.repaired,
            self.damaged,
            self.not_understood,
            self.dropped,
            self.empty
        )?;
        write!(
            f,
            "{} sensors: newest readings of {} differ, {} repaired; copies of sites of {} differ, \
             {} repaired; {} records damaged, {} not understood",
            self.sensors,
            self.recent_differing,
            self.recent_repaired,
            self.copies_stale,
            self.copies_repaired,
            self.records_damaged,
            self.records_not_understood
        )
    }
}
