//! A sensor as it is before a change: what the store has, and what the buffer
//! holds back of it.

use crate::buffer::SensorSeen;
use crate::model::SensorDetails;
use crate::store::{RecordVersion, StoredSensor};

/// What is known of one sensor.
#[derive(Debug)]
pub(super) struct Before {
    pub(super) stored: Option<StoredSensor>,
    pub(super) seen: Option<SensorSeen>,
}

impl Before {
    /// Whether it was heard of or set up.
    pub(super) fn is_known(&self) -> bool {
        self.stored.is_some() || self.seen.is_some()
    }

    /// The version of its details.
    pub(super) fn version(&self) -> Option<RecordVersion> {
        self.stored.as_ref().and_then(|stored| stored.version)
    }

    /// What people said.
    pub(super) fn details(&self) -> SensorDetails {
        let stored = self.stored.as_ref();
        stored
            .map(|stored| stored.details.clone())
            .unwrap_or_default()
    }

    /// Whether the device says this of itself, and no person does.
    pub(super) fn is_tag(&self, key: &str, text: &str) -> bool {
        let stored = self.stored.as_ref();
        if stored.is_some_and(|stored| stored.details.attributes.get(key).is_some()) {
            return false;
        }
        let stored = stored.and_then(|stored| stored.attributes.get(key));
        let seen = self.seen.as_ref().and_then(|seen| seen.attributes.get(key));
        stored == Some(text) || seen == Some(text)
    }
}
