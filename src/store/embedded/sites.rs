//! Records of sites, and the copies of them in sensors.

use std::ops::Bound;

use fjall::{Readable, Slice, Snapshot};

use super::database::Database;
use super::errors::{corrupt, library};
use super::index::EntryRange;
use super::round::Fence;
use super::site_record;
use crate::model::SiteId;
use crate::store::{CopiesProgress, SitePut, StoreError, StoredSite, WriteOutcome};

/// What a site's record is called in errors.
const RECORD: &str = "the record of the site";

fn decode(id: SiteId, record: &Slice) -> Result<StoredSite, StoreError> {
    let key = id.clone();
    site_record::decode(id, record)
        .map_err(|damage| corrupt(RECORD, key.as_str().as_bytes(), damage))
}

impl Database {
    pub(super) fn site(
        &self,
        snapshot: &Snapshot,
        id: &SiteId,
    ) -> Result<Option<StoredSite>, StoreError> {
        let record = snapshot.get(&self.sites, id.as_str()).map_err(library)?;
        record.map(|record| decode(id.clone(), &record)).transpose()
    }

    /// At most `limit` sites with an id above `after`, ordered by id.
    pub(super) fn list_sites(
        &self,
        after: Option<&SiteId>,
        limit: usize,
    ) -> Result<Vec<StoredSite>, StoreError> {
        let from = after.map_or(Bound::Unbounded, |id| Bound::Excluded(id.as_str()));
        let sites = self
            .snapshot()
            .range::<&str, _>(&self.sites, (from, Bound::Unbounded));
        let read = |guard: fjall::Guard| {
            let (key, record) = guard.into_inner().map_err(library)?;
            let text = std::str::from_utf8(&key).ok();
            let id = text.and_then(|text| SiteId::new(text).ok());
            decode(
                id.ok_or_else(|| corrupt(RECORD, &key, "its key is no site"))?,
                &record,
            )
        };
        sites.take(limit).map(read).collect()
    }

    /// Puts one site, as [`Store::put_site`](crate::store::Store::put_site) says.
    pub(super) fn put_site(&self, put: &SitePut) -> Result<WriteOutcome, StoreError> {
        let writer = self.writer()?;
        let old = self.site(&self.snapshot(), &put.site.id)?;
        let stored = old.as_ref().map(|old| old.version);
        match Fence::check(stored, put.expect, put.target) {
            Fence::Holds => {}
            Fence::IsIn => return Ok(WriteOutcome::Stored),
            Fence::Fails => return Ok(WriteOutcome::Fenced),
        }
        let is_rewriting = old.is_some_and(|old| old.copies.is_some());
        let new = StoredSite {
            site: put.site.clone(),
            version: put.target,
            copies: (put.rewrite_copies || is_rewriting).then(CopiesProgress::default),
        };
        let mut batch = writer.batch();
        batch.insert(&self.sites, put.site.id.as_str(), site_record::encode(&new));
        writer.commit(batch)?;
        Ok(WriteOutcome::Stored)
    }

    /// Rewrites the next copies of a site, as
    /// [`Store::rewrite_copies`](crate::store::Store::rewrite_copies) says.
    /// Copies and progress change in one batch.
    pub(super) fn rewrite_copies(
        &self,
        id: &SiteId,
        limit: usize,
    ) -> Result<Option<CopiesProgress>, StoreError> {
        let writer = self.writer()?;
        let snapshot = self.snapshot();
        let Some(mut stored) = self.site(&snapshot, id)? else {
            return Ok(None);
        };
        let Some(mut progress) = stored.copies.take() else {
            return Ok(None);
        };
        let copy = stored.site.copy(stored.version.rev);
        let limit = limit.max(1);
        let range = EntryRange::site(id, progress.after.as_ref());
        let mut batch = writer.batch();
        let mut looked_at = 0;
        for sensor in self.entries(&snapshot, &range).take(limit) {
            let sensor = sensor?;
            if let Some(old) = self.sensor(&snapshot, &sensor)?
                && let Some(stale) = &old.details.site
                && stale.rev < copy.rev
            {
                let mut new = old.clone();
                new.details.site = Some(copy.clone());
                self.stage_sensor(&mut batch, Some(&old), &new);
                progress.done += 1;
            }
            progress.after = Some(sensor);
            looked_at += 1;
        }
        stored.copies = (looked_at == limit).then_some(progress);
        batch.insert(&self.sites, id.as_str(), site_record::encode(&stored));
        writer.commit(batch)?;
        Ok(stored.copies)
    }
}
