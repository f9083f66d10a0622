//! Under which origins the readings of a sensor came, and the attributes that
//! follow from them.
//!
//! A sensor mostly has one origin for years. So each of its elements is noted by
//! the number of its origin in a small table of the sensor, and an entry has one
//! number for all its elements until a second one comes.

use std::sync::Arc;

use crate::model::{ATTRIBUTES_MAX, Origin, Tags};

/// Most origins of one sensor that are told apart; further ones are unknown.
const ORIGINS_MAX: usize = 256;

/// Bytes of an origin's place in a table, estimated.
const PLACE_BYTES: usize = 64;

/// An origin's place in the table of its sensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct OriginNumber(u16);

impl OriginNumber {
    /// No origin, or one that was not noted.
    pub(super) const UNKNOWN: Self = Self(0);
}

/// Origins and attributes of one sensor.
#[derive(Debug, Default)]
pub(super) struct Labels {
    origins: Vec<Arc<Origin>>,
    /// The origin that came last: its tags are in the attributes.
    last: OriginNumber,
    attributes: Tags,
    /// Whether the store knows the attributes.
    is_told: bool,
    bytes: usize,
}

impl Labels {
    /// Notes an origin, whose tags become attributes. Answers its number, and
    /// how many tags were not taken.
    pub(super) fn note(&mut self, origin: &Arc<Origin>) -> (OriginNumber, usize) {
        if self.get(self.last) == Some(origin) {
            return (self.last, 0);
        }
        let known = self.origins.iter().position(|known| known == origin);
        let is_new = known.is_none() && self.origins.len() < ORIGINS_MAX;
        if is_new {
            self.origins.push(Arc::clone(origin));
        }
        let place = known.or_else(|| is_new.then(|| self.origins.len() - 1));
        self.last = place
            .and_then(|place| u16::try_from(place + 1).ok())
            .map_or(OriginNumber::UNKNOWN, OriginNumber);
        let merged = self.attributes.merge(origin.tag_set(), ATTRIBUTES_MAX);
        self.is_told &= !merged.changed;
        if is_new || merged.changed {
            self.bytes = self.count_bytes();
        }
        (self.last, merged.refused)
    }

    /// The origin of that number.
    pub(super) fn get(&self, number: OriginNumber) -> Option<&Arc<Origin>> {
        let place = usize::from(number.0).checked_sub(1)?;
        self.origins.get(place)
    }

    /// The tags of all origins by key, the newest first come.
    pub(super) fn attributes(&self) -> &Tags {
        &self.attributes
    }

    /// Whether the store is to be told of the attributes.
    pub(super) fn is_untold(&self) -> bool {
        !self.is_told && !self.attributes.is_empty()
    }

    /// The attributes that are to be told.
    pub(super) fn untold(&self) -> Option<Tags> {
        self.is_untold().then(|| self.attributes.clone())
    }

    /// The store knows `attributes`.
    pub(super) fn told(&mut self, attributes: &Tags) {
        self.is_told = self.attributes == *attributes;
    }

    /// The store may not know them any more.
    pub(super) fn forget_told(&mut self) {
        self.is_told = false;
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    fn count_bytes(&self) -> usize {
        let origins = self.origins.iter();
        let origins: usize = origins.map(|o| o.bytes() + PLACE_BYTES).sum();
        let is_shared = |origin: &Arc<Origin>| self.attributes.is_shared_with(origin.tag_set());
        let attributes = match self.origins.iter().any(is_shared) {
            true => 0,
            false => self.attributes.bytes(),
        };
        size_of::<Self>() + origins + attributes
    }
}

/// The origin of each element of an entry.
#[derive(Debug)]
pub(super) enum ElementOrigins {
    /// All have this one.
    All(OriginNumber),
    /// By row.
    Each(Vec<OriginNumber>),
}

impl Default for ElementOrigins {
    fn default() -> Self {
        Self::All(OriginNumber::UNKNOWN)
    }
}

impl ElementOrigins {
    /// Notes the origin of the element `row`, which is behind all others.
    pub(super) fn push(&mut self, row: usize, origin: OriginNumber) {
        match self {
            Self::All(all) if *all == origin => {}
            Self::All(all) if row == 0 => *all = origin,
            Self::All(all) => {
                let mut each = Vec::with_capacity((row + 1).next_power_of_two());
                each.resize(row, *all);
                each.push(origin);
                *self = Self::Each(each);
            }
            Self::Each(each) => each.push(origin),
        }
    }

    /// The origin of the element `row`.
    pub(super) fn of(&self, row: usize) -> OriginNumber {
        match self {
            Self::All(all) => *all,
            Self::Each(each) => each.get(row).copied().unwrap_or_default(),
        }
    }

    /// Bytes of memory beside the entry's own.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::All(_) => 0,
            Self::Each(each) => each.capacity() * size_of::<OriginNumber>(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(core: &str) -> Arc<Origin> {
        Arc::new(Origin::new("cpu", [("core", core), ("host", "h")]).0)
    }

    #[test]
    fn an_origin_has_one_number_whichever_batch_it_came_with() {
        let mut labels = Labels::default();
        let (zero, _) = labels.note(&origin("0"));
        let (one, _) = labels.note(&origin("1"));
        assert_ne!(zero, one);
        assert_eq!(labels.note(&origin("0")).0, zero);
        assert_eq!(labels.note(&origin("0")).0, zero);
        assert_eq!(labels.get(one), Some(&origin("1")));
        assert_eq!(labels.attributes().get("core"), Some("0"));
    }

    #[test]
    fn beyond_the_table_an_origin_is_unknown_and_its_tags_are_attributes_all_the_same() {
        let mut labels = Labels::default();
        for n in 0..ORIGINS_MAX {
            assert_ne!(
                labels.note(&origin(&n.to_string())).0,
                OriginNumber::UNKNOWN
            );
        }
        let bytes = labels.bytes();
        for core in ["one more", "another"] {
            assert_eq!(labels.note(&origin(core)).0, OriginNumber::UNKNOWN);
            assert_eq!(labels.attributes().get("core"), Some(core));
        }
        assert!(labels.bytes() < bytes + 500);
        assert_eq!(labels.get(OriginNumber::UNKNOWN), None);
        assert_ne!(labels.note(&origin("7")).0, OriginNumber::UNKNOWN);
    }

    #[test]
    fn attributes_are_told_again_once_they_change() {
        let mut labels = Labels::default();
        assert!(!labels.is_untold());
        labels.note(&origin("0"));
        let first = labels.untold().unwrap();
        labels.note(&origin("1"));
        labels.told(&first);
        assert!(labels.is_untold(), "they changed in between");
        let second = labels.untold().unwrap();
        labels.told(&second);
        assert!(!labels.is_untold());
        labels.note(&origin("1"));
        assert!(!labels.is_untold());
        labels.forget_told();
        assert_eq!(labels.untold(), Some(second));
    }

    #[test]
    fn elements_of_one_origin_take_one_number() {
        let mut origins = ElementOrigins::default();
        let (a, b) = (OriginNumber(1), OriginNumber(2));
        for row in 0..100 {
            origins.push(row, a);
        }
        assert_eq!((origins.of(0), origins.of(99), origins.bytes()), (a, a, 0));
        origins.push(100, b);
        origins.push(101, a);
        assert_eq!([99, 100, 101].map(|row| origins.of(row)), [a, b, a]);
        assert!(origins.bytes() >= 204);
    }
}
