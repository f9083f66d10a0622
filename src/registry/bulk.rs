//! Putting a whole fleet: many sensors in one call of the store.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::error::RegistryError;
use super::list::{ListItem, ListRejection, SensorList};
use super::service::{Registry, TRIES_MAX};
use crate::ingest::Admission;
use crate::model::{SensorId, SiteCopy, SiteId};
use crate::store::{SensorPut, StoreError, StoredSensor, WriteOutcome};

/// Sensors of one call.
const AT_ONCE: usize = 1000;

/// What became of a list.
#[derive(Debug, Default)]
pub struct BulkOutcome {
    /// Sensors of which nobody had said anything before.
    pub created: u64,
    /// The others.
    pub updated: u64,
    /// The items that were refused, in order.
    pub rejections: Vec<ListRejection>,
    /// The sensors that were put.
    pub sensors: Vec<SensorId>,
}

impl Registry {
    /// Puts every item of `list`, in its order: of a sensor that stands there
    /// twice, the later one stays.
    ///
    /// # Errors
    /// What the store says. What was put before stays, and to put it again does
    /// no harm.
    pub async fn put_list(&self, list: SensorList) -> Result<BulkOutcome, RegistryError> {
        let mut outcome = BulkOutcome {
            rejections: list.rejections,
            ..BulkOutcome::default()
        };
        let mut sites = HashMap::new();
        let mut batch: Vec<ListItem> = Vec::new();
        let mut ids = HashSet::new();
        for item in list.items {
            if batch.len() == AT_ONCE || ids.contains(&item.sensor) {
                ids.clear();
                let full = std::mem::take(&mut batch);
                self.put_batch(full, &mut sites, &mut outcome).await?;
            }
            ids.insert(item.sensor.clone());
            batch.push(item);
        }
        self.put_batch(batch, &mut sites, &mut outcome).await?;
        for copy in sites.values().flatten() {
            self.check_copy(copy).await?;
        }
        outcome.rejections.sort_by_key(|rejection| rejection.index);
        Ok(outcome)
    }

    /// Items of different sensors.
    async fn put_batch(
        &self,
        items: Vec<ListItem>,
        sites: &mut HashMap<SiteId, Option<SiteCopy>>,
        outcome: &mut BulkOutcome,
    ) -> Result<(), RegistryError> {
        let mut open = self.with_sites(items, sites, outcome).await?;
        for _ in 0..TRIES_MAX {
            if open.is_empty() {
                return Ok(());
            }
            let ids: Vec<SensorId> = open.iter().map(|(item, _)| item.sensor.clone()).collect();
            let stored = self.store.sensors(&ids).await?;
            let stored: BTreeMap<&SensorId, &StoredSensor> =
                stored.iter().map(|stored| (&stored.id, stored)).collect();
            let mut admission = Admission::default();
            let mut puts = Vec::with_capacity(open.len());
            let mut put_items = Vec::with_capacity(open.len());
            for (item, site) in open {
                let known = stored.get(&item.sensor);
                if known.is_none() && !self.cap.admit(&item.sensor, &mut admission) {
                    let error = RegistryError::TooManySensors(self.cap.sensors_max());
                    outcome.reject(&item, None, "too_many_sensors", error.to_string());
                    continue;
                }
                let expect = known.and_then(|stored| stored.version);
                puts.push(SensorPut {
                    id: item.sensor.clone(),
                    expect,
                    target: self.next(expect),
                    details: item.form.clone().details(site.clone()),
                    attributes_removed: Vec::new(),
                });
                put_items.push((item, site));
            }
            let outcomes = match self.store.put_sensors(&puts).await {
                Ok(outcomes) => outcomes,
                Err(error) => {
                    self.cap.forget(&admission);
                    return Err(error.into());
                }
            };
            self.cap.settle(&admission);
            open = Vec::new();
            for ((put, put_item), put_outcome) in puts.iter().zip(put_items).zip(outcomes) {
                match put_outcome {
                    WriteOutcome::Stored => {
                        self.hold(put, stored.get(&put.id).map(|stored| &stored.details));
                        outcome.stored(put);
                    }
                    WriteOutcome::Fenced => open.push(put_item),
                    WriteOutcome::Failed(error @ StoreError::Unavailable { .. }) => {
                        return Err(error.into());
                    }
                    WriteOutcome::Failed(error) => {
                        outcome.reject(&put_item.0, None, "store_refused", error.to_string());
                    }
                }
            }
        }
        for (item, _) in open {
            let told = RegistryError::Contended.to_string();
            outcome.reject(&item, None, "contended", told);
        }
        Ok(())
    }

    /// The items with the copies of their sites; those at a site that there is
    /// not are refused.
    async fn with_sites(
        &self,
        items: Vec<ListItem>,
        sites: &mut HashMap<SiteId, Option<SiteCopy>>,
        outcome: &mut BulkOutcome,
    ) -> Result<Vec<(ListItem, Option<SiteCopy>)>, RegistryError> {
        let mut with_sites = Vec::with_capacity(items.len());
        for item in items {
            let Some(site) = &item.form.site else {
                with_sites.push((item, None));
                continue;
            };
            if !sites.contains_key(site) {
                let copy = match self.copy_of(site).await {
                    Ok(copy) => Some(copy),
                    Err(RegistryError::UnknownSite(_)) => None,
                    Err(error) => return Err(error),
                };
                sites.insert(site.clone(), copy);
            }
            match sites.get(site).cloned().flatten() {
                Some(copy) => with_sites.push((item, Some(copy))),
                None => {
                    let told = RegistryError::UnknownSite(site.clone()).to_string();
                    outcome.reject(&item, Some("site"), "unknown_site", told);
                }
            }
        }
        Ok(with_sites)
    }
}

impl BulkOutcome {
    fn stored(&mut self, put: &SensorPut) {
        match put.expect {
            None => self.created += 1,
            Some(_) => self.updated += 1,
        }
        self.sensors.push(put.id.clone());
    }

    fn reject(&mut self, item: &ListItem, field: Option<&str>, code: &'static str, detail: String) {
        self.rejections.push(ListRejection {
            index: item.index,
            line: item.line,
            field: field.map(str::to_owned),
            code,
            detail,
        });
    }
}
