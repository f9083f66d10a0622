//! Writing: fence check, batch and sync under one lock.

use fjall::{OwnedWriteBatch, Snapshot};

use super::chunk;
use super::database::Database;
use super::errors::refused;
use super::hour_record::HourRecord;
use super::keys::{bucket_key, chunk_key};
use super::read::{hour_record, last_chunks};
use crate::bucket::{Computed, Elements};
use crate::model::BucketKey;
use crate::store::{BucketVersion, BucketWrite, Expect, StoreError, WriteOutcome};

/// With this many small chunks an hour's write merges them into one: a read
/// then joins few chunks, and packed columns take a fraction of small ones.
const MERGE_CHUNKS: u64 = 16;

/// A merged chunk of this many elements is not merged again, so that an hour
/// of any size is rewritten a bounded number of times.
pub(super) const MERGED_ELEMENTS_MAX: usize = 8192;

impl Database {
    /// One round of writes: what passes its fence goes in as one batch.
    pub(super) fn write(&self, writes: &[BucketWrite]) -> Result<Vec<WriteOutcome>, StoreError> {
        let chunks: Vec<Vec<u8>> = writes.iter().map(|w| chunk::encode(&w.elements)).collect();
        self.round(
            writes.iter().zip(chunks),
            |(write, _)| &write.key,
            |snapshot, batch, (write, chunk)| self.stage(snapshot, batch, write, chunk),
        )
    }

    /// Puts one write into the batch if its fence holds.
    fn stage(
        &self,
        snapshot: &Snapshot,
        batch: &mut OwnedWriteBatch,
        write: &BucketWrite,
        mut chunk: Vec<u8>,
    ) -> Result<bool, StoreError> {
        let key = bucket_key(&write.key);
        let current = hour_record(self, snapshot, &key)?;
        let current = match (write.expect, current) {
            (Expect::Absent, None) => HourRecord {
                rev: 0,
                by: 0,
                elements: 0,
                chunks: 0,
                open_chunks: 0,
                raw_dropped: false,
                computed: Computed::default(),
            },
            (Expect::Open(expected), Some(current))
                if current.version() == expected && !current.raw_dropped =>
            {
                current
            }
            (Expect::Absent | Expect::Open(_), _) => return Ok(false),
            (Expect::Next { .. }, _) => {
                return Err(refused(format_args!(
                    "`{}` has one part only; append to it",
                    write.key
                )));
            }
        };
        let sequence = next_version(&current, write.target)?;
        let mut next = HourRecord {
            rev: write.target.rev,
            by: write.target.by,
            elements: current.elements + write.elements.len() as u64,
            computed: write.computed.clone(),
            ..current
        };
        if !write.elements.is_empty() {
            if current.open_chunks + 1 >= MERGE_CHUNKS
                && let Some(merged) = self.merge(snapshot, batch, &key, &current, &write.elements)
            {
                next.chunks -= current.open_chunks;
                next.open_chunks = u64::from(merged.len() < MERGED_ELEMENTS_MAX);
                chunk = chunk::encode(&merged);
            } else {
                next.open_chunks += 1;
            }
            next.chunks += 1;
            batch.insert(&self.chunks, chunk_key(&key, sequence), chunk);
        }
        batch.insert(&self.hours, key, next.encode());
        Ok(true)
    }

    /// The open chunks with `elements` behind them; removes these chunks in
    /// `batch`. `None` where one cannot be read: an append does no harm then,
    /// and whoever reads the hour is told.
    fn merge(
        &self,
        snapshot: &Snapshot,
        batch: &mut OwnedWriteBatch,
        key: &[u8],
        current: &HourRecord,
        elements: &Elements,
    ) -> Option<Elements> {
        let chunks = last_chunks(self, snapshot, key, current.open_chunks).ok()?;
        if chunks.len() as u64 != current.open_chunks {
            return None;
        }
        let mut merged = Elements::default();
        for (_, chunk) in &chunks {
            chunk::decode_into(chunk, &mut merged).ok()?;
        }
        merged.extend(elements);
        for (key, _) in chunks {
            batch.remove(&self.chunks, key);
        }
        Some(merged)
    }

    /// Replaces the computed fields of an hour under its fence.
    pub(super) fn repair(
        &self,
        key: &BucketKey,
        expected: BucketVersion,
        target: BucketVersion,
        computed: Computed,
    ) -> Result<bool, StoreError> {
        let key = bucket_key(key);
        let writer = self.writer()?;
        let current = hour_record(self, &self.snapshot(), &key)?;
        // Without readings there is nothing to compute from.
        let is_meant = |current: &HourRecord| current.version() == expected && !current.raw_dropped;
        let Some(current) = current.filter(is_meant) else {
            return Ok(false);
        };
        next_version(&current, target)?;
        let next = HourRecord {
            rev: target.rev,
            by: target.by,
            computed,
            ..current
        };
        let mut batch = writer.batch();
        batch.insert(&self.hours, key, next.encode());
        writer.commit(batch)?;
        Ok(true)
    }
}

/// The sequence of the chunk that goes with `target`: its `rev`, which must
/// rise, or chunks would overwrite each other.
pub(super) fn next_version(current: &HourRecord, target: BucketVersion) -> Result<u64, StoreError> {
    let sequence = u64::try_from(target.rev).ok();
    match sequence.filter(|_| target.part == 0 && target.rev > current.rev) {
        Some(sequence) => Ok(sequence),
        None => Err(refused(format_args!(
            "a write must raise the version of part 0: rev {} cannot follow rev {}",
            target.rev, current.rev
        ))),
    }
}
