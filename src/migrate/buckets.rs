//! Buckets, many a round, in the source's order.

use futures_util::StreamExt;

use super::same::{Content, beginning, content, same_fields, stated};
use super::{
    BUCKETS_AT_ONCE, Migrate, MigrateError, Note, Progress, Reached, Report, Stage, VALUES_AT_ONCE,
    Watch,
};
use crate::bucket::{Computed, Elements, Merge};
use crate::buffer::{LastPart, plan};
use crate::model::{BucketKey, HourRange};
use crate::store::{
    BucketVersion, BucketWrite, Expect, SensorHoursRange, Store, StoreError, StoredBucket,
    WriteOutcome,
};

/// A bucket on its way.
struct Copy {
    key: BucketKey,
    merge: Merge,
    /// Elements that the target has.
    row: usize,
    last: Option<LastPart>,
}

impl Migrate<'_> {
    pub(super) async fn copy_buckets(
        &self,
        parts_total: Option<u64>,
        report: &mut Report,
        watch: &mut dyn Watch,
    ) -> Result<(), MigrateError> {
        let mut progress = Progress::begun(Stage::Copying, parts_total);
        let earlier = self.reached_earlier().await?;
        if let Some(earlier) = &earlier {
            report.earlier = earlier.buckets;
            progress.buckets = earlier.buckets;
            progress.parts = earlier.parts;
            progress.readings = earlier.readings;
        }
        watch.reached(&progress);
        let mut buckets = Batches::behind(self.from, earlier.map(|earlier| earlier.last));
        while let Some(batch) = buckets.next(report, watch).await? {
            self.copy_batch(&batch, report, watch).await?;
            for bucket in &batch {
                progress.passed(bucket);
            }
            if let (Some(note), Some(last)) = (self.note, batch.last()) {
                note.write(&Reached {
                    last: last.key.clone(),
                    buckets: progress.buckets,
                    parts: progress.parts,
                    readings: progress.readings,
                })?;
            }
            watch.reached(&progress);
        }
        Ok(())
    }

    /// What an earlier run noted, where the target still holds it: it may have
    /// been emptied or restored since.
    async fn reached_earlier(&self) -> Result<Option<Reached>, MigrateError> {
        let noted = self.note.map_or(Ok(None), Note::read)?;
        let Some(reached) = noted else {
            return Ok(None);
        };
        let there = self.to.load(std::slice::from_ref(&reached.last)).await?;
        Ok(there.into_iter().flatten().next().map(|_| reached))
    }

    async fn copy_batch(
        &self,
        batch: &[StoredBucket],
        report: &mut Report,
        watch: &mut dyn Watch,
    ) -> Result<(), StoreError> {
        let keys: Vec<BucketKey> = batch.iter().map(|bucket| bucket.key.clone()).collect();
        let there = self.to.load(&keys).await?;
        let mut copies = Vec::new();
        for (bucket, there) in batch.iter().zip(&there) {
            match content(bucket) {
                Content::Damaged(reason) => conflict(&bucket.key, reason, report, watch),
                Content::Dropped(computed) => {
                    self.copy_dropped(&bucket.key, computed, there.as_ref(), report, watch)
                        .await?;
                }
                Content::Readings(merge) => match begin(&bucket.key, *merge, there.as_ref()) {
                    Ok(copy) if copy.row < copy.merge.elements().len() => copies.push(copy),
                    // Nothing is in a bucket all readings of which were deleted.
                    Ok(copy) if copy.last.is_none() => copies.push(copy),
                    Ok(_) => report.present += 1,
                    Err(reason) => conflict(&bucket.key, &reason, report, watch),
                },
            }
        }
        report.copied += copies.len() as u64;
        while !copies.is_empty() {
            self.write_round(&mut copies).await?;
        }
        Ok(())
    }

    /// One write of each bucket; those that are whole leave the list.
    async fn write_round(&self, copies: &mut Vec<Copy>) -> Result<(), StoreError> {
        let bytes_max = self.to.part_bytes_max();
        let mut planned = Vec::with_capacity(copies.len());
        for copy in copies.iter() {
            planned.push(if copy.merge.elements().is_empty() {
                let target = self.first();
                let write = first_write(&copy.key, target, Computed::default());
                let after = LastPart {
                    version: target,
                    full: false,
                    bytes: 0,
                    computed: Computed::default(),
                };
                (write, after, 0)
            } else {
                let last = copy.last.as_ref();
                let next = plan(
                    &copy.key,
                    last,
                    &copy.merge,
                    copy.row,
                    bytes_max,
                    self.writer,
                );
                (next.write, next.after, next.end)
            });
        }
        let writes: Vec<BucketWrite> = planned.iter().map(|(write, ..)| write.clone()).collect();
        let outcomes = self.to.write(&writes).await?;
        for ((copy, (write, after, end)), outcome) in copies.iter_mut().zip(planned).zip(outcomes) {
            stored(&write.key, outcome)?;
            copy.row = end;
            copy.last = Some(after);
        }
        copies.retain(|copy| copy.row < copy.merge.elements().len());
        Ok(())
    }

    /// Computed fields without readings: put in, then told to be so. A run that
    /// is cut off in between goes on with the second step.
    async fn copy_dropped(
        &self,
        key: &BucketKey,
        computed: Computed,
        there: Option<&StoredBucket>,
        report: &mut Report,
        watch: &mut dyn Watch,
    ) -> Result<(), StoreError> {
        if let Some(there) = there {
            let is_empty = there.parts.iter().all(|part| part.elements.is_empty());
            if !is_empty || !same_fields(&stated(there), &computed) {
                conflict(key, OTHER, report, watch);
                return Ok(());
            }
            if there.parts.iter().all(|part| part.raw_dropped) {
                report.present += 1;
                return Ok(());
            }
        } else {
            let write = first_write(key, self.first(), computed);
            for outcome in self.to.write(&[write]).await? {
                stored(key, outcome)?;
            }
        }
        let range = SensorHoursRange {
            sensor: key.sensor.clone(),
            hours: HourRange {
                from: key.hour,
                to: key.hour.next(),
            },
        };
        self.to.drop_readings(&[range], self.writer.next()).await?;
        report.copied += 1;
        Ok(())
    }

    fn first(&self) -> BucketVersion {
        BucketVersion {
            part: 0,
            rev: 1,
            by: self.writer.next(),
        }
    }
}

/// Why a bucket, a sensor or a site is left as it is.
pub(super) const OTHER: &str =
    "the target holds something else under this key; it is left as it is";

pub(super) fn conflict(
    what: &dyn std::fmt::Display,
    reason: &str,
    report: &mut Report,
    watch: &mut dyn Watch,
) {
    report.conflicts += 1;
    watch.tell(&format!("{what}: not copied: {reason}"));
}

/// What is left to be copied; else why nothing is: the target has something else,
/// or fields that are not true, on which further ones would rest.
fn begin(key: &BucketKey, merge: Merge, there: Option<&StoredBucket>) -> Result<Copy, String> {
    let row = match there.map(content) {
        None => 0,
        Some(Content::Dropped(_)) => return Err(OTHER.to_owned()),
        Some(Content::Damaged(reason)) => return Err(format!("in the target {reason}")),
        Some(Content::Readings(there)) => {
            beginning(there.elements(), merge.elements()).ok_or(OTHER)?
        }
    };
    let last = there.and_then(|there| there.parts.last());
    Ok(Copy {
        key: key.clone(),
        merge,
        row,
        last: last.map(|part| LastPart {
            version: part.version,
            full: part.full,
            bytes: part.bytes,
            computed: part.computed.clone(),
        }),
    })
}

fn first_write(key: &BucketKey, target: BucketVersion, computed: Computed) -> BucketWrite {
    BucketWrite {
        key: key.clone(),
        expect: Expect::Absent,
        target,
        elements: Elements::default(),
        computed,
    }
}

/// A write that went in. Nobody else may write meanwhile, so one that did not
/// ends the run; the next one compares and goes on.
pub(super) fn stored(
    what: &dyn std::fmt::Display,
    outcome: WriteOutcome,
) -> Result<(), StoreError> {
    match outcome {
        WriteOutcome::Stored => Ok(()),
        WriteOutcome::Failed(error) => Err(error),
        WriteOutcome::Fenced => Err(StoreError::Unavailable {
            store: "target",
            reason: format!(
                "{what} was changed by another process; stop what writes there and run this again"
            ),
        }),
    }
}

/// The buckets of a store, some at a time.
struct Batches {
    buckets: futures_util::stream::BoxStream<'static, Result<StoredBucket, StoreError>>,
}

impl Batches {
    /// Those behind `after`, else all.
    fn behind(store: &dyn Store, after: Option<BucketKey>) -> Self {
        let buckets = match &after {
            Some(after) => store.all_after(after),
            None => store.all(),
        };
        Self {
            // Asked again after its end, which a batch may have met.
            buckets: buckets.fuse().boxed(),
        }
    }

    /// The next ones; what cannot be read is told and counted.
    async fn next(
        &mut self,
        report: &mut Report,
        watch: &mut dyn Watch,
    ) -> Result<Option<Vec<StoredBucket>>, StoreError> {
        let mut batch: Vec<StoredBucket> = Vec::new();
        let mut values = 0;
        while batch.len() < BUCKETS_AT_ONCE && values < VALUES_AT_ONCE {
            match self.buckets.next().await {
                None if batch.is_empty() => return Ok(None),
                None => break,
                Some(Ok(bucket)) => {
                    let parts = bucket.parts.iter();
                    values += parts.map(|p| p.elements.value_count()).sum::<usize>();
                    batch.push(bucket);
                }
                Some(Err(error @ StoreError::Corrupt { .. })) => {
                    report.conflicts += 1;
                    watch.tell(&format!("not copied: {error}"));
                }
                Some(Err(error)) => return Err(error),
            }
        }
        Ok(Some(batch))
    }
}
