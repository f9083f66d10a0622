//! Putting a whole fleet: many sensors in one call of the store.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};

use super::before::Before;
use super::error::RegistryError;
use super::list::{ListError, ListItem, ListRejection, Place, SensorList};
use super::service::{Registry, TRIES_MAX};
use crate::buffer::SensorSeen;
use crate::ingest::Admission;
use crate::model::{SensorId, SiteCopy, SiteId};
use crate::store::{SensorPut, StoreError, StoredSensor, WriteOutcome};

/// Items of one call of the store.
const AT_ONCE: usize = 1000;

/// Rejections that are told one by one.
const LISTED_MAX: usize = 100;

/// What became of a list.
#[derive(Debug, Default, PartialEq)]
pub struct BulkOutcome {
    /// Items of sensors of which nobody had said anything before.
    pub created: u64,
    /// The other items that were put.
    pub updated: u64,
    /// Items that were refused.
    pub rejected: u64,
    /// How many of each code.
    pub rejected_by_code: BTreeMap<&'static str, u64>,
    /// The first of them, at most 100, in order.
    pub listed: Vec<ListRejection>,
}

/// Why a list ended before its end.
#[derive(Debug, thiserror::Error)]
pub enum BulkError {
    /// It cannot be read.
    #[error(transparent)]
    List(#[from] ListError),
    /// What the store says.
    #[error(transparent)]
    Registry(#[from] RegistryError),
}

/// A sensor of one part of a list.
struct Change {
    item: ListItem,
    site: Option<SiteCopy>,
    /// Items of the same sensor before it, which it replaces.
    replaced: Vec<Place>,
}

type Sites = HashMap<SiteId, Option<SiteCopy>>;

impl Registry {
    /// Puts every item of `list`, in its order: of a sensor that stands there
    /// twice, the later one stays.
    ///
    /// # Errors
    /// What the store says. What was put before stays, and to put it again does
    /// no harm.
    pub async fn put_list(&self, mut list: SensorList) -> Result<BulkOutcome, BulkError> {
        let mut outcome = BulkOutcome::default();
        let mut sites = Sites::new();
        let put = self.put_parts(&mut list, &mut sites, &mut outcome).await;
        // Also of those that were put before the store failed.
        for copy in sites.values().flatten() {
            self.check_copy(copy).await?;
        }
        put?;
        match outcome.created + outcome.updated + outcome.rejected {
            0 => Err(ListError::Empty.into()),
            _ => Ok(outcome),
        }
    }

    async fn put_parts(
        &self,
        list: &mut SensorList,
        sites: &mut Sites,
        outcome: &mut BulkOutcome,
    ) -> Result<(), RegistryError> {
        while let Some(part) = list.next_part(AT_ONCE) {
            let mut rejections = part.rejections;
            let changes = self.changes(part.items, sites, &mut rejections).await?;
            self.put_changes(changes, outcome, &mut rejections).await?;
            outcome.reject(rejections);
        }
        Ok(())
    }

    /// The items with the copies of their sites, one a sensor; those at a site
    /// that there is not are refused.
    async fn changes(
        &self,
        items: Vec<ListItem>,
        sites: &mut Sites,
        rejections: &mut Vec<ListRejection>,
    ) -> Result<Vec<Change>, RegistryError> {
        let mut changes: BTreeMap<SensorId, Change> = BTreeMap::new();
        for item in items {
            let site = match &item.form.site {
                None => None,
                Some(site) => match self.copy_once(site, sites).await? {
                    Some(copy) => Some(copy),
                    None => {
                        let told = RegistryError::UnknownSite(site.clone()).to_string();
                        let field = Some("site");
                        rejections.push(rejection(item.place, field, "unknown_site", told));
                        continue;
                    }
                },
            };
            match changes.entry(item.sensor.clone()) {
                Entry::Vacant(entry) => {
                    entry.insert(Change {
                        item,
                        site,
                        replaced: Vec::new(),
                    });
                }
                Entry::Occupied(mut entry) => {
                    let change = entry.get_mut();
                    change.replaced.push(change.item.place);
                    change.item = item;
                    change.site = site;
                }
            }
        }
        Ok(changes.into_values().collect())
    }

    async fn copy_once(
        &self,
        site: &SiteId,
        sites: &mut Sites,
    ) -> Result<Option<SiteCopy>, RegistryError> {
        if let Some(known) = sites.get(site) {
            return Ok(known.clone());
        }
        let copy = match self.copy_of(site).await {
            Ok(copy) => Some(copy),
            Err(RegistryError::UnknownSite(_)) => None,
            Err(error) => return Err(error),
        };
        sites.insert(site.clone(), copy.clone());
        Ok(copy)
    }

    async fn put_changes(
        &self,
        mut open: Vec<Change>,
        outcome: &mut BulkOutcome,
        rejections: &mut Vec<ListRejection>,
    ) -> Result<(), RegistryError> {
        for _ in 0..TRIES_MAX {
            if open.is_empty() {
                return Ok(());
            }
            let ids: Vec<SensorId> = open.iter().map(|c| c.item.sensor.clone()).collect();
            // The buffer first: what goes from there to the store is in one of them.
            let mut seen: BTreeMap<SensorId, SensorSeen> = ids
                .iter()
                .filter_map(|id| Some((id.clone(), self.buffer.seen_one(id)?)))
                .collect();
            let stored = self.store.sensors(&ids).await?;
            let mut stored: BTreeMap<SensorId, StoredSensor> = stored
                .into_iter()
                .map(|stored| (stored.id.clone(), stored))
                .collect();
            let mut admission = Admission::default();
            let mut puts = Vec::with_capacity(open.len());
            let mut put_changes = Vec::with_capacity(open.len());
            for change in open {
                let id = &change.item.sensor;
                let before = Before {
                    stored: stored.remove(id),
                    seen: seen.remove(id),
                };
                if !before.is_known() && !self.cap.admit(id, &mut admission) {
                    let error = RegistryError::TooManySensors(self.cap.sensors_max());
                    change.reject(rejections, "too_many_sensors", &error.to_string());
                    continue;
                }
                let expect = before.version();
                let form = change.item.form.clone().without_tags(&before);
                puts.push(SensorPut {
                    id: id.clone(),
                    expect,
                    target: self.next(expect),
                    details: form.details(change.site.clone()),
                    attributes_removed: Vec::new(),
                });
                put_changes.push((change, before.details()));
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
            for ((put, (change, said)), put_outcome) in puts.iter().zip(put_changes).zip(outcomes) {
                match put_outcome {
                    WriteOutcome::Stored => {
                        self.buffer.retell(&put.id);
                        self.hold(put, Some(&said));
                        outcome.count(put, &change);
                    }
                    WriteOutcome::Fenced => open.push(change),
                    WriteOutcome::Failed(error @ StoreError::Unavailable { .. }) => {
                        return Err(error.into());
                    }
                    WriteOutcome::Failed(error) => {
                        change.reject(rejections, "store_refused", &error.to_string());
                    }
                }
            }
        }
        for change in open {
            let told = RegistryError::Contended.to_string();
            change.reject(rejections, "contended", &told);
        }
        Ok(())
    }
}

impl Change {
    /// Refuses the item, and those that it replaces: nothing of them was put.
    fn reject(self, rejections: &mut Vec<ListRejection>, code: &'static str, told: &str) {
        let places = self.replaced.into_iter().chain([self.item.place]);
        rejections.extend(places.map(|place| rejection(place, None, code, told.to_owned())));
    }
}

fn rejection(
    place: Place,
    field: Option<&str>,
    code: &'static str,
    detail: String,
) -> ListRejection {
    ListRejection {
        place,
        field: field.map(str::to_owned),
        code,
        detail,
    }
}

impl BulkOutcome {
    fn count(&mut self, put: &SensorPut, change: &Change) {
        match put.expect {
            None => self.created += 1,
            Some(_) => self.updated += 1,
        }
        // Had each been put by itself, the later ones would have met the first.
        self.updated += change.replaced.len() as u64;
    }

    /// Takes in the rejections of one part.
    fn reject(&mut self, mut rejections: Vec<ListRejection>) {
        rejections.sort_by_key(|rejection| rejection.place);
        for rejection in rejections {
            self.rejected += 1;
            *self.rejected_by_code.entry(rejection.code).or_default() += 1;
            if self.listed.len() < LISTED_MAX {
                self.listed.push(rejection);
            }
        }
    }
}
