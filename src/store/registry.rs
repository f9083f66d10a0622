//! What a store keeps of sensors and sites, and how it is asked for and changed.
//!
//! Each record has a version of its own, and every change names the version it
//! was made for and the one it makes, as writes of buckets do, so that two
//! processes never overwrite each other unseen. A change whose reply was lost is
//! made again: it is answered [`Stored`](super::WriteOutcome::Stored) where the
//! record has the version it makes. What people say of a sensor and its recent readings change
//! independently, so each has its own version in the one record.

use super::{StoreError, WriterId};
use crate::model::{
    Micros, RecentReading, SensorDetails, SensorId, Site, SiteId, Tags, attribute_number,
};

/// The version of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordVersion {
    /// Changes so far, from 1.
    pub rev: i64,
    /// Who made the last one: unique per change.
    pub by: i64,
}

impl RecordVersion {
    /// The version of a record that `writer` puts in place of the one at
    /// `expect`; `None`: there is none yet.
    #[must_use]
    pub fn after(expect: Option<Self>, writer: &WriterId) -> Self {
        Self {
            rev: expect.map_or(0, |version| version.rev) + 1,
            by: writer.next(),
        }
    }
}

/// The newest readings of a sensor, as its record has them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StoredRecent {
    /// `None`: none were ever stored.
    pub version: Option<RecordVersion>,
    /// Newest first, each instant once: of all instants in the sensor's buckets
    /// exactly the newest ones.
    pub readings: Vec<RecentReading>,
}

/// A sensor's record.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredSensor {
    /// Which sensor.
    pub id: SensorId,
    /// Time of receipt of its latest reading, perhaps cut to the millisecond;
    /// `None` for one that was set up and never heard of.
    pub last_seen: Option<Micros>,
    /// All its attributes: those that people set, and the tags it sends.
    pub attributes: Tags,
    /// What people say of it.
    pub details: SensorDetails,
    /// The version of `details`; `None` where nobody has set any.
    pub version: Option<RecordVersion>,
    /// Its newest readings. Lists leave them out (empty, no version).
    pub recent: StoredRecent,
    /// Before this hour, readings were dropped and computed fields kept.
    pub raw_dropped_before: Option<crate::model::HourStart>,
}

/// A record of a sensor that cannot be read.
#[derive(Debug)]
pub struct UnreadSensor {
    /// Which sensor; `None` where what the record is kept under is no id.
    pub id: Option<SensorId>,
    /// Why.
    pub error: StoreError,
}

impl StoredSensor {
    /// The record of a sensor of which nothing is known.
    #[must_use]
    pub fn blank(id: SensorId) -> Self {
        Self {
            id,
            last_seen: None,
            attributes: Tags::default(),
            details: SensorDetails::default(),
            version: None,
            recent: StoredRecent::default(),
            raw_dropped_before: None,
        }
    }
}

/// A new list of recent readings, in place of the one at version `expect`.
#[derive(Debug, Clone, PartialEq)]
pub struct RecentWrite {
    /// The fence; `None`: none were ever stored.
    pub expect: Option<RecordVersion>,
    /// The version afterwards.
    pub target: RecordVersion,
    /// Newest first.
    pub readings: Vec<RecentReading>,
}

impl RecentWrite {
    /// The list that `writer` puts in place of the one at `expect`.
    #[must_use]
    pub fn after(
        expect: Option<RecordVersion>,
        writer: &WriterId,
        readings: Vec<RecentReading>,
    ) -> Self {
        Self {
            expect,
            target: RecordVersion::after(expect, writer),
            readings,
        }
    }
}

/// What a store is told of a sensor when its readings are stored.
#[derive(Debug, Clone, PartialEq)]
pub struct SensorTold {
    /// Which sensor.
    pub sensor: SensorId,
    /// Time of receipt of its latest reading; never moves a time back. `None`
    /// leaves it.
    pub last_seen: Option<Micros>,
    /// Tags it sends, to be merged by key into its attributes. Those that people
    /// set stay; beyond [`ATTRIBUTES_MAX`](crate::model::ATTRIBUTES_MAX) new keys
    /// are not taken.
    pub attributes: Tags,
    /// Its recent readings, where they change.
    pub recent: Option<RecentWrite>,
}

impl SensorTold {
    /// Its recent readings alone: the rest of its record stays.
    #[must_use]
    pub fn recent(sensor: SensorId, write: RecentWrite) -> Self {
        Self {
            sensor,
            last_seen: None,
            attributes: Tags::default(),
            recent: Some(write),
        }
    }
}

/// What people say of a sensor, in place of what they said before. Makes the
/// record where there is none.
#[derive(Debug, Clone, PartialEq)]
pub struct SensorPut {
    /// Which sensor.
    pub id: SensorId,
    /// The fence: the version of `details`; `None`: nobody has set any.
    pub expect: Option<RecordVersion>,
    /// The version afterwards.
    pub target: RecordVersion,
    /// All of it. Attributes that people set before and that are not here are
    /// removed; tags that the sensor sends stay, those told at this moment too,
    /// but for keys that people set. Beyond
    /// [`ATTRIBUTES_MAX`](crate::model::ATTRIBUTES_MAX) the last tags by key go.
    pub details: SensorDetails,
    /// Keys of further attributes that are removed.
    pub attributes_removed: Vec<Box<str>>,
}

/// A site, in place of what it was. Makes the record where there is none.
#[derive(Debug, Clone, PartialEq)]
pub struct SitePut {
    /// All of it.
    pub site: Site,
    /// The fence; `None`: there is no such site.
    pub expect: Option<RecordVersion>,
    /// The version afterwards.
    pub target: RecordVersion,
    /// Whether its copies in sensors are to be rewritten: noted in the same
    /// change, so that no crash forgets it. Where a rewriting is under way
    /// already it begins anew, whatever this says.
    pub rewrite_copies: bool,
}

/// How far the copies of a site are rewritten.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CopiesProgress {
    /// All sensors up to this one are done.
    pub after: Option<SensorId>,
    /// Copies rewritten so far.
    pub done: u64,
}

/// A site's record.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredSite {
    /// The site.
    pub site: Site,
    /// Its version.
    pub version: RecordVersion,
    /// While its copies are being rewritten.
    pub copies: Option<CopiesProgress>,
}

/// Which sensors are asked for: all that pass every condition.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SensorFilter {
    /// At this site.
    pub site: Option<SiteId>,
    /// With these attributes.
    pub attributes: Vec<AttributeFilter>,
    /// Heard of, but not at this time or later.
    pub silent_since: Option<Micros>,
}

/// A condition on one attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum AttributeFilter {
    /// It has this text.
    Equals {
        /// Which attribute.
        key: Box<str>,
        /// Its text.
        text: Box<str>,
    },
    /// Its text begins with this.
    Prefix {
        /// Which attribute.
        key: Box<str>,
        /// Not empty.
        prefix: Box<str>,
    },
    /// It is a number ([`attribute_number`]) within these bounds, both inclusive.
    Between {
        /// Which attribute.
        key: Box<str>,
        /// At least.
        min: Option<f64>,
        /// At most.
        max: Option<f64>,
    },
}

impl AttributeFilter {
    /// Whether `attributes` pass.
    #[must_use]
    pub fn matches(&self, attributes: &Tags) -> bool {
        match self {
            Self::Equals { key, text } => attributes.get(key) == Some(text),
            Self::Prefix { key, prefix } => attributes
                .get(key)
                .is_some_and(|text| text.starts_with(&**prefix)),
            Self::Between { key, min, max } => attributes
                .get(key)
                .and_then(attribute_number)
                .is_some_and(|number| {
                    min.is_none_or(|min| min <= number) && max.is_none_or(|max| number <= max)
                }),
        }
    }
}

impl SensorFilter {
    /// Whether `sensor` passes.
    #[must_use]
    pub fn matches(&self, sensor: &StoredSensor) -> bool {
        let site = sensor.details.site.as_ref().map(|site| &site.id);
        let is_silent = |since| sensor.last_seen.is_some_and(|seen| seen < since);
        self.site.as_ref().is_none_or(|asked| site == Some(asked))
            && self
                .attributes
                .iter()
                .all(|f| f.matches(&sensor.attributes))
            && self.silent_since.is_none_or(is_silent)
    }
}

/// Where a page of sensors begins: behind this one. Lists are ordered by id;
/// with [`SensorFilter::silent_since`] by time of receipt, then id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SensorCursor {
    /// The last sensor of the page before.
    pub id: SensorId,
    /// Its `last_seen` as the store answered it; only for lists ordered by it.
    pub last_seen: Option<Micros>,
}

impl SensorCursor {
    /// Behind `id`, in lists ordered by it.
    #[must_use]
    pub fn by_id(id: &SensorId) -> Self {
        Self {
            id: id.clone(),
            last_seen: None,
        }
    }
}
