//! `hourglass verify`: recomputes every computed field from the readings, and
//! reports or repairs what differs.

use std::collections::HashMap;
use std::fmt;

use futures_util::StreamExt;

use crate::bucket::{Computed, Difference, Merge, check};
use crate::model::{BucketKey, MeasureName};
use crate::store::WriterId;
use crate::store::{BucketVersion, Store, StoreError, StoredBucket, StoredPart};

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Report {
    /// Buckets looked at.
    pub buckets: u64,
    /// Readings (instants) in them.
    pub readings: u64,
    /// Parts with a field that differs.
    pub differing: u64,
    /// Of those, repaired.
    pub repaired: u64,
    /// Buckets that could not be read, or hold a value twice.
    pub damaged: u64,
}

impl Report {
    /// Whether everything is right now.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.differing == self.repaired && self.damaged == 0
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} buckets with {} readings: {} parts differ, {} repaired, {} buckets damaged",
            self.buckets, self.readings, self.differing, self.repaired, self.damaged
        )
    }
}

/// Checks every bucket of `store`; `tell` gets a line per finding.
///
/// # Errors
/// When the store cannot be read on.
pub async fn verify(
    store: &dyn Store,
    repair: bool,
    writer: &WriterId,
    mut tell: impl FnMut(String),
) -> Result<Report, StoreError> {
    let mut report = Report::default();
    let mut buckets = store.all();
    while let Some(bucket) = buckets.next().await {
        match bucket {
            Ok(bucket) => {
                verify_bucket(store, repair, writer, &bucket, &mut report, &mut tell).await?;
            }
            Err(error @ StoreError::Corrupt { .. }) => {
                report.damaged += 1;
                tell(error.to_string());
            }
            Err(error) => return Err(error),
        }
    }
    Ok(report)
}

async fn verify_bucket(
    store: &dyn Store,
    repair: bool,
    writer: &WriterId,
    bucket: &StoredBucket,
    report: &mut Report,
    tell: &mut impl FnMut(String),
) -> Result<(), StoreError> {
    report.buckets += 1;
    let mut merge = Merge::default();
    let mut repeated = 0;
    for part in &bucket.parts {
        // Its computed fields are all that is left: there is nothing to hold them
        // to, and nothing to repair them from.
        if part.raw_dropped {
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
        if repair && repair_part(store, writer, bucket, part, &actual).await? {
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
    store: &dyn Store,
    writer: &WriterId,
    bucket: &StoredBucket,
    part: &StoredPart,
    actual: &Computed,
) -> Result<bool, StoreError> {
    let target = BucketVersion {
        rev: part.version.rev + 1,
        by: writer.next(),
        ..part.version
    };
    store
        .repair(&bucket.key, part.version, target, actual)
        .await
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
