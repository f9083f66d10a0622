//! What can be wrong with stored bytes.

use crate::store::Flaw;

/// Why a record cannot be read. The text names what to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Damage {
    /// The bytes end before the record does.
    #[error("it ends too early; restore the store's directory from a backup")]
    Truncated,
    /// The bytes are not those that were written.
    #[error("its checksum does not match; restore the store's directory from a backup")]
    Checksum,
    /// Written by another version.
    #[error(
        "it has format {0}, which this version does not know; \
         start the version of hourglass that wrote it"
    )]
    UnknownFormat(u8),
    /// The checksum matches, yet the content makes no sense.
    #[error("{0}; restore the store's directory from a backup")]
    Invalid(&'static str),
}

impl Damage {
    /// The same as a flaw of the record that is called `what`.
    pub(super) fn flaw(self, what: &str) -> Flaw {
        match self {
            Self::UnknownFormat(_) => Flaw::not_understood(what, self.to_string()),
            Self::Truncated | Self::Checksum | Self::Invalid(_) => {
                Flaw::damaged(what, self.to_string())
            }
        }
    }
}
