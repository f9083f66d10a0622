//! Changes of records: loaded, built, put under the fence, and again where
//! somebody else was there.

use std::sync::Arc;

use serde_json::Value;

use super::before::Before;
use super::copies::Copies;
use super::entity_tag::{Precondition, entity_tag};
use super::error::{FieldError, RegistryError};
use super::merge_patch::merge_patch;
use super::sensor_form::SensorForm;
use super::site_form::SiteForm;
use crate::buffer::Buffer;
use crate::ingest::{Admission, SensorCap};
use crate::model::{SensorDetails, SensorId, Site, SiteCopy, SiteId};
use crate::retention::RetentionTable;
use crate::store::{
    RecordVersion, SensorPut, SitePut, Store, StoreError, StoredSite, WriteOutcome, WriterId,
};

/// How often a change is made again that met another one.
pub(super) const TRIES_MAX: usize = 10;

/// The registry; cheap to clone.
#[derive(Debug, Clone)]
pub struct Registry {
    pub(super) store: Arc<dyn Store>,
    /// The same, for questions that change nothing.
    asked: Arc<dyn Store>,
    pub(super) buffer: Arc<Buffer>,
    pub(super) cap: Arc<SensorCap>,
    pub(super) writer: Arc<WriterId>,
    copies: Copies,
    pub(super) retention: Arc<RetentionTable>,
}

/// A sensor that was put.
#[derive(Debug)]
pub struct PutSensor {
    /// What it is now.
    pub put: SensorPut,
    /// Whether nobody had said anything of it before.
    pub is_new: bool,
}

/// A site that was put.
#[derive(Debug)]
pub struct PutSite {
    /// What it is now.
    pub site: StoredSite,
    /// Whether there was none.
    pub is_new: bool,
}

impl Registry {
    /// The registry of `store`, beside what `buffer` holds back of it. New sensors
    /// pass `cap`.
    #[must_use]
    pub fn new(
        store: Arc<dyn Store>,
        buffer: Arc<Buffer>,
        cap: Arc<SensorCap>,
        writer: WriterId,
        copies: Copies,
    ) -> Self {
        Self {
            asked: Arc::clone(&store),
            store,
            buffer,
            cap,
            writer: Arc::new(writer),
            copies,
            retention: Arc::default(),
        }
    }

    /// The same, waking whoever keeps `retention` where a change may concern it.
    #[must_use]
    pub fn with_retention(self, retention: Arc<RetentionTable>) -> Self {
        Self { retention, ..self }
    }

    /// The same, asking `store` where nothing is to be changed.
    #[must_use]
    pub fn with_queries_to(self, store: Arc<dyn Store>) -> Self {
        Self {
            asked: store,
            ..self
        }
    }

    /// Puts what `form` says in place of what was said of `id`.
    ///
    /// # Errors
    /// [`RegistryError`]: nothing was changed.
    pub async fn put_sensor(
        &self,
        id: &SensorId,
        condition: &Precondition,
        form: &SensorForm,
    ) -> Result<PutSensor, RegistryError> {
        self.change_sensor(id, condition, |before| {
            Ok((form.clone().without_tags(before), Vec::new()))
        })
        .await
    }

    /// Merges `patch` (RFC 7396) into what was said of a known sensor. An
    /// attribute that becomes `null` is removed, also where a device sent it.
    ///
    /// # Errors
    /// [`RegistryError`]: nothing was changed.
    pub async fn patch_sensor(
        &self,
        id: &SensorId,
        condition: &Precondition,
        patch: &Value,
    ) -> Result<PutSensor, RegistryError> {
        let removed = removed_attributes(patch);
        self.change_sensor(id, condition, |before| {
            if !before.is_known() {
                return Err(RegistryError::Unknown {
                    what: "sensor",
                    id: id.to_string(),
                });
            }
            let form = SensorForm::of(&before.details()).to_json();
            let form = SensorForm::read(&merge_patch(form, patch), Some(id))?;
            Ok((form, removed.clone()))
        })
        .await
    }

    async fn change_sensor(
        &self,
        id: &SensorId,
        condition: &Precondition,
        change: impl Fn(&Before) -> Result<(SensorForm, Vec<Box<str>>), RegistryError>,
    ) -> Result<PutSensor, RegistryError> {
        for _ in 0..TRIES_MAX {
            // The buffer first: what goes from there to the store is in one of them.
            let seen = self.buffer.seen_one(id);
            let stored = self.store.sensors(std::slice::from_ref(id)).await?.pop();
            let before = Before { stored, seen };
            let tag = before.is_known().then(|| entity_tag(before.version()));
            condition.check(tag.as_deref())?;
            let (form, attributes_removed) = change(&before)?;
            let site = match &form.site {
                None => None,
                Some(site) => Some(self.copy_of(site).await?),
            };
            let expect = before.version();
            let put = SensorPut {
                id: id.clone(),
                expect,
                target: self.next(expect),
                details: form.details(site),
                attributes_removed,
            };
            let mut admission = Admission::default();
            if !before.is_known() && !self.cap.admit(id, &mut admission) {
                return Err(RegistryError::TooManySensors(self.cap.sensors_max()));
            }
            let put_one = self.store.put_sensors(std::slice::from_ref(&put)).await;
            match put_one.map(|mut outcomes| outcomes.pop()) {
                Ok(Some(WriteOutcome::Stored)) => {
                    self.cap.settle(&admission);
                    // What the device still sends may have been hidden or removed.
                    self.buffer.retell(id);
                    self.hold(&put, Some(&before.details()));
                    if let Some(copy) = &put.details.site {
                        self.check_copy(copy).await?;
                    }
                    let is_new = expect.is_none();
                    return Ok(PutSensor { put, is_new });
                }
                Ok(Some(WriteOutcome::Fenced)) => self.cap.forget(&admission),
                Ok(Some(WriteOutcome::Failed(error))) | Err(error) => {
                    self.cap.forget(&admission);
                    return Err(error.into());
                }
                Ok(None) => {
                    self.cap.forget(&admission);
                    return Err(self.unanswered().into());
                }
            }
        }
        Err(RegistryError::Contended)
    }

    /// Where a sensor says otherwise now how long it is kept, nothing of it goes
    /// until that was looked at.
    pub(super) fn hold(&self, put: &SensorPut, before: Option<&SensorDetails>) {
        let says = |details: &SensorDetails| {
            let site = details.site.as_ref().map(|site| site.id.clone());
            (details.retention, site)
        };
        if before.map(says).unwrap_or_default() != says(&put.details) {
            self.retention.hold(&put.id);
        }
    }

    /// The copy of a site that there is.
    pub(super) async fn copy_of(&self, site: &SiteId) -> Result<SiteCopy, RegistryError> {
        let stored = self.store.site(site).await?;
        let stored = stored.ok_or_else(|| RegistryError::UnknownSite(site.clone()))?;
        Ok(stored.site.copy(stored.version.rev))
    }

    /// A site that was renamed while its copy was on its way into a sensor: the
    /// rewriting may have passed that sensor before it carried the copy. So what
    /// was copied is compared once the sensor has it, and rewritten once more.
    pub(super) async fn check_copy(&self, copy: &SiteCopy) -> Result<(), RegistryError> {
        let now = self.store.site(&copy.id).await?;
        let is_stale =
            |now: &StoredSite| (&now.site.name, &now.site.city) != (&copy.name, &copy.city);
        if now.as_ref().is_some_and(is_stale) {
            self.change_site(&copy.id, &Precondition::default(), true, |site| {
                site.map(|stored| stored.site.clone())
                    .ok_or_else(|| RegistryError::UnknownSite(copy.id.clone()))
            })
            .await?;
        }
        Ok(())
    }

    /// A version after `expect`.
    pub(super) fn next(&self, expect: Option<RecordVersion>) -> RecordVersion {
        RecordVersion::after(expect, &self.writer)
    }

    /// A site, if there is one.
    ///
    /// # Errors
    /// What the store says.
    pub async fn site(&self, id: &SiteId) -> Result<Option<StoredSite>, StoreError> {
        self.asked.site(id).await
    }

    /// At most `limit` sites above `after`, ordered by id.
    ///
    /// # Errors
    /// What the store says.
    pub async fn sites(
        &self,
        after: Option<&SiteId>,
        limit: usize,
    ) -> Result<Vec<StoredSite>, StoreError> {
        self.asked.sites(after, limit).await
    }

    /// Puts what `form` says in place of a site. Where its name or city changes
    /// the copies in its sensors are rewritten, for 5 s at most here and the rest in
    /// the background.
    ///
    /// # Errors
    /// [`RegistryError`]: nothing was changed.
    pub async fn put_site(
        &self,
        id: &SiteId,
        condition: &Precondition,
        form: &SiteForm,
    ) -> Result<PutSite, RegistryError> {
        self.change_site(id, condition, false, |_| Ok(form.clone().into_site()))
            .await
    }

    /// Merges `patch` (RFC 7396) into a site that there is.
    ///
    /// # Errors
    /// [`RegistryError`]: nothing was changed.
    pub async fn patch_site(
        &self,
        id: &SiteId,
        condition: &Precondition,
        patch: &Value,
    ) -> Result<PutSite, RegistryError> {
        self.change_site(id, condition, false, |stored| {
            let stored = stored.ok_or_else(|| RegistryError::Unknown {
                what: "site",
                id: id.to_string(),
            })?;
            let form = Value::Object(SiteForm::of(&stored.site).to_json());
            let form: Result<SiteForm, FieldError> = SiteForm::read(&merge_patch(form, patch), id);
            Ok(form?.into_site())
        })
        .await
    }

    async fn change_site(
        &self,
        id: &SiteId,
        condition: &Precondition,
        rewrite_copies: bool,
        change: impl Fn(Option<&StoredSite>) -> Result<Site, RegistryError>,
    ) -> Result<PutSite, RegistryError> {
        for _ in 0..TRIES_MAX {
            let stored = self.store.site(id).await?;
            let tag = stored
                .as_ref()
                .map(|stored| entity_tag(Some(stored.version)));
            condition.check(tag.as_deref())?;
            let site = change(stored.as_ref())?;
            let expect = stored.as_ref().map(|stored| stored.version);
            let is_renamed = stored.as_ref().is_some_and(|stored| {
                (&stored.site.name, &stored.site.city) != (&site.name, &site.city)
            });
            let put = SitePut {
                site,
                expect,
                target: self.next(expect),
                rewrite_copies: rewrite_copies || is_renamed,
            };
            match self.store.put_site(&put).await? {
                WriteOutcome::Stored => {
                    let before = stored.as_ref().map(|stored| stored.site.retention);
                    if before.unwrap_or_default() != put.site.retention {
                        self.retention.hold_all();
                    }
                    let is_rewriting =
                        put.rewrite_copies || stored.is_some_and(|stored| stored.copies.is_some());
                    let copies = match is_rewriting {
                        true => self.copies.settled(&*self.store, id).await,
                        false => None,
                    };
                    return Ok(PutSite {
                        site: StoredSite {
                            site: put.site,
                            version: put.target,
                            copies,
                        },
                        is_new: expect.is_none(),
                    });
                }
                WriteOutcome::Fenced => {}
                WriteOutcome::Failed(error) => return Err(error.into()),
            }
        }
        Err(RegistryError::Contended)
    }

    pub(super) fn unanswered(&self) -> StoreError {
        StoreError::Unavailable {
            store: self.store.name(),
            reason: "it did not say what became of a record".to_owned(),
        }
    }
}

/// Keys of attributes that a patch sets to `null`.
fn removed_attributes(patch: &Value) -> Vec<Box<str>> {
    let attributes = patch.get("attributes").and_then(Value::as_object);
    let removed = attributes
        .into_iter()
        .flatten()
        .filter(|(_, value)| value.is_null());
    removed.map(|(key, _)| key.as_str().into()).collect()
}
