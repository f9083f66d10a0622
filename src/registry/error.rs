//! What goes wrong with a change of the registry.

use crate::model::SiteId;
use crate::store::StoreError;

/// A member of a form that may not be what it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` {reason}")]
pub struct FieldError {
    /// Which member, as `units.temp`.
    pub field: String,
    /// Why, and what may be there.
    pub reason: String,
}

impl FieldError {
    pub(super) fn new(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            field: clipped(&field.into()),
            reason: reason.into(),
        }
    }
}

/// Most characters of a sender's own name of a member that are told back.
const NAME_CHARS_MAX: usize = 160;

/// `name`, or its beginning where it is long: it may be a whole body.
pub(super) fn clipped(name: &str) -> String {
    match name.char_indices().nth(NAME_CHARS_MAX) {
        None => name.to_owned(),
        Some((end, _)) => format!("{}…", name.get(..end).unwrap_or_default()),
    }
}

/// Why a change was not made.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// What was said may not be said.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// A sensor shall be at a site that there is not.
    #[error("there is no site `{0}`: make it first, with PUT /v1/sites/{0}")]
    UnknownSite(SiteId),
    /// There are as many sensors as there may be.
    #[error("there are {0} sensors already, and no more are taken (ingest.sensors_max)")]
    TooManySensors(usize),
    /// The record is not as the condition says.
    #[error("{0}")]
    Precondition(String),
    /// There is no such record.
    #[error("there is no {what} `{id}`")]
    Unknown {
        /// `sensor` or `site`.
        what: &'static str,
        /// Which.
        id: String,
    },
    /// Others changed the record each time.
    #[error("others change this record at the same moment; try again")]
    Contended,
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
}
