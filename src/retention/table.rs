//! The first hours that stay, of every sensor, as of the last refresh.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{
    AtomicBool, AtomicI32,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use tokio::sync::Notify;

use super::{Cutoffs, Keeps};
use crate::config::RetentionSettings;
use crate::model::{HourStart, Micros, Retention, SensorId};

const SHARDS: usize = 16;

/// The cutoffs in force: those of the settings, and those of sensors for which
/// others hold. Shared by whoever takes readings in, keeps them or drops them.
#[derive(Debug)]
pub struct RetentionTable {
    setting: Keeps,
    /// Whether there is any cutoff at all: else nobody looks further.
    is_limited: AtomicBool,
    /// Whether the setting binds sensors of which the table says nothing.
    is_binding: AtomicBool,
    /// Of the setting, in hours since the epoch.
    hours: AtomicI32,
    readings: AtomicI32,
    hasher: RandomState,
    /// By the hash of the sensor's id: of a million sensors two share one with a
    /// probability of 3e-8, so whoever drops compares with what the sensor's own
    /// record says.
    others: Box<[RwLock<HashMap<u64, Cutoffs>>]>,
    changed: Notify,
}

/// The table of the default settings: everything stays.
impl Default for RetentionTable {
    fn default() -> Self {
        Self::new(&RetentionSettings::default(), Micros::MIN)
    }
}

impl RetentionTable {
    /// The table of the settings alone, at `now`. It binds nobody yet, see
    /// [`RetentionTable::bind_setting`].
    #[must_use]
    pub fn new(settings: &RetentionSettings, now: Micros) -> Self {
        let setting = Keeps::from(settings);
        let table = Self {
            setting,
            is_limited: AtomicBool::new(false),
            // One that keeps everything binds nobody.
            is_binding: AtomicBool::new(setting.is_forever()),
            hours: AtomicI32::new(HourStart::MIN.hours()),
            readings: AtomicI32::new(HourStart::MIN.hours()),
            hasher: RandomState::new(),
            others: (0..SHARDS).map(|_| RwLock::default()).collect(),
            changed: Notify::new(),
        };
        table.refresh(now);
        table
    }

    /// What holds where neither sensor nor site says anything.
    #[must_use]
    pub fn setting(&self) -> Keeps {
        self.setting
    }

    /// Every sensor was looked at: from now on the setting binds those that were
    /// not set. Before that any sensor may be kept for longer, and what a start
    /// finds in the journal must not expire by a rule that is not its own.
    pub fn bind_setting(&self) {
        // What was set before is seen by whoever sees this: readers of the
        // others take their locks after it.
        self.is_binding.store(true, Release);
    }

    /// Whether [`RetentionTable::bind_setting`] was called.
    #[must_use]
    pub fn is_binding(&self) -> bool {
        self.is_binding.load(Acquire)
    }

    /// Moves the cutoffs of the setting to `now`.
    pub fn refresh(&self, now: Micros) {
        let cutoffs = self.setting.cutoffs(now);
        self.hours.store(cutoffs.hours.hours(), Relaxed);
        self.readings.store(cutoffs.readings.hours(), Relaxed);
        if !self.setting.is_forever() {
            self.is_limited.store(true, Relaxed);
        }
    }

    /// Sets the cutoffs of a sensor by what it says, what its site says and how
    /// far its readings were dropped before; answers them.
    pub fn set(
        &self,
        sensor: &SensorId,
        says: Retention,
        site: Retention,
        raw_dropped_before: Option<HourStart>,
        now: Micros,
    ) -> Cutoffs {
        let keeps = Keeps::of(says, site, self.setting);
        let cutoffs = keeps.cutoffs(now).after_drop(raw_dropped_before);
        let is_default = keeps
            == Keeps::of(Retention::default(), Retention::default(), self.setting)
            && cutoffs == keeps.cutoffs(now);
        let hash = self.hash(sensor);
        if is_default {
            // Mostly there is none, and readers are not to be held up.
            if self.read(hash).contains_key(&hash) {
                self.write(hash).remove(&hash);
            }
        } else if self.read(hash).get(&hash) != Some(&cutoffs) {
            self.write(hash).insert(hash, cutoffs);
            self.is_limited.store(true, Relaxed);
        }
        cutoffs
    }

    /// The cutoffs of a sensor.
    #[must_use]
    pub fn cutoffs(&self, sensor: &SensorId) -> Cutoffs {
        if !self.is_limited.load(Relaxed) {
            return Cutoffs::NONE;
        }
        // Before the others are looked at: one that is set in between counts.
        let is_binding = self.is_binding();
        let hash = self.hash(sensor);
        let other = self.read(hash).get(&hash).copied();
        match other {
            Some(cutoffs) => cutoffs,
            None if !is_binding => Cutoffs::NONE,
            None => Cutoffs {
                hours: HourStart::from_hours(self.hours.load(Relaxed)),
                readings: HourStart::from_hours(self.readings.load(Relaxed)),
            },
        }
    }

    /// The first hour of which readings of `sensor` are taken and kept.
    #[must_use]
    pub fn oldest_kept(&self, sensor: &SensorId) -> HourStart {
        self.cutoffs(sensor).readings
    }

    /// Says that what sensors or sites say has changed.
    pub fn notify(&self) {
        self.changed.notify_one();
    }

    /// Resolves after [`RetentionTable::notify`].
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    fn hash(&self, sensor: &SensorId) -> u64 {
        self.hasher.hash_one(sensor.as_str())
    }

    fn shard(&self, hash: u64) -> &RwLock<HashMap<u64, Cutoffs>> {
        &self.others[hash as usize % SHARDS]
    }

    fn read(&self, hash: u64) -> RwLockReadGuard<'_, HashMap<u64, Cutoffs>> {
        // Nothing panics while it is held.
        let shard = self.shard(hash).read();
        shard.unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, hash: u64) -> RwLockWriteGuard<'_, HashMap<u64, Cutoffs>> {
        let shard = self.shard(hash).write();
        shard.unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Keep;

    const HOUR: i64 = 3_600_000_000;

    fn sensor(id: &str) -> SensorId {
        SensorId::new(id).unwrap()
    }

    fn now() -> Micros {
        HourStart::from_hours(490_000).start()
    }

    fn keeping(hours: u64) -> RetentionSettings {
        RetentionSettings {
            readings: Keep::Seconds(hours * 3600),
            ..RetentionSettings::default()
        }
    }

    fn says(hours: u64) -> Retention {
        Retention {
            readings: Some(Keep::Seconds(hours * 3600)),
            ..Retention::default()
        }
    }

    #[test]
    fn without_a_setting_everything_stays() {
        let table = RetentionTable::default();
        table.refresh(now());
        assert_eq!(table.cutoffs(&sensor("S1")), Cutoffs::NONE);
    }

    #[test]
    fn the_setting_moves_with_time_and_a_sensor_keeps_its_own() {
        let table = RetentionTable::new(&keeping(24), now());
        table.bind_setting();
        let none = Retention::default();
        table.set(&sensor("S2"), says(48), none, None, now());
        assert_eq!(table.oldest_kept(&sensor("S1")).hours(), 490_000 - 24);
        assert_eq!(table.oldest_kept(&sensor("S2")).hours(), 490_000 - 48);
        table.refresh(now().saturating_add(5 * HOUR));
        assert_eq!(table.oldest_kept(&sensor("S1")).hours(), 490_000 - 19);
        assert_eq!(table.oldest_kept(&sensor("S2")).hours(), 490_000 - 48);
        table.set(&sensor("S2"), none, none, None, now());
        assert_eq!(table.oldest_kept(&sensor("S2")).hours(), 490_000 - 19);
    }

    #[test]
    fn the_setting_binds_nobody_before_every_sensor_was_looked_at() {
        let table = RetentionTable::new(&keeping(24), now());
        let none = Retention::default();
        table.set(&sensor("S1"), none, none, None, now());
        table.set(&sensor("S2"), says(48), none, None, now());
        assert_eq!(table.cutoffs(&sensor("S1")), Cutoffs::NONE);
        assert_eq!(table.oldest_kept(&sensor("S2")).hours(), 490_000 - 48);
        table.bind_setting();
        assert_eq!(table.oldest_kept(&sensor("S1")).hours(), 490_000 - 24);
        assert_eq!(table.oldest_kept(&sensor("S2")).hours(), 490_000 - 48);
    }

    #[test]
    fn one_sensor_alone_can_have_a_bound() {
        let table = RetentionTable::default();
        let none = Retention::default();
        table.set(&sensor("S2"), none, says(48), None, now());
        assert_eq!(table.cutoffs(&sensor("S1")), Cutoffs::NONE);
        assert_eq!(table.oldest_kept(&sensor("S2")).hours(), 490_000 - 48);
    }

    #[test]
    fn what_was_dropped_is_not_taken_again_though_more_is_kept_now() {
        let table = RetentionTable::default();
        let none = Retention::default();
        let dropped = HourStart::from_hours(489_000);
        let cutoffs = table.set(&sensor("S1"), none, none, Some(dropped), now());
        assert_eq!(cutoffs.readings, dropped);
        assert_eq!(cutoffs.hours, Cutoffs::NONE.hours);
        assert_eq!(table.oldest_kept(&sensor("S1")), dropped);
    }
}
