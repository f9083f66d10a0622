//! What the store is told of sensors behind their buckets: when they were last
//! heard of, their tags, their newest readings.
//!
//! A sensor's newest readings are known once they were learnt from the store
//! *before* a bucket of it is written or loaded; then what is confirmed is put
//! in, and the list is told under the fence of its record. Where that order does
//! not hold, or the fence did not, the list is stale: it is made anew from the
//! buckets, which are always right. The pins of confirmed buckets stay with
//! the sensor until that is told, so that a crash in between is replayed.

use crate::bucket::{Elements, RecentList};
use crate::model::{HourStart, RecentReading, SensorId};
use crate::store::{RecentWrite, RecordVersion, SensorTold, StoredSensor};

use super::{Buffer, SensorHours, lock};

/// What is known of a sensor's newest readings.
#[derive(Debug, Default)]
pub(super) enum Recent {
    /// Nothing, and nothing was confirmed since.
    #[default]
    Unlearnt,
    /// What the store has, and what was confirmed since.
    Known {
        /// Of the list that the store has.
        version: Option<RecordVersion>,
        list: RecentList,
        /// Whether the store has, or is being told, all of the list.
        is_told: bool,
    },
    /// They are to be made anew from the buckets.
    Stale {
        /// Rises with what is confirmed meanwhile.
        number: u64,
    },
}

/// The state of telling one sensor.
#[derive(Debug, Default)]
pub(super) struct Telling {
    pub(super) recent: Recent,
    /// How often what was known was forgotten: what the store was asked before
    /// that may be older than what it was forgotten for.
    forgotten: u64,
    /// Sequences that the journal keeps until what follows from them is told.
    pins: Vec<u64>,
    /// Before this hour the store has dropped readings, as far as is known.
    pub(super) raw_dropped_before: Option<HourStart>,
    /// The pins that go once the round is done that is telling now.
    under_way: Option<Vec<u64>>,
}

/// A sensor whose newest readings are to be learnt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnlearntRecent {
    /// Which sensor.
    pub sensor: SensorId,
    forgotten: u64,
}

/// A sensor whose newest readings are to be made anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaleRecent {
    /// Which sensor.
    pub sensor: SensorId,
    number: u64,
}

/// What a round is to tell the store.
#[derive(Debug, Default)]
pub struct Untold {
    /// What is ready to be told.
    pub told: Vec<SensorTold>,
    /// Whose newest readings come first.
    pub stale: Vec<StaleRecent>,
}

/// What became of one thing told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// The store has it, or can never have it.
    Settled,
    /// The record was changed by somebody else.
    Fenced,
}

impl Telling {
    pub(super) fn bytes(&self) -> usize {
        match &self.recent {
            Recent::Known { list, .. } => list.bytes(),
            Recent::Unlearnt | Recent::Stale { .. } => 0,
        }
    }

    /// Whether anything waits to be told. What a round is telling does not wait.
    pub(super) fn is_untold(&self) -> bool {
        let is_untold = match &self.recent {
            Recent::Unlearnt => false,
            Recent::Known { is_told, .. } => !is_told,
            Recent::Stale { .. } => true,
        };
        is_untold || !self.pins.is_empty()
    }

    /// Whether the elements that were confirmed must stay in memory: the store's
    /// list may lack them.
    pub(super) fn holds_elements(&self) -> bool {
        self.is_untold() || self.under_way.is_some()
    }

    /// The store has these elements, of which a confirmed write or a load tells.
    pub(super) fn put(
        &mut self,
        hour: HourStart,
        elements: &Elements,
        rows: std::ops::Range<usize>,
    ) {
        match &mut self.recent {
            Recent::Known { list, is_told, .. } => {
                *is_told &= !list.put_elements(hour, elements, rows);
            }
            // Learnt now, the list might be older than a deletion that took some
            // of these elements away.
            Recent::Unlearnt => self.recent = Recent::Stale { number: 0 },
            Recent::Stale { number } => *number += 1,
        }
    }

    /// Keeps a confirmed bucket's pin until what follows from it is told.
    pub(super) fn pin(&mut self, seq: u64) {
        self.pins.push(seq);
    }

    /// What is known of them counts no more.
    pub(super) fn forget(&mut self) {
        self.forgotten += 1;
        if self.holds_elements() {
            self.make_stale();
        } else {
            self.recent = Recent::Unlearnt;
        }
    }

    /// The list is to be made anew from the buckets.
    pub(super) fn make_stale(&mut self) {
        let number = match self.recent {
            Recent::Stale { number } => number + 1,
            Recent::Unlearnt | Recent::Known { .. } => 0,
        };
        self.recent = Recent::Stale { number };
    }
}

impl SensorHours {
    /// Whether the store is to be told of anything.
    pub(super) fn is_untold(&self) -> bool {
        !self.last_seen_stored || !self.attributes_told() || self.telling.is_untold()
    }
}

impl Buffer {
    /// Those of `sensors` whose newest readings are to be learnt before anything
    /// of theirs is written.
    #[must_use]
    pub fn unlearnt(&self, sensors: &[SensorId]) -> Vec<UnlearntRecent> {
        let unlearnt = |sensor: &SensorId| {
            let shard = self.shard(sensor);
            let telling = &shard.sensors.get(sensor)?.telling;
            matches!(telling.recent, Recent::Unlearnt).then(|| UnlearntRecent {
                sensor: sensor.clone(),
                forgotten: telling.forgotten,
            })
        };
        sensors.iter().filter_map(unlearnt).collect()
    }

    /// What the store has of `asked`: `stored`, in any order. What was forgotten
    /// since it was asked stays so: the answer may be older than a deletion.
    pub fn learn(&self, asked: &[UnlearntRecent], stored: &[StoredSensor]) {
        for UnlearntRecent { sensor, forgotten } in asked {
            let stored = stored.iter().find(|stored| stored.id == *sensor);
            self.with_telling(sensor, |telling, readings_max| {
                let dropped = stored.and_then(|stored| stored.raw_dropped_before);
                telling.raw_dropped_before = telling.raw_dropped_before.max(dropped);
                if !matches!(telling.recent, Recent::Unlearnt) || telling.forgotten != *forgotten {
                    return;
                }
                telling.recent = match stored {
                    // Nobody has stored anything of it.
                    None => Recent::Known {
                        version: None,
                        list: RecentList::new(readings_max),
                        is_told: true,
                    },
                    Some(stored) if stored.recent.readings.len() >= readings_max => {
                        known(stored.recent.version, &stored.recent.readings, readings_max)
                    }
                    // There may be more in the buckets: those that an older
                    // hourglass stored, or while fewer were to be kept.
                    Some(_) => Recent::Stale { number: 0 },
                };
            });
        }
    }

    /// What is to be told of `sensors`, but of those that another round is
    /// telling: that one takes it on.
    #[must_use]
    pub fn take_untold(&self, sensors: &[SensorId]) -> Untold {
        let mut untold = Untold::default();
        for sensor in sensors {
            let mut shard = self.shard(sensor);
            let Some(hours) = shard.sensors.get_mut(sensor) else {
                continue;
            };
            if hours.telling.under_way.is_some() || !hours.is_untold() {
                continue;
            }
            hours.telling.under_way = Some(std::mem::take(&mut hours.telling.pins));
            if let Recent::Stale { number } = hours.telling.recent {
                untold.stale.push(StaleRecent {
                    sensor: sensor.clone(),
                    number,
                });
            } else {
                untold.told.push(self.told_of(sensor, hours));
            }
        }
        untold
    }

    /// All that is untold of a sensor whose newest readings are not stale.
    fn told_of(&self, sensor: &SensorId, hours: &mut SensorHours) -> SensorTold {
        let attributes = hours.labels.as_ref().and_then(|l| l.untold());
        let recent = match &mut hours.telling.recent {
            Recent::Known {
                version,
                list,
                is_told,
            } if !*is_told => {
                *is_told = true;
                // A list made anew from buckets may be older than their going.
                let readings = kept(list.readings(), self.retention.oldest_kept(sensor));
                Some(RecentWrite::after(*version, &self.writer, readings))
            }
            _ => None,
        };
        SensorTold {
            sensor: sensor.clone(),
            last_seen: Some(hours.last_seen),
            attributes: attributes.unwrap_or_default(),
            recent,
        }
    }

    /// The newest readings of a stale sensor, made anew from its buckets after
    /// its record was read. They are to be taken again.
    pub fn made_anew(
        &self,
        stale: &StaleRecent,
        stored: Option<&StoredSensor>,
        readings: &[RecentReading],
    ) {
        self.with_telling(&stale.sensor, |telling, readings_max| {
            if matches!(telling.recent, Recent::Stale { number } if number == stale.number) {
                let stored = stored.map(|stored| &stored.recent);
                let version = stored.and_then(|recent| recent.version);
                let has = stored.map_or(&[][..], |recent| &recent.readings);
                telling.recent = known(version, readings, readings_max);
                if let Recent::Known { is_told, .. } = &mut telling.recent {
                    *is_told = has == readings;
                }
            }
            let pins = telling.under_way.take();
            telling.pins.extend(pins.into_iter().flatten());
        });
    }

    /// The newest readings of a stale sensor cannot be had: what else is untold
    /// of it is told without them.
    pub fn give_up_recent(&self, stale: &StaleRecent) {
        self.with_telling(&stale.sensor, |telling, _| {
            telling.recent = Recent::Unlearnt;
            let pins = telling.under_way.take();
            telling.pins.extend(pins.into_iter().flatten());
        });
    }

    /// Notes what became of what was told. Answers the sensors of which there is
    /// more to tell by now.
    #[must_use = "what is not told holds the journal"]
    pub fn settle(&self, told: &[(SensorTold, Told)]) -> Vec<SensorId> {
        let mut again = Vec::new();
        for (told, outcome) in told {
            let mut shard = self.shard(&told.sensor);
            let Some(hours) = shard.sensors.get_mut(&told.sensor) else {
                continue;
            };
            let before = hours.bytes();
            let pins = hours.telling.under_way.take().unwrap_or_default();
            match outcome {
                Told::Settled => {
                    hours.last_seen_stored |= told.last_seen == Some(hours.last_seen);
                    if let Some(labels) = &mut hours.labels
                        && !told.attributes.is_empty()
                    {
                        labels.told(&told.attributes);
                    }
                    if let Some(write) = &told.recent
                        && let Recent::Known { version, .. } = &mut hours.telling.recent
                        && *version == write.expect
                    {
                        *version = Some(write.target);
                    }
                    for pin in pins {
                        self.pins.remove(pin);
                    }
                }
                Told::Fenced => {
                    hours.telling.make_stale();
                    hours.telling.pins.extend(pins);
                }
            }
            self.account(before, hours.bytes());
            if hours.is_untold() {
                again.push(told.sensor.clone());
            }
        }
        self.freed.notify_waiters();
        again
    }

    /// The newest readings of `sensor` were changed in the store by other means
    /// than telling: what is known of them counts no more.
    pub fn forget_recent(&self, sensor: &SensorId) {
        self.with_telling(sensor, |telling, _| telling.forget());
    }

    /// The attributes of `sensor` were changed in the store by other means: its
    /// tags are told again.
    pub fn retell(&self, sensor: &SensorId) {
        let mut shard = self.shard(sensor);
        if let Some(hours) = shard.sensors.get_mut(sensor)
            && let Some(labels) = &mut hours.labels
        {
            labels.forget_told();
        }
    }

    /// The newest readings of `sensor` that the buffer has: among them all that
    /// the store's record may lack. Newest first.
    #[must_use]
    pub fn recent_candidates(&self, sensor: &SensorId) -> Vec<RecentReading> {
        let shard = self.shard(sensor);
        let Some(hours) = shard.sensors.get(sensor) else {
            return Vec::new();
        };
        let mut list = RecentList::new(self.settings.recent_readings);
        for (hour, entry) in hours.hours.iter().rev() {
            if list.is_full() {
                break;
            }
            let elements = entry.merge.elements();
            list.put_elements(*hour, elements, 0..elements.len());
        }
        list.readings()
    }

    /// At most `limit` sensors of which the store was not told what is known,
    /// and that have nothing pending that would tell it (they sent duplicates
    /// only, say), nor a round that tells it.
    #[must_use]
    pub fn untold(&self, limit: usize) -> Vec<SensorId> {
        let mut untold = Vec::new();
        for shard in &self.shards {
            let shard = lock(shard);
            let silent = shard.sensors.iter().filter(|(_, hours)| {
                hours.is_untold()
                    && hours.telling.under_way.is_none()
                    && hours.hours.values().all(|entry| entry.is_clean())
            });
            let room = limit.saturating_sub(untold.len());
            untold.extend(silent.take(room).map(|(id, _)| id.clone()));
        }
        untold
    }

    /// Changes what is known of a sensor of the buffer, if it is there.
    fn with_telling(&self, sensor: &SensorId, change: impl FnOnce(&mut Telling, usize)) {
        let mut shard = self.shard(sensor);
        if let Some(hours) = shard.sensors.get_mut(sensor) {
            let before = hours.bytes();
            change(&mut hours.telling, self.settings.recent_readings);
            self.account(before, hours.bytes());
        }
    }
}

/// Those of `readings` of the hour `oldest` and later.
fn kept(mut readings: Vec<RecentReading>, oldest: HourStart) -> Vec<RecentReading> {
    readings.retain(|reading| reading.at.hour() >= oldest);
    readings
}

fn known(
    version: Option<RecordVersion>,
    readings: &[RecentReading],
    readings_max: usize,
) -> Recent {
    let mut list = RecentList::new(readings_max);
    list.extend(readings);
    Recent::Known {
        version,
        // More than are to be kept now: the next telling says so.
        is_told: true,
        list,
    }
}
