//! All sensors by pages, each with what is said of its retention.

use std::collections::HashMap;

use crate::model::{HourStart, Keep, Micros, Retention, SensorId, SiteId};
use crate::retention::{Cutoffs, Keeps};
use crate::store::{Store, StoreError, StoredSensor, UnreadSensor};

/// Sensors and sites that one call reads.
const PAGE: usize = 1000;

/// What holds of a sensor whose record cannot be read: it may be kept for ever.
pub(super) const UNREAD: Retention = Retention {
    hours: Some(Keep::Forever),
    readings: Some(Keep::Forever),
};

/// A page of sensors.
#[derive(Debug, Default)]
pub(super) struct SensorsPage {
    pub(super) said: Vec<Said>,
    /// Those whose record cannot be read.
    pub(super) unread: Vec<UnreadSensor>,
    /// Whether there is nothing behind it.
    pub(super) is_end: bool,
}

/// A sensor and what is said of its retention.
#[derive(Debug, Clone)]
pub(super) struct Said {
    pub(super) sensor: SensorId,
    pub(super) says: Retention,
    pub(super) site: Retention,
    pub(super) raw_dropped_before: Option<HourStart>,
}

impl Said {
    /// Its cutoffs at `now`.
    pub(super) fn cutoffs(&self, setting: Keeps, now: Micros) -> Cutoffs {
        let keeps = Keeps::of(self.says, self.site, setting);
        keeps.cutoffs(now).after_drop(self.raw_dropped_before)
    }
}

/// A walk over all sensors, one call a turn.
#[derive(Debug, Default)]
pub(super) struct Fleet {
    /// Sites that say anything.
    sites: HashMap<SiteId, Retention>,
    last_site: Option<SiteId>,
    has_sites: bool,
    last_sensor: Option<SensorId>,
}

impl Fleet {
    /// Reads a page of sites; whether that was the last one.
    pub(super) async fn read_sites(&mut self, store: &dyn Store) -> Result<bool, StoreError> {
        if self.has_sites {
            return Ok(true);
        }
        let page = store.sites(self.last_site.as_ref(), PAGE).await?;
        self.has_sites = page.len() < PAGE;
        self.last_site = page.last().map(|stored| stored.site.id.clone());
        for stored in page {
            if stored.site.retention != Retention::default() {
                self.sites.insert(stored.site.id, stored.site.retention);
            }
        }
        Ok(self.has_sites)
    }

    /// Reads a page of sensors. The sites come before.
    pub(super) async fn read_sensors(
        &mut self,
        store: &dyn Store,
    ) -> Result<SensorsPage, StoreError> {
        let mut found = store.each_sensor(self.last_sensor.as_ref(), PAGE).await?;
        let id = |one: &Result<StoredSensor, UnreadSensor>| match one {
            Ok(stored) => Some(stored.id.clone()),
            Err(unread) => unread.id.clone(),
        };
        // What stands behind the last id comes again with the next page.
        let last = found.iter().rposition(|one| id(one).is_some());
        let is_full = found.len() == PAGE;
        if let Some(last) = last {
            found.truncate(last + 1);
            self.last_sensor = found.last().and_then(id);
        }
        let mut page = SensorsPage {
            is_end: last.is_none(),
            ..SensorsPage::default()
        };
        for one in found {
            match one {
                Ok(stored) => page.said.push(self.said(&stored)),
                // There is no id to go on behind.
                Err(unread) if page.is_end && is_full => return Err(unread.error),
                Err(unread) => page.unread.push(unread),
            }
        }
        Ok(page)
    }

    /// Goes back to the first sensor; the sites stay as they were read.
    pub(super) fn begin_again(&mut self) {
        self.last_sensor = None;
    }

    /// What is said of one sensor, whose site is asked for alone.
    pub(super) async fn read_one(
        store: &dyn Store,
        sensor: &SensorId,
    ) -> Result<Option<Said>, StoreError> {
        let stored = store.sensors(std::slice::from_ref(sensor)).await?.pop();
        let Some(stored) = stored else {
            return Ok(None);
        };
        let mut fleet = Self::default();
        if let Some(copy) = &stored.details.site
            && let Some(site) = store.site(&copy.id).await?
        {
            fleet.sites.insert(copy.id.clone(), site.site.retention);
        }
        Ok(Some(fleet.said(&stored)))
    }

    fn said(&self, stored: &StoredSensor) -> Said {
        let site = stored.details.site.as_ref();
        let site = site.and_then(|copy| self.sites.get(&copy.id)).copied();
        Said {
            sensor: stored.id.clone(),
            says: stored.details.retention,
            site: site.unwrap_or_default(),
            raw_dropped_before: stored.raw_dropped_before,
        }
    }
}
