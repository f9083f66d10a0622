//! The records by themselves, for `benches/documents.rs`: the store's own way to
//! them syncs, and its time would hide theirs.

use super::damage::Damage;
use super::hour_record::HourRecord;
use super::{chunk, errors};
use crate::bucket::{Computed, Elements};
use crate::store::{BucketWrite, StoreError};

/// Elements as a chunk. One of 100 and more is packed: so are the merged chunks
/// of hours that are closed.
#[must_use]
pub fn chunk(elements: &Elements) -> Vec<u8> {
    chunk::encode(elements)
}

/// The elements of chunks of one hour.
///
/// # Errors
/// [`StoreError::Corrupt`] where one is damaged.
pub fn elements<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Result<Elements, StoreError> {
    let mut elements = Elements::default();
    for chunk in chunks {
        chunk::decode_into(chunk, &mut elements).map_err(corrupt)?;
    }
    Ok(elements)
}

/// The record of an hour that `write` makes.
#[must_use]
pub fn hour(write: &BucketWrite) -> Vec<u8> {
    let record = HourRecord {
        rev: write.target.rev,
        by: write.target.by,
        elements: write.elements.len() as u64,
        chunks: 1,
        open_chunks: 1,
        raw_dropped: false,
        computed: write.computed.clone(),
    };
    record.encode()
}

/// The computed fields in the record of an hour.
///
/// # Errors
/// [`StoreError::Corrupt`] where it is damaged.
pub fn computed(record: &[u8]) -> Result<Computed, StoreError> {
    let record = HourRecord::decode(record).map_err(corrupt)?;
    Ok(record.computed)
}

fn corrupt(damage: Damage) -> StoreError {
    errors::corrupt("a record", b"", damage)
}
