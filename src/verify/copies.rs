//! The copies of sites in sensors against the sites.

use std::collections::{BTreeMap, BTreeSet};

use super::records::{Looked, readable};
use super::{Report, Verify, Watch};
use crate::model::{SensorId, SiteCopy, SiteId};
use crate::store::{
    Inspected, LOADS_AT_ONCE, RecordVersion, SitePut, StoreError, StoredSensor, StoredSite,
    WriteOutcome,
};

/// Sensors that one call rewrites.
const AT_ONCE: usize = 1000;

/// How often a sensor and its site are read again: a site that was renamed in
/// between is another one.
const READS_AGAIN: usize = 2;

/// What a copy is held to, of all sites.
#[derive(Debug, Default)]
pub(super) struct Copies {
    sites: BTreeMap<SiteId, Known>,
    /// Sensors that are to be looked at again.
    again: Vec<SensorId>,
    /// Sites of which copies are stale, and how many.
    stale: BTreeMap<SiteId, u64>,
    /// Sites that there are not, and were told.
    unknown: BTreeSet<SiteId>,
    /// Sites that have a sensor whose record may not be written to.
    untouchable: BTreeSet<SiteId>,
    /// Whether there is a record of a sensor whose site nobody can tell.
    pub(super) has_unreadable: bool,
}

/// What there is to know of a site.
#[derive(Debug, Clone, PartialEq)]
struct Known {
    version: RecordVersion,
    name: Option<Box<str>>,
    city: Option<Box<str>>,
    /// Whether its copies are being rewritten: that goes on by itself.
    is_rewriting: bool,
    is_understood: bool,
}

impl Known {
    fn of(site: StoredSite, is_understood: bool) -> Self {
        Self {
            version: site.version,
            name: site.site.name,
            city: site.site.city,
            is_rewriting: site.copies.is_some(),
            is_understood,
        }
    }

    fn fits(&self, copy: &SiteCopy) -> bool {
        self.is_rewriting || (copy.name == self.name && copy.city == self.city)
    }
}

impl Copies {
    pub(super) fn site(&mut self, found: Inspected<StoredSite>) {
        let is_understood = found.is_understood();
        if let Some(site) = found.record {
            let id = site.site.id.clone();
            self.sites.insert(id, Known::of(site, is_understood));
        }
    }

    pub(super) fn waiting(&self) -> usize {
        self.again.len()
    }

    /// Looks at the copies of a page of sensors, and notes those that do not fit.
    pub(super) fn look_at(&mut self, page: &[Looked]) {
        for looked in page {
            let Some(copy) = &looked.sensor.details.site else {
                continue;
            };
            if !looked.is_understood {
                self.untouchable.insert(copy.id.clone());
            }
            let site = self.sites.get(&copy.id);
            if !site.is_some_and(|site| site.fits(copy)) {
                self.again.push(looked.sensor.id.clone());
            }
        }
    }

    /// Tells what still does not fit.
    pub(super) async fn look_again(
        &mut self,
        verify: &Verify<'_>,
        report: &mut Report,
        watch: &mut dyn Watch,
    ) -> Result<(), StoreError> {
        let again = std::mem::take(&mut self.again);
        for ids in again.chunks(LOADS_AT_ONCE) {
            let mut misfits: Option<Vec<Misfit>> = None;
            for _ in 0..READS_AGAIN {
                let now = misfits_of(verify, ids).await?;
                misfits = Some(match misfits {
                    None => now,
                    Some(before) => now.into_iter().filter(|m| before.contains(m)).collect(),
                });
            }
            for misfit in misfits.unwrap_or_default() {
                self.tell(misfit, report, watch);
            }
        }
        Ok(())
    }

    fn tell(&mut self, misfit: Misfit, report: &mut Report, watch: &mut dyn Watch) {
        let Misfit { sensor, copy, site } = misfit;
        report.copies_stale += 1;
        if site.is_some() {
            *self.stale.entry(copy.id.clone()).or_default() += 1;
            watch.tell(&format!(
                "sensor {sensor}: its copy of site {} is not what the site says",
                copy.id
            ));
        } else if self.unknown.insert(copy.id.clone()) {
            watch.tell(&format!(
                "sensor {sensor}: there is no site {}; put the site, or take it away from its \
                 sensors",
                copy.id
            ));
        }
    }

    /// Has the copies of sites rewritten of which some are stale.
    pub(super) async fn repair(
        &self,
        verify: &Verify<'_>,
        report: &mut Report,
        watch: &mut dyn Watch,
    ) -> Result<(), StoreError> {
        for (id, copies) in &self.stale {
            let is_understood = self.sites.get(id).is_none_or(|site| site.is_understood);
            if !is_understood || self.has_unreadable || self.untouchable.contains(id) {
                watch.tell(&format!(
                    "site {id}: its copies are not repaired: its record, or one of a sensor that \
                     may have a copy, holds what is not understood"
                ));
                continue;
            }
            let Some(stored) = verify.store.site(id).await? else {
                continue;
            };
            let put = SitePut {
                site: stored.site.clone(),
                expect: Some(stored.version),
                target: RecordVersion {
                    rev: stored.version.rev + 1,
                    by: verify.writer.next(),
                },
                rewrite_copies: true,
            };
            match verify.store.put_site(&put).await? {
                WriteOutcome::Stored => {}
                WriteOutcome::Failed(error) => return Err(error),
                WriteOutcome::Fenced => {
                    watch.tell(&format!(
                        "site {id}: not repaired: it was changed meanwhile"
                    ));
                    continue;
                }
            }
            while verify.store.rewrite_copies(id, AT_ONCE).await?.is_some() {}
            report.copies_repaired += copies;
            watch.tell(&format!("site {id}: its copies are repaired"));
        }
        Ok(())
    }
}

/// A sensor, its copy, and what it is held to; `None`: there is no such site.
#[derive(Debug, PartialEq)]
struct Misfit {
    sensor: SensorId,
    copy: SiteCopy,
    site: Option<Known>,
}

/// Those of the sensors whose copy does not fit now. Sites are read first: a copy
/// that is behind one that is not being rewritten stays behind.
async fn misfits_of(verify: &Verify<'_>, ids: &[SensorId]) -> Result<Vec<Misfit>, StoreError> {
    let copy = |sensor: &StoredSensor| sensor.details.site.clone();
    let mut sites: BTreeMap<SiteId, Option<Known>> = BTreeMap::new();
    for copy in readable(verify, ids).await?.stored.iter().filter_map(copy) {
        if sites.contains_key(&copy.id) {
            continue;
        }
        match verify.store.site(&copy.id).await {
            Ok(site) => {
                let known = site.map(|site| Known::of(site, true));
                sites.insert(copy.id, known);
            }
            // It was told where sites were looked at.
            Err(StoreError::Corrupt { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let sensors = readable(verify, ids).await?.stored.into_iter();
    let misfits = sensors.filter_map(|sensor| {
        let copy = copy(&sensor)?;
        let site = sites.get(&copy.id)?;
        let fits = site.as_ref().is_some_and(|site| site.fits(&copy));
        (!fits).then(|| Misfit {
            sensor: sensor.id,
            copy,
            site: site.clone(),
        })
    });
    Ok(misfits.collect())
}
