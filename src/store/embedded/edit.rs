//! Readings deleted from one bucket.

use fjall::{OwnedWriteBatch, Readable, Snapshot};

use super::chunk;
use super::database::Database;
use super::errors::{library, refused};
use super::hour_record::HourRecord;
use super::keys::{bucket_key, chunk_key};
use super::read::hour_record;
use super::write::{MERGED_ELEMENTS_MAX, next_version};
use crate::bucket::{Computed, Elements};
use crate::store::{BucketEdit, BucketVersion, PartChange, PartEdit, StoreError, WriteOutcome};

impl Database {
    /// Changes the one part of a bucket, as [`Store::edit`](crate::store::Store::edit)
    /// says.
    pub(super) fn edit(&self, edit: &BucketEdit) -> Result<WriteOutcome, StoreError> {
        let [PartEdit { expected, change }] = edit.parts.as_slice() else {
            return Err(refused(format_args!(
                "`{}` has one part, the edit has {}",
                edit.key,
                edit.parts.len()
            )));
        };
        let key = bucket_key(&edit.key);
        let writer = self.writer()?;
        let snapshot = self.snapshot();
        let current = hour_record(self, &snapshot, &key)?;
        let Some(current) = current.filter(|current| current.version() == *expected) else {
            return Ok(WriteOutcome::Fenced);
        };
        let mut batch = writer.batch();
        match change {
            PartChange::Keep => {}
            PartChange::Replace { .. } if current.raw_dropped => return Ok(WriteOutcome::Fenced),
            PartChange::Replace {
                target,
                elements,
                computed,
            } => {
                self.stage_removal(&snapshot, &mut batch, &key)?;
                self.stage_whole(&mut batch, key, &current, *target, elements, computed)?;
            }
            PartChange::Remove => {
                self.stage_removal(&snapshot, &mut batch, &key)?;
                batch.remove(&self.hours, key);
            }
        }
        writer.commit(batch)?;
        Ok(WriteOutcome::Stored)
    }

    /// Removes the chunks of an hour. How many there are.
    pub(super) fn stage_removal(
        &self,
        snapshot: &Snapshot,
        batch: &mut OwnedWriteBatch,
        hour_key: &[u8],
    ) -> Result<usize, StoreError> {
        let mut count = 0;
        for guard in snapshot.prefix(&self.chunks, hour_key) {
            batch.remove(&self.chunks, guard.key().map_err(library)?);
            count += 1;
        }
        Ok(count)
    }

    /// Puts in an hour whose elements are one chunk.
    fn stage_whole(
        &self,
        batch: &mut OwnedWriteBatch,
        key: Vec<u8>,
        current: &HourRecord,
        target: BucketVersion,
        elements: &Elements,
        computed: &Computed,
    ) -> Result<(), StoreError> {
        let sequence = next_version(current, target)?;
        let chunks = u64::from(!elements.is_empty());
        let is_open = elements.len() < MERGED_ELEMENTS_MAX;
        let next = HourRecord {
            rev: target.rev,
            by: target.by,
            elements: elements.len() as u64,
            chunks,
            open_chunks: if is_open { chunks } else { 0 },
            raw_dropped: false,
            computed: computed.clone(),
        };
        if chunks > 0 {
            batch.insert(
                &self.chunks,
                chunk_key(&key, sequence),
                chunk::encode(elements),
            );
        }
        batch.insert(&self.hours, key, next.encode());
        Ok(())
    }
}
