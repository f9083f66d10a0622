//! Changes of buckets that take readings away.

use crate::bucket::{Computed, Elements};
use crate::model::{BucketKey, HourRange, SensorId};

use super::BucketVersion;

/// What a bucket is to be, in place of what it is: readings deleted, computed
/// fields true to the rest.
#[derive(Debug, Clone)]
pub struct BucketEdit {
    /// Which bucket.
    pub key: BucketKey,
    /// All its parts in order, as they were loaded. Parts are changed from the
    /// first to the last, each in one step, so that every observer sees true
    /// computed fields; a fence that does not hold ends the edit there
    /// ([`WriteOutcome::Fenced`](super::WriteOutcome::Fenced)): load and edit again.
    pub parts: Vec<PartEdit>,
}

/// What becomes of one part.
#[derive(Debug, Clone)]
pub struct PartEdit {
    /// The version it must have.
    pub expected: BucketVersion,
    /// What is done to it.
    pub change: PartChange,
}

/// What is done to a part.
#[derive(Debug, Clone)]
pub enum PartChange {
    /// Nothing. Not for the last part where another one changes: its version is
    /// that of the bucket.
    Keep,
    /// It holds these elements now; `full` stays as it is.
    Replace {
        /// The version afterwards: `rev` + 1, a new `by`.
        target: BucketVersion,
        /// What stays, in order of arrival.
        elements: Elements,
        /// Its computed fields.
        computed: Computed,
    },
    /// It goes. Only for a bucket of one part.
    Remove,
}

/// Hours of one sensor that go, wholly or in part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SensorHoursRange {
    /// Which sensor.
    pub sensor: SensorId,
    /// Which hours; the caller keeps the range short (a few hundred hours).
    pub hours: HourRange,
}
