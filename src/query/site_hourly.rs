//! Totals of a site by hour: the computed fields of its sensors' hours, merged. No
//! readings are read.

use std::collections::BTreeMap;

use super::{Completeness, Query};
use crate::bucket::Computed;
use crate::model::{HourRange, HourStart, SensorId, SiteId};
use crate::store::{SensorCursor, SensorFilter, StoreError};

/// Sensors of one page of a site.
const SENSORS_PAGE: usize = 10_000;

/// Sensors whose hours are in memory at once.
const SENSORS_AT_ONCE: usize = 100;

/// One hour of a site.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SiteHour {
    /// Sensors that have readings in it.
    pub sensors: u64,
    /// Over all of them.
    pub computed: Computed,
}

/// The answer.
#[derive(Debug, Clone, PartialEq)]
pub struct SiteHourlyAnswer {
    /// Whether it may miss readings.
    pub completeness: Completeness,
    /// Sensors at the site.
    pub sensors: usize,
    /// The hours that have readings, oldest first.
    pub hours: BTreeMap<HourStart, SiteHour>,
}

impl Query {
    /// The sensors at a site, ordered by id; more than `sensors_max` where there
    /// are more.
    ///
    /// # Errors
    /// What the store says.
    pub async fn sensors_of_site(
        &self,
        site: &SiteId,
        sensors_max: usize,
    ) -> Result<Vec<SensorId>, StoreError> {
        let filter = SensorFilter {
            site: Some(site.clone()),
            ..SensorFilter::default()
        };
        let mut sensors = Vec::new();
        let mut after: Option<SensorCursor> = None;
        loop {
            let page = self
                .store
                .find_sensors(&filter, after.as_ref(), SENSORS_PAGE);
            let page = page.await?;
            let is_last = page.len() < SENSORS_PAGE;
            sensors.extend(page.into_iter().map(|stored| stored.id));
            if is_last || sensors.len() > sensors_max {
                return Ok(sensors);
            }
            after = sensors.last().map(SensorCursor::by_id);
        }
    }

    /// The hours of `sensors` together.
    ///
    /// # Errors
    /// What the store says, unless it is away.
    pub async fn site_hourly(
        &self,
        sensors: &[SensorId],
        hours: HourRange,
    ) -> Result<SiteHourlyAnswer, StoreError> {
        let mut answer = SiteHourlyAnswer {
            completeness: self.completeness(),
            sensors: sensors.len(),
            hours: BTreeMap::new(),
        };
        for sensors in sensors.chunks(SENSORS_AT_ONCE) {
            let hourly = self.hourly(sensors, hours).await?;
            if hourly.completeness != Completeness::Complete {
                answer.completeness = hourly.completeness;
            }
            for (hour, computed) in hourly.sensors.into_iter().flat_map(|sensor| sensor.hours) {
                let total: &mut SiteHour = answer.hours.entry(hour).or_default();
                total.sensors += 1;
                total.computed.merge(&computed);
            }
        }
        Ok(answer)
    }
}
