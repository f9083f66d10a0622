//! Sites and sensors.

use std::collections::HashMap;

use super::buckets::{OTHER, conflict, stored};
use super::{Migrate, RECORDS_AT_ONCE, Report, Watch};
use crate::model::{HourRange, HourStart, SensorId, SiteId, Tags};
use crate::store::{
    RecentWrite, RecordVersion, SensorCursor, SensorFilter, SensorHoursRange, SensorPut,
    SensorTold, SitePut, Store, StoreError, StoredSensor, StoredSite,
};

impl Migrate<'_> {
    pub(super) async fn copy_sites(
        &self,
        report: &mut Report,
        watch: &mut dyn Watch,
    ) -> Result<(), StoreError> {
        let mut after = None;
        while let Some((page, last)) = sites(self.from, after.as_ref()).await? {
            for StoredSite {
                site,
                version,
                copies,
            } in page
            {
                report.sites += 1;
                match self.to.site(&site.id).await? {
                    Some(there) if there.site == site => {}
                    Some(_) => conflict(&format!("site {}", site.id), OTHER, report, watch),
                    None => {
                        let put = SitePut {
                            expect: None,
                            target: self.first_version(Some(version)),
                            // What was under way goes on at the target.
                            rewrite_copies: copies.is_some(),
                            site,
                        };
                        stored(&put.site.id, self.to.put_site(&put).await?)?;
                    }
                }
            }
            after = Some(last);
        }
        Ok(())
    }

    pub(super) async fn copy_sensors(
        &self,
        report: &mut Report,
        watch: &mut dyn Watch,
    ) -> Result<(), StoreError> {
        let mut after = None;
        while let Some((page, last)) = sensors(self.from, after.as_ref()).await? {
            let there = by_id(self.to, &page).await?;
            for sensor in page {
                report.sensors += 1;
                let blank = || StoredSensor::blank(sensor.id.clone());
                let there = there.get(&sensor.id).cloned().unwrap_or_else(blank);
                if self.copy_sensor(&sensor, &there).await?.is_none() {
                    conflict(&format!("sensor {}", sensor.id), OTHER, report, watch);
                }
            }
            after = Some(last);
        }
        Ok(())
    }

    /// `None` where the target says something else of it.
    async fn copy_sensor(
        &self,
        sensor: &StoredSensor,
        there: &StoredSensor,
    ) -> Result<Option<()>, StoreError> {
        let has_recent = there.recent.version.is_some();
        if (there.version.is_some() && there.details != sensor.details)
            || (has_recent && there.recent.readings != sensor.recent.readings)
        {
            return Ok(None);
        }
        if sensor.version.is_some() && there.version.is_none() {
            let put = SensorPut {
                id: sensor.id.clone(),
                expect: None,
                target: self.first_version(sensor.version),
                details: sensor.details.clone(),
                attributes_removed: Vec::new(),
            };
            for outcome in self.to.put_sensors(&[put]).await? {
                stored(&sensor.id, outcome)?;
            }
        }
        let recent = (sensor.recent.version.is_some() && !has_recent).then(|| RecentWrite {
            expect: None,
            target: self.first_version(sensor.recent.version),
            readings: sensor.recent.readings.clone(),
        });
        let told = SensorTold {
            sensor: sensor.id.clone(),
            last_seen: sensor.last_seen,
            attributes: told_tags(sensor),
            recent,
        };
        for outcome in self.to.touch(&[told]).await? {
            stored(&sensor.id, outcome)?;
        }
        if let Some(before) = sensor.raw_dropped_before
            && there.raw_dropped_before != Some(before)
        {
            self.note_dropped(&sensor.id, before).await?;
        }
        Ok(Some(()))
    }

    /// The hour before `before` is not in the target yet, or was dropped: no
    /// bucket is copied before the sensor is.
    async fn note_dropped(&self, sensor: &SensorId, before: HourStart) -> Result<(), StoreError> {
        let range = SensorHoursRange {
            sensor: sensor.clone(),
            hours: HourRange {
                from: HourStart::from_hours(before.hours() - 1),
                to: before,
            },
        };
        self.to.drop_readings(&[range], self.writer.next()).await?;
        Ok(())
    }

    /// The version a record has at the source, so that what was read there is
    /// still current; only its writer is this one.
    fn first_version(&self, at_source: Option<RecordVersion>) -> RecordVersion {
        at_source.unwrap_or_else(|| RecordVersion::after(None, self.writer))
    }
}

/// Tags that the sensor sends: its attributes without those that people set.
fn told_tags(sensor: &StoredSensor) -> Tags {
    let set = &sensor.details.attributes;
    let told = sensor.attributes.iter();
    Tags::new(told.filter(|(key, _)| set.get(key).is_none()))
}

/// A page of sites behind `after`, and the last of it.
pub(super) async fn sites(
    store: &dyn Store,
    after: Option<&SiteId>,
) -> Result<Option<(Vec<StoredSite>, SiteId)>, StoreError> {
    let page = store.sites(after, RECORDS_AT_ONCE).await?;
    let last = page.last().map(|site| site.site.id.clone());
    Ok(last.map(|last| (page, last)))
}

/// A page of whole records of sensors behind `after`, and where it ends.
pub(super) async fn sensors(
    store: &dyn Store,
    after: Option<&SensorCursor>,
) -> Result<Option<(Vec<StoredSensor>, SensorCursor)>, StoreError> {
    let all = SensorFilter::default();
    let page = store.find_sensors(&all, after, RECORDS_AT_ONCE).await?;
    let Some(last) = page.last().map(|sensor| SensorCursor::by_id(&sensor.id)) else {
        return Ok(None);
    };
    let ids: Vec<SensorId> = page.into_iter().map(|sensor| sensor.id).collect();
    Ok(Some((store.sensors(&ids).await?, last)))
}

/// The records that `store` has of the sensors of `page`.
pub(super) async fn by_id(
    store: &dyn Store,
    page: &[StoredSensor],
) -> Result<HashMap<SensorId, StoredSensor>, StoreError> {
    let ids: Vec<SensorId> = page.iter().map(|sensor| sensor.id.clone()).collect();
    let found = store.sensors(&ids).await?;
    Ok(found.into_iter().map(|s| (s.id.clone(), s)).collect())
}
