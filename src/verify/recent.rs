//! The newest readings in each sensor's record against its buckets.

use std::collections::BTreeSet;

use super::records::Looked;
use super::{LOOKS_MAX, Report, Verify, Watch};
use crate::flush::newest_readings;
use crate::model::{RecentReading, SensorId};
use crate::store::{
    LOADS_AT_ONCE, RecentWrite, RecordVersion, SensorTold, StoreError, StoredRecent, WriteOutcome,
};

/// Sensors that are looked at again.
#[derive(Debug, Default)]
pub(super) struct Recent {
    again: Vec<Waiting>,
}

/// A sensor whose list differed.
#[derive(Debug)]
struct Waiting {
    sensor: SensorId,
    /// The version of the list then.
    seen: Option<RecordVersion>,
    /// Whether its record may be written to.
    is_understood: bool,
}

impl Recent {
    pub(super) fn waiting(&self) -> usize {
        self.again.len()
    }

    /// Looks at the records of a page, and notes those that differ.
    pub(super) async fn look_at(
        &mut self,
        verify: &Verify<'_>,
        page: &[Looked],
    ) -> Result<(), StoreError> {
        let ids: Vec<SensorId> = page.iter().map(|looked| looked.sensor.id.clone()).collect();
        for differing in each(verify, &ids).await? {
            let of = |looked: &&Looked| looked.sensor.id == differing.sensor;
            let looked = page.iter().find(of);
            self.again.push(Waiting {
                sensor: differing.sensor,
                seen: differing.stored.version,
                is_understood: looked.is_some_and(|looked| looked.is_understood),
            });
        }
        Ok(())
    }

    /// Tells, and repairs, what still differs; but for sensors in `unsound`, of
    /// which not all readings could be read.
    pub(super) async fn look_again(
        &mut self,
        verify: &Verify<'_>,
        unsound: &BTreeSet<SensorId>,
        report: &mut Report,
        watch: &mut dyn Watch,
    ) -> Result<(), StoreError> {
        for look in 1..=LOOKS_MAX {
            let again = std::mem::take(&mut self.again);
            for waiting in again.chunks(LOADS_AT_ONCE) {
                let ids: Vec<SensorId> = waiting.iter().map(|w| w.sensor.clone()).collect();
                for differing in each(verify, &ids).await? {
                    let of = |waiting: &&Waiting| waiting.sensor == differing.sensor;
                    let Some(before) = waiting.iter().find(of) else {
                        continue;
                    };
                    let seen = differing.stored.version;
                    if seen != before.seen && look < LOOKS_MAX {
                        self.again.push(Waiting {
                            sensor: differing.sensor,
                            seen,
                            ..*before
                        });
                        continue;
                    }
                    report.recent_differing += 1;
                    let kept = if !before.is_understood {
                        Some("its record holds what is not understood")
                    } else if unsound.contains(&differing.sensor) {
                        Some("not all of its buckets could be read")
                    } else {
                        None
                    };
                    differing.settle(verify, kept, report, watch).await?;
                }
            }
            if self.again.is_empty() {
                break;
            }
            verify.pause().await;
        }
        Ok(())
    }
}

/// Those of `ids` that differ now. One that cannot be read is left out: it was
/// told where its record, or its buckets, were looked at.
async fn each(verify: &Verify<'_>, ids: &[SensorId]) -> Result<Vec<Differing>, StoreError> {
    let mut differing = Vec::new();
    let mut calls: Vec<&[SensorId]> = ids.chunks(LOADS_AT_ONCE).rev().collect();
    while let Some(ids) = calls.pop() {
        match compare(verify, ids).await {
            Ok(found) => differing.extend(found),
            Err(StoreError::Corrupt { .. }) => {
                let halves = ids.split_at(ids.len() / 2);
                if ids.len() > 1 {
                    calls.extend([halves.1, halves.0]);
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(differing)
}

async fn compare(verify: &Verify<'_>, ids: &[SensorId]) -> Result<Vec<Differing>, StoreError> {
    // Records first: a list that is told in between is newer, and looked at
    // again; one that was read behind the buckets could seem to lack some.
    let stored = verify.store.sensors(ids).await?;
    let longest = stored.iter().map(|sensor| sensor.recent.readings.len());
    let readings_max = verify.recent_readings.max(longest.max().unwrap_or(0));
    let made: Vec<SensorId> = stored
        .iter()
        .filter(|sensor| sensor.recent.version.is_some())
        .map(|sensor| sensor.id.clone())
        .collect();
    let actual = newest_readings(verify.store, &made, readings_max).await?;
    let stored = stored.into_iter().filter(|s| s.recent.version.is_some());
    let differing = stored.zip(actual).filter_map(|(stored, actual)| {
        let is_true = is_true(&stored.recent, &actual, verify.recent_readings);
        (!is_true).then_some(Differing {
            sensor: stored.id,
            stored: stored.recent,
            actual,
        })
    });
    Ok(differing.collect())
}

/// Whether a list holds exactly the newest readings. It may be longer or shorter
/// than is set now, as it was told while something else was set.
fn is_true(stored: &StoredRecent, actual: &[RecentReading], readings_max: usize) -> bool {
    let has_none = stored.readings.is_empty() && readings_max > 0 && !actual.is_empty();
    !has_none && actual.starts_with(&stored.readings)
}

struct Differing {
    sensor: SensorId,
    stored: StoredRecent,
    actual: Vec<RecentReading>,
}

impl Differing {
    /// Tells it, and repairs it unless there is a reason to keep it.
    async fn settle(
        mut self,
        verify: &Verify<'_>,
        kept: Option<&str>,
        report: &mut Report,
        watch: &mut dyn Watch,
    ) -> Result<(), StoreError> {
        let id = self.sensor.clone();
        watch.tell(&format!(
            "sensor {id}: its {} newest readings are not those of its buckets",
            self.stored.readings.len()
        ));
        if !verify.repair {
            return Ok(());
        }
        self.actual.truncate(verify.recent_readings);
        if let Some(why) = kept {
            watch.tell(&format!("sensor {id}: not repaired: {why}"));
        } else if self.repair(verify).await? {
            report.recent_repaired += 1;
            watch.tell(&format!("sensor {id}: repaired"));
        } else {
            watch.tell(&format!(
                "sensor {id}: not repaired: it was changed meanwhile"
            ));
        }
        Ok(())
    }

    /// Whether it is right now; not where somebody changed the record meanwhile.
    async fn repair(&self, verify: &Verify<'_>) -> Result<bool, StoreError> {
        let write = RecentWrite::after(self.stored.version, verify.writer, self.actual.clone());
        let told = SensorTold::recent(self.sensor.clone(), write);
        match verify.store.touch(&[told]).await?.into_iter().next() {
            Some(WriteOutcome::Stored) => Ok(true),
            Some(WriteOutcome::Failed(error)) => Err(error),
            Some(WriteOutcome::Fenced) | None => Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{MeasureName, Micros};

    #[test]
    fn a_list_is_true_where_it_is_the_newest_readings_however_many_it_keeps() {
        let reading = |at| RecentReading {
            at: Micros::new(at).unwrap(),
            values: vec![(MeasureName::new("temp").unwrap(), at as f64)],
        };
        let list = |instants: &[i64]| StoredRecent {
            version: None,
            readings: instants.iter().copied().map(reading).collect(),
        };
        let actual = [9, 7, 5].map(reading);
        for right in [&[9, 7, 5][..], &[9, 7], &[9]] {
            assert!(is_true(&list(right), &actual, 2), "{right:?}");
        }
        for wrong in [&[][..], &[7, 5], &[9, 5], &[9, 7, 5, 3]] {
            assert!(!is_true(&list(wrong), &actual, 2), "{wrong:?}");
        }
        assert!(is_true(&list(&[]), &actual, 0));
        assert!(is_true(&list(&[]), &[], 2));
    }
}
