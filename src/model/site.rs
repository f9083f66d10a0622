//! Sites: where sensors are.

use std::fmt;
use std::sync::Arc;

use super::{Retention, SensorId, SensorIdError};

/// A site's identifier, with the rules of a [`SensorId`]. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SiteId(Arc<str>);

/// Why a text is not a site id. The message names the rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a site id has the rules of a sensor id: {0}")]
pub struct SiteIdError(#[source] SensorIdError);

impl SiteId {
    /// Checks `text` against the rules of the type.
    ///
    /// # Errors
    /// [`SiteIdError`] names the rule.
    pub fn new(text: &str) -> Result<Self, SiteIdError> {
        SensorId::new(text).map_err(SiteIdError)?;
        Ok(Self(Arc::from(text)))
    }

    /// The id as it came.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SiteId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl fmt::Display for SiteId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a sensor carries of its site: the Extended Reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteCopy {
    /// Which site.
    pub id: SiteId,
    /// Its name.
    pub name: Option<Box<str>>,
    /// Its city.
    pub city: Option<Box<str>>,
    /// `rev` of the version of the site that this was copied from: a copy of a
    /// lower one is stale.
    pub rev: i64,
}

/// Degrees on WGS 84.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Position {
    /// -90 to 90, north is positive.
    pub latitude: f64,
    /// -180 to 180, east is positive.
    pub longitude: f64,
}

/// Whom to call about a site.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Contact {
    /// Who.
    pub name: Option<Box<str>>,
    /// What for.
    pub role: Option<Box<str>>,
    /// As it came.
    pub email: Option<Box<str>>,
    /// As it came.
    pub phone: Option<Box<str>>,
}

/// A site, whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Site {
    /// Which.
    pub id: SiteId,
    /// For people; copied into its sensors.
    pub name: Option<Box<str>>,
    /// Copied into its sensors.
    pub city: Option<Box<str>>,
    /// Street and number, or what stands for it.
    pub address: Option<Box<str>>,
    /// Where on earth.
    pub position: Option<Position>,
    /// At most [`SITE_CONTACTS_MAX`].
    pub contacts: Vec<Contact>,
    /// An IANA name, as `Europe/Zurich`.
    pub time_zone: Option<Box<str>>,
    /// Free text.
    pub notes: Option<Box<str>>,
    /// How long readings of its sensors are kept, where they do not say.
    pub retention: Retention,
}

impl Site {
    /// What its sensors carry of it, once its version has `rev`.
    #[must_use]
    pub fn copy(&self, rev: i64) -> SiteCopy {
        SiteCopy {
            id: self.id.clone(),
            name: self.name.clone(),
            city: self.city.clone(),
            rev,
        }
    }
}

/// Most contacts of a site.
pub const SITE_CONTACTS_MAX: usize = 20;
