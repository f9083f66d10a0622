//! Telling the store of sensors: what must be learnt before their buckets are
//! written, and what follows from the buckets that went in.

use std::collections::BTreeSet;
use std::sync::Arc;

use metrics::counter;

use super::narrow::{Narrowed, Refusals, has_next, next};
use super::{RoundTurn, newest_readings};
use crate::buffer::{Buffer, StaleRecent, Told, UnlearntRecent};
use crate::metrics::names;
use crate::model::{RecentReading, SensorId};
use crate::store::{LOADS_AT_ONCE, SensorTold, Store, StoreError, StoredSensor, WriteOutcome};

/// The sensors of a round.
#[derive(Debug, Default)]
pub(super) struct Telling {
    sensors: Vec<SensorId>,
    /// Whether it was looked which of them are to be learnt.
    is_asked: bool,
    /// Calls to make, the next one last.
    unlearnt: Vec<Vec<UnlearntRecent>>,
    /// Who may have something to tell.
    untold: Vec<SensorId>,
    /// Calls to make, the next one last.
    stale: Vec<Vec<StaleRecent>>,
    /// Calls to make, the next one last.
    told: Vec<Vec<SensorTold>>,
    refusals: Refusals,
}

impl Telling {
    /// Of these sensors, each once.
    pub(super) fn new(sensors: impl IntoIterator<Item = SensorId>) -> Self {
        let sensors: Vec<SensorId> = sensors
            .into_iter()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        Self {
            untold: sensors.clone(),
            sensors,
            ..Self::default()
        }
    }

    /// One call that must come before any bucket is written; `None` once there
    /// is none.
    pub(super) async fn learn(
        &mut self,
        store: &Arc<dyn Store>,
        buffer: &Buffer,
    ) -> Option<RoundTurn> {
        if !self.is_asked {
            self.is_asked = true;
            self.unlearnt.push(buffer.unlearnt(&self.sensors));
        }
        if !has_next(&mut self.unlearnt) {
            return None;
        }
        let sensors = next(&self.unlearnt).iter().map(|one| one.sensor.clone());
        let learnt = store.sensors(&sensors.collect::<Vec<_>>()).await;
        // Not before: a turn that is dropped half-way is made again.
        let asked = self.unlearnt.pop().unwrap_or_default();
        Some(match learnt {
            Ok(stored) => {
                self.refusals.end();
                buffer.learn(&asked, &stored);
                RoundTurn::More
            }
            Err(error) => match self.refusals.narrow(&mut self.unlearnt, asked, error) {
                Narrowed::Turn(turn) => turn,
                // Their lists are made anew once their buckets are written.
                Narrowed::GiveUp(_, error) => RoundTurn::Refused(error),
                Narrowed::Everything(_, error) => {
                    self.unlearnt.clear();
                    RoundTurn::Refused(error)
                }
            },
        })
    }

    /// One call that tells; `None` once everything is told.
    pub(super) async fn tell(
        &mut self,
        store: &Arc<dyn Store>,
        buffer: &Buffer,
    ) -> Option<RoundTurn> {
        if !has_next(&mut self.stale) && !has_next(&mut self.told) {
            let untold = buffer.take_untold(&std::mem::take(&mut self.untold));
            self.told.push(untold.told);
            let stale = untold.stale.chunks(LOADS_AT_ONCE).map(<[_]>::to_vec);
            self.stale.extend(stale);
        }
        if has_next(&mut self.stale) {
            return Some(self.make_anew(store, buffer).await);
        }
        if has_next(&mut self.told) {
            return Some(self.touch(store, buffer).await);
        }
        None
    }

    /// Makes newest readings anew from the buckets.
    async fn make_anew(&mut self, store: &Arc<dyn Store>, buffer: &Buffer) -> RoundTurn {
        let made = made_anew(store, next(&self.stale), buffer.recent_readings()).await;
        let stale = self.stale.pop().unwrap_or_default();
        counter!(names::RECENT_MADE_ANEW_TOTAL).increment(stale.len() as u64);
        match made {
            Ok(made) => {
                self.refusals.end();
                for (stale, (stored, readings)) in stale.iter().zip(&made) {
                    buffer.made_anew(stale, stored.as_ref(), readings);
                }
                self.take_again(&stale);
                RoundTurn::More
            }
            Err(error) => match self.refusals.narrow(&mut self.stale, stale, error) {
                Narrowed::Turn(turn) => turn,
                Narrowed::GiveUp(stale, error) => {
                    for stale in &stale {
                        tracing::error!(sensor = %stale.sensor, %error, "the newest readings of a sensor cannot be had from its buckets; its record keeps the old ones");
                        buffer.give_up_recent(stale);
                    }
                    self.take_again(&stale);
                    RoundTurn::Refused(error)
                }
                Narrowed::Everything(stale, error) => {
                    self.stale.push(stale);
                    RoundTurn::Failed(error)
                }
            },
        }
    }

    fn take_again(&mut self, stale: &[StaleRecent]) {
        self.untold
            .extend(stale.iter().map(|stale| stale.sensor.clone()));
    }

    /// The journal is released after it; a sensor whose record alone the store
    /// cannot keep holds nobody up.
    async fn touch(&mut self, store: &Arc<dyn Store>, buffer: &Buffer) -> RoundTurn {
        let touched = store.touch(next(&self.told)).await;
        let told = self.told.pop().unwrap_or_default();
        match touched {
            Ok(outcomes) => {
                self.refusals.end();
                let mut outcomes = outcomes.into_iter();
                let mut settled = Vec::with_capacity(told.len());
                let mut failed = None;
                for told in told {
                    match outcomes.next() {
                        Some(WriteOutcome::Stored) => settled.push((told, Told::Settled)),
                        Some(WriteOutcome::Fenced) => settled.push((told, Told::Fenced)),
                        Some(WriteOutcome::Failed(
                            error @ (StoreError::Refused { .. } | StoreError::Corrupt { .. }),
                        )) => {
                            cannot_keep(&told, &error);
                            settled.push((told, Told::Settled));
                        }
                        Some(WriteOutcome::Failed(error)) => {
                            failed = Some(error);
                            self.told.push(vec![told]);
                        }
                        None => {
                            failed = Some(unanswered(&**store));
                            self.told.push(vec![told]);
                        }
                    }
                }
                self.untold.extend(buffer.settle(&settled));
                failed.map_or(RoundTurn::More, RoundTurn::Failed)
            }
            Err(error) => match self.refusals.narrow(&mut self.told, told, error) {
                Narrowed::Turn(turn) => turn,
                Narrowed::GiveUp(told, error) => {
                    let settled: Vec<_> = told.into_iter().map(|t| (t, Told::Settled)).collect();
                    for (told, _) in &settled {
                        cannot_keep(told, &error);
                    }
                    self.untold.extend(buffer.settle(&settled));
                    RoundTurn::Refused(error)
                }
                Narrowed::Everything(told, error) => {
                    self.told.push(told);
                    RoundTurn::Failed(error)
                }
            },
        }
    }
}

fn cannot_keep(told: &SensorTold, error: &StoreError) {
    tracing::error!(sensor = %told.sensor, %error, "the store cannot keep when a sensor was last heard of, nor its newest readings");
}

/// A store that answers too few leaves the outcome unknown.
fn unanswered(store: &dyn Store) -> StoreError {
    StoreError::Unavailable {
        store: store.name(),
        reason: "it did not say what became of a sensor".to_owned(),
    }
}

type MadeAnew = Vec<(Option<StoredSensor>, Vec<RecentReading>)>;

/// The records first, then the buckets: whoever takes readings away changes the
/// record after the buckets, so an old list never passes its fence.
async fn made_anew(
    store: &Arc<dyn Store>,
    stale: &[StaleRecent],
    readings_max: usize,
) -> Result<MadeAnew, StoreError> {
    let sensors: Vec<SensorId> = stale.iter().map(|stale| stale.sensor.clone()).collect();
    let mut stored = store.sensors(&sensors).await?;
    let newest = newest_readings(&**store, &sensors, readings_max).await?;
    let record = |sensor: &SensorId| {
        let at = stored.iter().position(|stored| stored.id == *sensor)?;
        Some(stored.swap_remove(at))
    };
    let records: Vec<Option<StoredSensor>> = sensors.iter().map(record).collect();
    Ok(records.into_iter().zip(newest).collect())
}
