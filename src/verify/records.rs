//! The pass over the records of sites and of sensors.

use std::collections::BTreeSet;

use futures_util::StreamExt;

use super::copies::Copies;
use super::recent::Recent;
use super::{LOOK_AGAIN_MAX, Progress, Report, Verify, Watch};
use crate::model::SensorId;
use crate::store::{FlawKind, Inspected, StoreError, StoredSensor};

/// Sensors that are looked at together.
const SENSORS_AT_ONCE: usize = 1000;

/// A sensor, and whether its record may be written to.
pub(super) struct Looked {
    pub(super) sensor: StoredSensor,
    pub(super) is_understood: bool,
}

impl Verify<'_> {
    /// Of the sensors in `unsound` not all readings could be read.
    pub(super) async fn records(
        &self,
        unsound: &BTreeSet<SensorId>,
        report: &mut Report,
        watch: &mut dyn Watch,
    ) -> Result<(), StoreError> {
        let mut copies = Copies::default();
        let mut sites = self.store.inspect_sites();
        while let Some(site) = sites.next().await.transpose()? {
            tell(&site, report, watch);
            copies.site(site);
        }
        drop(sites);
        let mut recent = Recent::default();
        let mut page = Vec::new();
        let mut sensors = self.store.inspect_sensors();
        watch.reached(&Progress::Sensors(report.sensors));
        loop {
            let next = sensors.next().await.transpose()?;
            let is_end = next.is_none();
            if let Some(sensor) = next {
                tell(&sensor, report, watch);
                let is_understood = sensor.is_understood();
                match sensor.record {
                    Some(sensor) => page.push(Looked {
                        sensor,
                        is_understood,
                    }),
                    None => copies.has_unreadable = true,
                }
            }
            if page.len() == SENSORS_AT_ONCE || is_end {
                report.sensors += page.len() as u64;
                copies.look_at(&page);
                recent.look_at(self, &page).await?;
                page.clear();
                watch.reached(&Progress::Sensors(report.sensors));
            }
            let waiting = copies.waiting() + recent.waiting();
            if waiting >= LOOK_AGAIN_MAX || (is_end && waiting > 0) {
                self.pause().await;
                copies.look_again(self, report, watch).await?;
                recent.look_again(self, unsound, report, watch).await?;
            }
            if is_end {
                break;
            }
        }
        if self.repair {
            copies.repair(self, report, watch).await?;
        }
        Ok(())
    }
}

fn tell<T>(found: &Inspected<T>, report: &mut Report, watch: &mut dyn Watch) {
    for flaw in &found.flaws {
        watch.tell(&flaw.to_string());
    }
    let has = |kind| u64::from(found.flaws.iter().any(|flaw| flaw.kind == kind));
    report.records_damaged += has(FlawKind::Damaged);
    report.records_not_understood += has(FlawKind::NotUnderstood);
}

/// The records of some sensors, as far as there are any.
pub(super) struct Readable {
    pub(super) stored: Vec<StoredSensor>,
    /// Whose record cannot be read: that was told where it was looked at.
    pub(super) unreadable: Vec<SensorId>,
}

/// Reads the records of `ids`: one that cannot be read hides no other.
pub(super) async fn readable(
    verify: &Verify<'_>,
    ids: &[SensorId],
) -> Result<Readable, StoreError> {
    let mut found = Readable {
        stored: Vec::new(),
        unreadable: Vec::new(),
    };
    let mut calls = vec![ids];
    while let Some(ids) = calls.pop() {
        match verify.store.sensors(ids).await {
            Ok(stored) => found.stored.extend(stored),
            Err(StoreError::Corrupt { .. }) if ids.len() == 1 => {
                found.unreadable.extend_from_slice(ids);
            }
            Err(StoreError::Corrupt { .. }) => {
                let halves = ids.split_at(ids.len() / 2);
                calls.extend([halves.1, halves.0]);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}
