//! The copies of sites in sensors against the sites.

use std::collections::{BTreeMap, BTreeSet};

use super::{Report, Verify};
use crate::model::{SiteCopy, SiteId};
use crate::store::{
    RecordVersion, SitePut, Store, StoreError, StoredSensor, StoredSite, WriteOutcome,
};

/// Sites that one call lists, and sensors that one call rewrites.
const AT_ONCE: usize = 1000;

/// All sites, and those of which copies are stale.
#[derive(Debug)]
pub(super) struct Copies {
    sites: BTreeMap<SiteId, StoredSite>,
    stale: BTreeMap<SiteId, u64>,
    unknown: BTreeSet<SiteId>,
}

impl Copies {
    pub(super) async fn read(store: &dyn Store) -> Result<Self, StoreError> {
        let mut sites: BTreeMap<SiteId, StoredSite> = BTreeMap::new();
        loop {
            let after = sites.last_key_value().map(|(id, _)| id.clone());
            let page = store.sites(after.as_ref(), AT_ONCE).await?;
            if page.is_empty() {
                break;
            }
            sites.extend(page.into_iter().map(|site| (site.site.id.clone(), site)));
        }
        Ok(Self {
            sites,
            stale: BTreeMap::new(),
            unknown: BTreeSet::new(),
        })
    }

    /// Looks at the copies of a page of sensors.
    pub(super) fn look_at(
        &mut self,
        page: &[StoredSensor],
        report: &mut Report,
        tell: &mut impl FnMut(String),
    ) {
        for sensor in page {
            let Some(copy) = &sensor.details.site else {
                continue;
            };
            match self.sites.get(&copy.id) {
                // Being rewritten now: that is known, and goes on by itself.
                Some(site) if site.copies.is_some() => {}
                Some(site) if is_true(copy, site) => {}
                Some(_) => {
                    report.copies_stale += 1;
                    *self.stale.entry(copy.id.clone()).or_default() += 1;
                    tell(format!(
                        "sensor {}: its copy of site {} is not what the site says",
                        sensor.id, copy.id
                    ));
                }
                None => {
                    report.copies_stale += 1;
                    if self.unknown.insert(copy.id.clone()) {
                        tell(format!(
                            "sensor {}: there is no site {}; put the site, or take it away from \
                             its sensors",
                            sensor.id, copy.id
                        ));
                    }
                }
            }
        }
    }

    /// Has the copies of sites rewritten of which some are stale.
    pub(super) async fn repair(
        &self,
        verify: &Verify<'_>,
        report: &mut Report,
        tell: &mut impl FnMut(String),
    ) -> Result<(), StoreError> {
        for (id, copies) in &self.stale {
            let Some(stored) = self.sites.get(id) else {
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
                // Whoever changed it has them rewritten.
                WriteOutcome::Fenced => continue,
            }
            while verify.store.rewrite_copies(id, AT_ONCE).await?.is_some() {}
            report.copies_repaired += copies;
            tell(format!("site {id}: its copies are repaired"));
        }
        Ok(())
    }
}

fn is_true(copy: &SiteCopy, site: &StoredSite) -> bool {
    copy.name == site.site.name && copy.city == site.site.city
}
