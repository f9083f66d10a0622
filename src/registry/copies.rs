//! The rewriting of copies of sites: the one who changed a site does it for a
//! while; what takes longer, and what a start finds, is the task's.

use std::sync::Arc;
use std::time::Duration;

use metrics::{counter, gauge};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::metrics::names;
use crate::model::SiteId;
use crate::store::{CopiesProgress, Store, StoreError};

/// How long a change of a site waits for its copies.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// How often the task looks for sites whose copies are to be rewritten: another
/// process may have left some.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// Before the task tries again after the store failed.
const PAUSE: Duration = Duration::from_secs(2);

/// Sites that one call reads.
const PAGE: usize = 1000;

/// Rewrites copies; cheap to clone.
#[derive(Debug, Clone)]
pub struct Copies {
    /// Sensors of one batch.
    batch: usize,
    left_over: Arc<Notify>,
}

impl Copies {
    /// Batches of `batch` sensors.
    #[must_use]
    pub fn new(batch: usize) -> Self {
        Self {
            batch,
            left_over: Arc::new(Notify::new()),
        }
    }

    /// Rewrites the copies of a site, for 5 s at most; what is left then, or once
    /// the store fails, is done by the task. `None` once all are done.
    pub(super) async fn settled(&self, store: &dyn Store, site: &SiteId) -> Option<CopiesProgress> {
        // Whoever drops this call half-way leaves the rest to the task, too.
        let left_over = LeftOver(Some(&self.left_over));
        let end = Instant::now() + WAIT_MAX;
        let mut progress = CopiesProgress::default();
        while Instant::now() < end {
            match self.rewrite(store, site).await {
                Ok(Some(further)) => progress = further,
                Ok(None) => {
                    left_over.nothing();
                    return None;
                }
                Err(error) => {
                    tracing::debug!(%site, %error, "copies of a site wait for the store");
                    break;
                }
            }
        }
        Some(progress)
    }

    async fn rewrite(
        &self,
        store: &dyn Store,
        site: &SiteId,
    ) -> Result<Option<CopiesProgress>, StoreError> {
        let progress = store.rewrite_copies(site, self.batch).await?;
        counter!(names::REGISTRY_COPY_BATCHES_TOTAL).increment(1);
        Ok(progress)
    }
}

/// Wakes the task when it is dropped.
struct LeftOver<'a>(Option<&'a Notify>);

impl LeftOver<'_> {
    fn nothing(mut self) {
        self.0 = None;
    }
}

impl Drop for LeftOver<'_> {
    fn drop(&mut self) {
        if let Some(left_over) = self.0 {
            left_over.notify_one();
        }
    }
}

/// The task. Runs until it is dropped.
#[derive(Debug)]
pub struct CopiesTask {
    copies: Copies,
    store: Arc<dyn Store>,
}

impl CopiesTask {
    /// Goes on with what `copies` leaves over.
    #[must_use]
    pub fn new(copies: Copies, store: Arc<dyn Store>) -> Self {
        Self { copies, store }
    }

    /// Looks at once, whenever something is left over, and every minute.
    pub async fn run(self) {
        loop {
            let pause = match self.finish_all().await {
                Ok(()) => LOOK_EVERY,
                // The store's health is told where buckets are flushed.
                Err(error) => {
                    tracing::debug!(%error, "copies of sites wait for the store");
                    PAUSE
                }
            };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.copies.left_over.notified() => {}
            }
        }
    }

    /// Those that the store refuses are told and left to the next look: they keep
    /// no other site waiting.
    async fn finish_all(&self) -> Result<(), StoreError> {
        let mut after: Option<SiteId> = None;
        let mut rewriting = Vec::new();
        loop {
            let page = self.store.sites(after.as_ref(), PAGE).await?;
            let Some(last) = page.last() else {
                break;
            };
            after = Some(last.site.id.clone());
            let unfinished = page.into_iter().filter(|site| site.copies.is_some());
            rewriting.extend(unfinished.map(|site| site.site.id));
        }
        for (done, site) in rewriting.iter().enumerate() {
            gauge!(names::REGISTRY_SITES_REWRITING).set((rewriting.len() - done) as f64);
            match self.finish(site).await {
                Ok(()) => tracing::info!(%site, "the copies of a site are current"),
                Err(error @ StoreError::Unavailable { .. }) => return Err(error),
                Err(error) => {
                    tracing::error!(%site, %error, "the copies of a site cannot be rewritten");
                }
            }
        }
        gauge!(names::REGISTRY_SITES_REWRITING).set(0.0);
        Ok(())
    }

    async fn finish(&self, site: &SiteId) -> Result<(), StoreError> {
        while self.copies.rewrite(&*self.store, site).await?.is_some() {}
        Ok(())
    }
}
