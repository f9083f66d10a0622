//! Both stores read again, and held against each other.

use super::buckets::Batches;
use super::registry::{by_id, sensors, sites};
use super::same::{Content, beginning, content, same_fields, same_sensor, same_site};
use super::{Migrate, Report, Watch};
use crate::model::BucketKey;
use crate::store::{Store, StoreError, StoredBucket};

/// In which direction two stores are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Content of the first in the second.
    All,
    /// Only whether the second has the key.
    Presence,
}

impl Migrate<'_> {
    pub(super) async fn compare(
        &self,
        report: &mut Report,
        watch: &mut dyn Watch,
    ) -> Result<(), StoreError> {
        for (way, one, other, lacks) in [
            (Way::All, self.from, self.to, "the target lacks it"),
            (Way::Presence, self.to, self.from, "the source lacks it"),
        ] {
            let mut buckets = Batches::of(one);
            while let Some(batch) = buckets.next(report, watch).await? {
                let keys: Vec<BucketKey> = batch.iter().map(|b| b.key.clone()).collect();
                for (bucket, found) in batch.iter().zip(other.load(&keys).await?) {
                    match found {
                        None => differs(&bucket.key, lacks, report, watch),
                        Some(_) if way == Way::Presence => {}
                        Some(found) => compare_bucket(bucket, &found, report, watch),
                    }
                }
                watch.reached(report);
            }
            compare_records(way, one, other, lacks, report, watch).await?;
        }
        Ok(())
    }
}

async fn compare_records(
    way: Way,
    one: &dyn Store,
    other: &dyn Store,
    lacks: &str,
    report: &mut Report,
    watch: &mut dyn Watch,
) -> Result<(), StoreError> {
    let mut after = None;
    while let Some((page, last)) = sensors(one, after.as_ref()).await? {
        let found = by_id(other, &page).await?;
        for sensor in &page {
            let what = format!("sensor {}", sensor.id);
            match found.get(&sensor.id) {
                None => differs(&what, lacks, report, watch),
                Some(found) if way == Way::All && !same_sensor(sensor, found) => {
                    differs(&what, NOT_THE_SAME, report, watch);
                }
                Some(_) => {}
            }
        }
        after = Some(last);
    }
    let mut after = None;
    while let Some((page, last)) = sites(one, after.as_ref()).await? {
        for site in &page {
            let what = format!("site {}", site.site.id);
            match other.site(&site.site.id).await? {
                None => differs(&what, lacks, report, watch),
                Some(found) if way == Way::All && !same_site(site, &found) => {
                    differs(&what, NOT_THE_SAME, report, watch);
                }
                Some(_) => {}
            }
        }
        after = Some(last);
    }
    Ok(())
}

const NOT_THE_SAME: &str = "the two stores do not say the same";

fn differs(what: &dyn std::fmt::Display, reason: &str, report: &mut Report, watch: &mut dyn Watch) {
    report.differing += 1;
    watch.tell(&format!("{what}: {reason}"));
}

fn compare_bucket(
    one: &StoredBucket,
    other: &StoredBucket,
    report: &mut Report,
    watch: &mut dyn Watch,
) {
    let readings = match (content(one), content(other)) {
        (Content::Dropped(a), Content::Dropped(b)) if same_fields(&a, &b) => Some(0),
        (Content::Readings(a), Content::Readings(b)) => {
            let (a, b) = (&a, &b);
            let len = a.elements().len();
            (beginning(a.elements(), b.elements()) == Some(b.elements().len()))
                .then(|| a.computed(0, len).count)
        }
        _ => None,
    };
    match readings {
        Some(readings) => {
            report.buckets_same += 1;
            report.readings_same += readings;
        }
        None => differs(&one.key, NOT_THE_SAME, report, watch),
    }
}
