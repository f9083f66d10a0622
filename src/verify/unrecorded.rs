//! Sensors that have buckets and no record: lists do not show them, and no pass of
//! retention meets them.

use std::collections::BTreeSet;

use super::records::readable;
use super::{LOOK_AGAIN_MAX, LOOKS_MAX, Report, Verify, Watch};
use crate::model::SensorId;
use crate::store::{LOADS_AT_ONCE, StoreError};

/// Sensors that are gathered before the store is asked for their records.
const SENSORS_AT_ONCE: usize = 1000;

/// Sensors of the buckets that go by, in their order.
#[derive(Debug, Default)]
pub(super) struct Unrecorded {
    last: Option<SensorId>,
    unasked: Vec<SensorId>,
    /// Those that had no record when it was asked for.
    again: Vec<SensorId>,
}

impl Unrecorded {
    /// Notes the sensor of a bucket.
    pub(super) async fn see(
        &mut self,
        sensor: &SensorId,
        verify: &Verify<'_>,
        report: &mut Report,
        watch: &mut dyn Watch,
    ) -> Result<(), StoreError> {
        if self.last.as_ref().is_some_and(|last| last >= sensor) {
            return Ok(());
        }
        self.last = Some(sensor.clone());
        self.unasked.push(sensor.clone());
        if self.unasked.len() == SENSORS_AT_ONCE {
            self.ask(verify).await?;
        }
        if self.again.len() >= LOOK_AGAIN_MAX {
            self.look_again(verify, report, watch).await?;
        }
        Ok(())
    }

    async fn ask(&mut self, verify: &Verify<'_>) -> Result<(), StoreError> {
        let sensors = std::mem::take(&mut self.unasked);
        self.again.extend(without_record(verify, &sensors).await?);
        Ok(())
    }

    /// Tells who still has no record. A service writes buckets first: while it
    /// makes records of those that had none, the others are given time too.
    pub(super) async fn look_again(
        &mut self,
        verify: &Verify<'_>,
        report: &mut Report,
        watch: &mut dyn Watch,
    ) -> Result<(), StoreError> {
        self.ask(verify).await?;
        let mut again = std::mem::take(&mut self.again);
        for _ in 1..=LOOKS_MAX {
            if again.is_empty() {
                break;
            }
            verify.pause().await;
            let left = without_record(verify, &again).await?;
            let is_settled = left.len() == again.len();
            again = left;
            if is_settled {
                break;
            }
        }
        for sensor in again {
            report.records_damaged += 1;
            watch.tell(&format!("sensor {sensor}: has buckets, and no record"));
        }
        Ok(())
    }
}

/// Those of `sensors` that have no record. One that cannot be read is there.
async fn without_record(
    verify: &Verify<'_>,
    sensors: &[SensorId],
) -> Result<Vec<SensorId>, StoreError> {
    let mut without = Vec::new();
    for ids in sensors.chunks(LOADS_AT_ONCE) {
        let found = readable(verify, ids).await?;
        let stored = found.stored.iter().map(|sensor| &sensor.id);
        let there: BTreeSet<&SensorId> = stored.chain(&found.unreadable).collect();
        without.extend(ids.iter().filter(|id| !there.contains(id)).cloned());
    }
    Ok(without)
}
