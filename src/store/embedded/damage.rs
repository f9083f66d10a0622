//! What can be wrong with stored bytes.

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
