//! The pass over buckets: what does not fit is looked at again, told and repaired.

use std::collections::BTreeSet;

use futures_util::StreamExt;

use super::form::{Findings, name};
use super::unrecorded::Unrecorded;
use super::{LOOK_AGAIN_MAX, LOOKS_MAX, Progress, Report, Verify, Watch};
use crate::model::{BucketKey, SensorId};
use crate::store::{BucketVersion, InspectedBucket, StoreError, StoredPart};

/// A bucket in which something did not fit.
#[derive(Debug)]
struct Waiting {
    key: BucketKey,
    /// The versions of its parts then.
    seen: Vec<BucketVersion>,
}

/// What is looked at again.
#[derive(Debug, Default)]
struct Again {
    waiting: Vec<Waiting>,
    /// Sensors with a bucket that still could not be read whole.
    unsound: BTreeSet<SensorId>,
}

impl Verify<'_> {
    /// Gives the sensors of which not all readings could be read, and notes in
    /// `unrecorded` which there are.
    pub(super) async fn buckets(
        &self,
        unrecorded: &mut Unrecorded,
        report: &mut Report,
        watch: &mut dyn Watch,
    ) -> Result<BTreeSet<SensorId>, StoreError> {
        let parts_total = self.store.part_count().await?;
        let mut parts = 0;
        let mut again = Again::default();
        let mut last: Option<BucketKey> = None;
        let mut buckets = self.store.inspect();
        loop {
            watch.reached(&Progress::Buckets {
                buckets: report.buckets,
                parts,
                parts_total,
                readings: report.readings,
            });
            let Some(found) = buckets.next().await.transpose()? else {
                break;
            };
            parts += found.parts.len() as u64;
            let findings = Findings::of(&found);
            let Some(key) = found.key.clone() else {
                // Nothing that hourglass writes: it is not on its way to be right.
                tell(&findings, report, watch);
                continue;
            };
            // What cannot be read may name a sensor that never was.
            if !found.parts.is_empty() {
                unrecorded.see(&key.sensor, self, report, watch).await?;
            }
            let is_known = last.as_ref() == Some(&key);
            if last.as_ref().is_some_and(|last| *last > key) {
                report.damaged += 1;
                watch.tell(&format!("{key}: the store gives it behind a later bucket"));
            }
            // A part that is written meanwhile may come once more.
            if !is_known {
                report.buckets += u64::from(found.is_whole);
                report.readings += findings.readings;
                report.dropped += findings.dropped;
                report.empty += findings.empty;
            }
            let waits = |waiting: &Waiting| waiting.key == key;
            if !findings.is_clean() && !again.waiting.last().is_some_and(waits) {
                again.waiting.push(Waiting {
                    key: key.clone(),
                    seen: versions(&found.parts),
                });
                if again.waiting.len() == LOOK_AGAIN_MAX {
                    self.look_again(&mut again, report, watch).await?;
                }
            }
            last = Some(key);
        }
        self.look_again(&mut again, report, watch).await?;
        Ok(again.unsound)
    }

    /// Tells and repairs what still does not fit.
    async fn look_again(
        &self,
        again: &mut Again,
        report: &mut Report,
        watch: &mut dyn Watch,
    ) -> Result<(), StoreError> {
        for look in 1..=LOOKS_MAX {
            if again.waiting.is_empty() {
                break;
            }
            self.pause().await;
            for Waiting { key, seen } in std::mem::take(&mut again.waiting) {
                let Some(found) = self.store.inspect_bucket(&key).await? else {
                    continue;
                };
                let findings = Findings::of(&found);
                let now = versions(&found.parts);
                if !findings.is_clean() && now != seen && look < LOOKS_MAX {
                    again.waiting.push(Waiting { key, seen: now });
                    continue;
                }
                if !(found.is_whole && findings.counts_up) {
                    again.unsound.insert(key.sensor.clone());
                }
                tell(&findings, report, watch);
                if self.repair && !(findings.differing.is_empty() && findings.unclosed.is_empty()) {
                    self.repair_bucket(&key, &found, &findings, report, watch)
                        .await?;
                }
            }
        }
        Ok(())
    }

    async fn repair_bucket(
        &self,
        key: &BucketKey,
        found: &InspectedBucket,
        findings: &Findings,
        report: &mut Report,
        watch: &mut dyn Watch,
    ) -> Result<(), StoreError> {
        if !found.flaws.is_empty() {
            let why = match findings.not_understood.is_empty() {
                true => "is damaged",
                false => "is not understood",
            };
            watch.tell(&format!("{key}: not repaired: it holds what {why}"));
            return Ok(());
        }
        let mut versions = versions(&found.parts);
        let mut is_right = findings.damaged.is_empty();
        for differing in &findings.differing {
            let (part, version) = (&found.parts[differing.at], &mut versions[differing.at]);
            let target = self.next(*version);
            let actual = &differing.actual;
            let repaired = self.store.repair(key, *version, target, actual).await;
            if is_done(repaired, key, part, "repaired", report, watch)? {
                *version = target;
            } else {
                is_right = false;
            }
        }
        // Two processes may have put one instant into both parts, and what was read
        // of a part that others write to is no ground to close it. Where every
        // field is true and no value stands twice, nothing but the mark is missing.
        for at in &findings.unclosed {
            let (part, version) = (&found.parts[*at], versions[*at]);
            if !is_right || part.raw_dropped {
                let name = name(key, part);
                watch.tell(&format!("{name}: not closed: other findings come first"));
                continue;
            }
            let target = self.next(version);
            let closed = self.store.close_part(key, version, target).await;
            is_done(closed, key, part, "closed", report, watch)?;
        }
        Ok(())
    }

    fn next(&self, version: BucketVersion) -> BucketVersion {
        BucketVersion {
            rev: version.rev + 1,
            by: self.writer.next(),
            ..version
        }
    }
}

fn versions(parts: &[StoredPart]) -> Vec<BucketVersion> {
    parts.iter().map(|part| part.version).collect()
}

/// Counts and tells findings.
fn tell(findings: &Findings, report: &mut Report, watch: &mut dyn Watch) {
    report.not_understood += u64::from(!findings.not_understood.is_empty());
    report.damaged += u64::from(!findings.damaged.is_empty());
    report.differing += (findings.differing.len() + findings.unclosed.len()) as u64;
    let differing = findings.differing.iter().flat_map(|part| &part.lines);
    let lines = findings.not_understood.iter().chain(&findings.damaged);
    for line in lines.chain(differing).chain(&findings.unclosed_lines) {
        watch.tell(line);
    }
}

/// Tells what became of a repair. One that the store refuses ends no run.
fn is_done(
    repaired: Result<bool, StoreError>,
    key: &BucketKey,
    part: &StoredPart,
    done: &str,
    report: &mut Report,
    watch: &mut dyn Watch,
) -> Result<bool, StoreError> {
    let name = name(key, part);
    let is_done = match repaired {
        Ok(true) => {
            report.repaired += 1;
            watch.tell(&format!("{name} {done}"));
            true
        }
        Ok(false) => {
            watch.tell(&format!("{name} not {done}: it was changed meanwhile"));
            false
        }
        Err(error @ StoreError::Unavailable { .. }) => return Err(error),
        Err(error) => {
            watch.tell(&format!("{name} not {done}: {error}"));
            false
        }
    };
    Ok(is_done)
}
