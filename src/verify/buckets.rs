//! Computed fields of one bucket against its readings.

use std::collections::HashMap;

use super::{Report, Verify};
use crate::bucket::{Computed, Difference, Merge, Stats, check};
use crate::model::{BucketKey, MeasureName};
use crate::store::{BucketVersion, StoreError, StoredBucket, StoredPart};

impl Verify<'_> {
    /// Checks one bucket.
    pub(super) async fn bucket(
        &self,
        bucket: &StoredBucket,
        report: &mut Report,
        tell: &mut impl FnMut(String),
    ) -> Result<(), StoreError> {
        report.buckets += 1;
        let mut merge = Merge::default();
        let mut repeated = 0;
        for part in &bucket.parts {
            if part.raw_dropped {
                verify_dropped(&bucket.key, part, report, tell);
                continue;
            }
            let from = merge.elements().len();
            for element in part.elements.iter() {
                let (counts, _) = merge.add(element.offset, element.values());
                repeated += counts.duplicates + counts.conflicts;
            }
            let actual = merge.computed(from, merge.elements().len());
            report.readings += actual.count;
            let findings = findings(part, &actual);
            if findings.is_empty() {
                continue;
            }
            report.differing += 1;
            for finding in findings {
                tell(format!("{} {finding}", name(&bucket.key, part.version)));
            }
            if self.repair && self.repair_part(bucket, part, &actual).await? {
                report.repaired += 1;
                tell(format!("{} repaired", name(&bucket.key, part.version)));
            }
        }
        if repeated > 0 {
            report.damaged += 1;
            tell(format!(
                "{}: {repeated} values stand twice; the first of each is what queries show",
                bucket.key
            ));
        }
        Ok(())
    }

    async fn repair_part(
        &self,
        bucket: &StoredBucket,
        part: &StoredPart,
        actual: &Computed,
    ) -> Result<bool, StoreError> {
        let target = BucketVersion {
            rev: part.version.rev + 1,
            by: self.writer.next(),
            ..part.version
        };
        self.store
            .repair(&bucket.key, part.version, target, actual)
            .await
    }
}

/// Of readings that retention dropped only the computed fields are left: what can
/// be said is whether there is anything of which they would be true.
fn verify_dropped(
    key: &BucketKey,
    part: &StoredPart,
    report: &mut Report,
    tell: &mut impl FnMut(String),
) {
    report.dropped += 1;
    let mut findings: Vec<String> = part
        .computed
        .measures
        .iter()
        .filter(|(_, stats)| !is_plausible(stats))
        .map(|(name, _)| format!("computed.{name} is true of no readings"))
        .collect();
    if !part.elements.is_empty() {
        findings.push("has readings, and says that they were dropped".to_owned());
    }
    if !findings.is_empty() {
        report.damaged += 1;
    }
    for finding in findings {
        tell(format!("{} {finding}", name(key, part.version)));
    }
}

/// Whether some values have these fields.
fn is_plausible(stats: &Stats) -> bool {
    let (count, sum) = (stats.count as f64, stats.sum.value());
    let rounding = 1e-12 * count * stats.min.abs().max(stats.max.abs());
    stats.count > 0
        && stats.min <= stats.max
        && sum >= count * stats.min - rounding
        && sum <= count * stats.max + rounding
}

fn findings(part: &StoredPart, actual: &Computed) -> Vec<String> {
    let mut magnitudes: HashMap<&MeasureName, f64> = HashMap::new();
    for element in part.elements.iter() {
        for (name, value) in element.values() {
            *magnitudes.entry(name).or_default() += value.abs();
        }
    }
    let magnitude = |name: &MeasureName| magnitudes.get(name).copied().unwrap_or_default();
    let differences = check(&part.computed, actual, magnitude);
    let stray = part
        .stray_fields
        .iter()
        .map(|field| format!("{field} does not follow from computed"));
    differences
        .iter()
        .map(Difference::to_string)
        .chain(stray)
        .collect()
}

fn name(key: &BucketKey, version: BucketVersion) -> String {
    match version.part {
        0 => key.to_string(),
        part => format!("{key}#{part}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_no_values_have_are_told_from_those_that_some_have() {
        let mut stats = Stats::of(1.0);
        assert!(is_plausible(&stats));
        stats.add(-2.5);
        assert!(is_plausible(&stats));
        for wrong in [
            Stats { count: 0, ..stats },
            Stats { min: 3.0, ..stats },
            Stats { max: -1.5, ..stats },
            Stats {
                count: 1,
                ..Stats {
                    min: 0.5,
                    ..Stats::of(-1.0)
                }
            },
        ] {
            assert!(!is_plausible(&wrong), "{wrong:?}");
        }
    }
}
