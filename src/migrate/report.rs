//! What a migration did and found.

use std::fmt;

/// Counts of a migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Report {
    /// Buckets that were written.
    pub copied: u64,
    /// Buckets that the target had already.
    pub present: u64,
    /// Buckets that an earlier run noted as copied, or as there already.
    pub earlier: u64,
    /// Sensors looked at.
    pub sensors: u64,
    /// Sites looked at.
    pub sites: u64,
    /// Of all of these, such as were not copied: the target holds something
    /// else, or the source is damaged there.
    pub conflicts: u64,
    /// Buckets that are the same in both stores.
    pub buckets_same: u64,
    /// Readings (instants) in these.
    pub readings_same: u64,
    /// Buckets, sensors and sites that differ, or that one store lacks.
    pub differing: u64,
}

impl Report {
    /// Whether both stores hold the same.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.conflicts == 0 && self.differing == 0
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} buckets copied, {} there already, {} done by an earlier run; {} sensors, {} sites; \
             {} not copied",
            self.copied, self.present, self.earlier, self.sensors, self.sites, self.conflicts
        )?;
        write!(
            f,
            "compared: {} buckets with {} readings are the same, {} records differ",
            self.buckets_same, self.readings_same, self.differing
        )
    }
}
