//! Both stores read again, and held against each other.

use std::cmp::Ordering;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;

use super::registry::{by_id, sensors, sites};
use super::same::{Content, beginning, content, same_fields, same_sensor, same_site};
use super::{Migrate, MigrateError, Progress, Report, Stage, Watch};
use crate::store::{Store, StoreError, StoredBucket};

/// In which direction records of sensors and sites are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Content of the first in the second.
    All,
    /// Only whether the second has the key.
    Presence,
}

const TARGET_LACKS: &str = "the target lacks it";
const SOURCE_LACKS: &str = "the source lacks it";

impl Migrate<'_> {
    pub(super) async fn compare(
        &self,
        parts_total: Option<u64>,
        report: &mut Report,
        watch: &mut dyn Watch,
    ) -> Result<(), MigrateError> {
        self.compare_buckets(parts_total, report, watch).await?;
        for (way, one, other, lacks) in [
            (Way::All, self.from, self.to, TARGET_LACKS),
            (Way::Presence, self.to, self.from, SOURCE_LACKS),
        ] {
            compare_records(way, one, other, lacks, report, watch).await?;
        }
        Ok(())
    }

    /// Both stores give their buckets in the order of the keys, so one pass finds
    /// what either lacks.
    async fn compare_buckets(
        &self,
        parts_total: Option<u64>,
        report: &mut Report,
        watch: &mut dyn Watch,
    ) -> Result<(), StoreError> {
        let mut progress = Progress::begun(Stage::Comparing, parts_total);
        watch.reached(&progress);
        let mut source = Side::of("source", self.from);
        let mut target = Side::of("target", self.to);
        loop {
            source.fill(report, watch).await?;
            target.fill(report, watch).await?;
            let order = match (&source.head, &target.head) {
                (None, None) => return Ok(()),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(one), Some(other)) => one.key.cmp(&other.key),
            };
            let one = source.head.take_if(|_| order.is_le());
            let other = target.head.take_if(|_| order.is_ge());
            if let Some(one) = &one {
                progress.passed(one);
                watch.reached(&progress);
            }
            match (one, other) {
                (Some(one), Some(other)) => compare_bucket(&one, &other, report, watch),
                (Some(one), None) => differs(&one.key, &TARGET_LACKS, report, watch),
                (None, Some(other)) => differs(&other.key, &SOURCE_LACKS, report, watch),
                (None, None) => {}
            }
        }
    }
}

/// The buckets of one store, the next one in hand.
struct Side {
    name: &'static str,
    buckets: BoxStream<'static, Result<StoredBucket, StoreError>>,
    head: Option<StoredBucket>,
}

impl Side {
    fn of(name: &'static str, store: &dyn Store) -> Self {
        Self {
            name,
            // Asked again after its end.
            buckets: store.all().fuse().boxed(),
            head: None,
        }
    }

    /// Sees to a bucket in hand, where there is one more; what cannot be read is
    /// told and counted.
    async fn fill(&mut self, report: &mut Report, watch: &mut dyn Watch) -> Result<(), StoreError> {
        while self.head.is_none() {
            match self.buckets.next().await {
                None => return Ok(()),
                Some(Ok(bucket)) => self.head = Some(bucket),
                Some(Err(error @ StoreError::Corrupt { .. })) => {
                    differs(&format_args!("in the {}", self.name), &error, report, watch);
                }
                Some(Err(error)) => return Err(error),
            }
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
                None => differs(&what, &lacks, report, watch),
                Some(found) if way == Way::All && !same_sensor(sensor, found) => {
                    differs(&what, &NOT_THE_SAME, report, watch);
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
                None => differs(&what, &lacks, report, watch),
                Some(found) if way == Way::All && !same_site(site, &found) => {
                    differs(&what, &NOT_THE_SAME, report, watch);
                }
                Some(_) => {}
            }
        }
        after = Some(last);
    }
    Ok(())
}

const NOT_THE_SAME: &str = "the two stores do not say the same";

fn differs(
    what: &dyn std::fmt::Display,
    reason: &dyn std::fmt::Display,
    report: &mut Report,
    watch: &mut dyn Watch,
) {
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
        (Content::Damaged(reason), _) => Err(format!("in the source {reason}")),
        (_, Content::Damaged(reason)) => Err(format!("in the target {reason}")),
        (Content::Dropped(a), Content::Dropped(b)) if same_fields(&a, &b) => Ok(0),
        (Content::Readings(a), Content::Readings(b))
            if beginning(a.elements(), b.elements()) == Some(b.elements().len()) =>
        {
            Ok(a.computed(0, a.elements().len()).count)
        }
        _ => Err(NOT_THE_SAME.to_owned()),
    };
    match readings {
        Ok(readings) => {
            report.buckets_same += 1;
            report.readings_same += readings;
        }
        Err(reason) => differs(&one.key, &reason, report, watch),
    }
}
