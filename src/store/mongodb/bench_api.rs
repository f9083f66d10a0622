//! The documents by themselves, for `benches/documents.rs`: the store's own way
//! to them needs a server, whose time would hide theirs.

use ::mongodb::bson::{RawDocument, RawDocumentBuf};

use super::indexes::BUCKETS;
use super::statement::{append, create, update_command};
use super::{decode, document};
use crate::bucket::Computed;
use crate::store::{BucketWrite, Expect, StoreError, StoredPart};

/// The statement of a write, as [`super::MongoStore`] sends it.
#[must_use]
pub fn statement(write: &BucketWrite) -> RawDocumentBuf {
    match write.expect {
        Expect::Absent | Expect::Next { .. } => create(write),
        Expect::Open(expected) => append(write, expected),
    }
}

/// The command of all statements.
#[must_use]
pub fn command(statements: Vec<RawDocumentBuf>) -> RawDocumentBuf {
    update_command(BUCKETS, statements)
}

/// The document of a new part.
#[must_use]
pub fn new_part(write: &BucketWrite) -> RawDocumentBuf {
    document::new_part(&write.key, write.target, &write.elements, &write.computed)
}

/// A document with its readings.
///
/// # Errors
/// [`StoreError::Corrupt`] where it is no bucket.
pub fn part(document: &RawDocument) -> Result<StoredPart, StoreError> {
    Ok(decode::decode_part(document)?.part)
}

/// Its computed fields alone.
///
/// # Errors
/// [`StoreError::Corrupt`] where it is no bucket.
pub fn computed(document: &RawDocument) -> Result<Computed, StoreError> {
    Ok(decode::decode_summary(document)?.computed)
}
