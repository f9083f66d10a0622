//! The first hours that stay, of every sensor, as of the last refresh.

use std::collections::HashMap;
use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed},
};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use ahash::RandomState;
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
    /// Rises with every change of what sensors and sites say.
    changes: AtomicU64,
    /// As of which change all sensors were looked at.
    looked_at: AtomicU64,
    /// Before that change was looked at nobody is bound.
    unbound_at: AtomicU64,
    /// Of the setting, in hours since the epoch.
    hours: AtomicI32,
    readings: AtomicI32,
    hasher: RandomState,
    /// By the hash of the sensor's id: of a million sensors two share one with a
    /// probability of 3e-8, so whoever drops compares with what the sensor's own
    /// record says.
    others: Box<[RwLock<HashMap<u64, Other>>]>,
    changed: Notify,
}

/// A sensor for which others hold than those of the setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Other {
    cutoffs: Cutoffs,
    /// The change that it is held by, 0 where it is not.
    held: u64,
}

/// The table of the default settings: everything stays.
impl Default for RetentionTable {
    fn default() -> Self {
        Self::new(&RetentionSettings::default(), Micros::MIN)
    }
}

impl RetentionTable {
    /// The table of the settings alone, at `now`. It binds nobody yet, see
    /// [`RetentionTable::bind`].
    #[must_use]
    pub fn new(settings: &RetentionSettings, now: Micros) -> Self {
        let setting = Keeps::from(settings);
        let table = Self {
            setting,
            is_limited: AtomicBool::new(false),
            changes: AtomicU64::new(1),
            // One that keeps everything binds nobody.
            looked_at: AtomicU64::new(u64::from(setting.is_forever())),
            unbound_at: AtomicU64::new(1),
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

    /// Changes so far: read it before what sensors and sites say is read.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.changes.load(Acquire)
    }

    /// What all sensors say was set, read after `as_of` changes: from now on the
    /// table binds. Before that any sensor may be kept for longer, and what a
    /// start finds in the journal must not expire by a rule that is not its own.
    pub fn bind(&self, as_of: u64) {
        self.looked_at.fetch_max(as_of, AcqRel);
    }

    /// Whether anything goes: all sensors were looked at since the last change of
    /// a site.
    #[must_use]
    pub fn is_binding(&self) -> bool {
        self.looked_at.load(Acquire) >= self.unbound_at.load(Acquire)
    }

    /// What `sensor` says has changed: nothing of it goes until it is set by what
    /// it says now, nor by a pass that is under way.
    pub fn hold(&self, sensor: &SensorId) {
        let held = self.changes.fetch_add(1, AcqRel) + 1;
        let hash = self.hash(sensor);
        let cutoffs = Cutoffs::NONE;
        self.write(hash).insert(hash, Other { cutoffs, held });
        self.changed.notify_one();
    }

    /// What a site says has changed: nothing goes until all sensors were looked at
    /// again.
    pub fn hold_all(&self) {
        let change = self.changes.fetch_add(1, AcqRel) + 1;
        self.unbound_at.fetch_max(change, AcqRel);
        self.changed.notify_one();
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
    /// far its readings were dropped before; answers them. All that was read after
    /// `as_of` changes: one that is held by a later one stays so.
    pub fn set(
        &self,
        sensor: &SensorId,
        says: Retention,
        site: Retention,
        raw_dropped_before: Option<HourStart>,
        now: Micros,
        as_of: u64,
    ) -> Cutoffs {
        let keeps = Keeps::of(says, site, self.setting);
        let cutoffs = keeps.cutoffs(now).after_drop(raw_dropped_before);
        let is_default = keeps
            == Keeps::of(Retention::default(), Retention::default(), self.setting)
            && cutoffs == keeps.cutoffs(now);
        let hash = self.hash(sensor);
        let other = (!is_default).then_some(Other { cutoffs, held: 0 });
        // Mostly there is nothing to change, and readers are not to be held up.
        if self.read(hash).get(&hash).copied() == other {
            return cutoffs;
        }
        let mut others = self.write(hash);
        if others.get(&hash).is_some_and(|other| other.held > as_of) {
            return Cutoffs::NONE;
        }
        match other {
            None => {
                others.remove(&hash);
            }
            Some(other) => {
                others.insert(hash, other);
                self.is_limited.store(true, Relaxed);
            }
        }
        cutoffs
    }

    /// The cutoffs of a sensor.
    #[must_use]
    pub fn cutoffs(&self, sensor: &SensorId) -> Cutoffs {
        if !self.is_limited.load(Relaxed) || !self.is_binding() {
            return Cutoffs::NONE;
        }
        let hash = self.hash(sensor);
        let other = self.read(hash).get(&hash).map(|other| other.cutoffs);
        other.unwrap_or_else(|| Cutoffs {
            hours: HourStart::from_hours(self.hours.load(Relaxed)),
            readings: HourStart::from_hours(self.readings.load(Relaxed)),
        })
    }

    /// The first hour of which readings of `sensor` are taken and kept.
    #[must_use]
    pub fn oldest_kept(&self, sensor: &SensorId) -> HourStart {
        self.cutoffs(sensor).readings
    }

    /// Resolves after [`RetentionTable::hold`] and [`RetentionTable::hold_all`].
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    fn hash(&self, sensor: &SensorId) -> u64 {
        self.hasher.hash_one(sensor.as_str())
    }

    fn shard(&self, hash: u64) -> &RwLock<HashMap<u64, Other>> {
        &self.others[hash as usize % SHARDS]
    }

    fn read(&self, hash: u64) -> RwLockReadGuard<'_, HashMap<u64, Other>> {
        // Nothing panics while it is held.
        let shard = self.shard(hash).read();
        shard.unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, hash: u64) -> RwLockWriteGuard<'_, HashMap<u64, Other>> {
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
        table.bind(1);
        let none = Retention::default();
        table.set(&sensor("S2"), says(48), none, None, now(), 1);
        assert_eq!(table.oldest_kept(&sensor("S1")).hours(), 490_000 - 24);
        assert_eq!(table.oldest_kept(&sensor("S2")).hours(), 490_000 - 48);
        table.refresh(now().saturating_add(5 * HOUR));
        assert_eq!(table.oldest_kept(&sensor("S1")).hours(), 490_000 - 19);
        assert_eq!(table.oldest_kept(&sensor("S2")).hours(), 490_000 - 48);
        table.set(&sensor("S2"), none, none, None, now(), 1);
        assert_eq!(table.oldest_kept(&sensor("S2")).hours(), 490_000 - 19);
    }

    #[test]
    fn the_setting_binds_nobody_before_every_sensor_was_looked_at() {
        let table = RetentionTable::new(&keeping(24), now());
        let none = Retention::default();
        table.set(&sensor("S1"), none, none, None, now(), 1);
        table.set(&sensor("S2"), says(48), none, None, now(), 1);
        for id in ["S1", "S2"] {
            assert_eq!(table.cutoffs(&sensor(id)), Cutoffs::NONE);
        }
        table.bind(1);
        assert_eq!(table.oldest_kept(&sensor("S1")).hours(), 490_000 - 24);
        assert_eq!(table.oldest_kept(&sensor("S2")).hours(), 490_000 - 48);
    }

    #[test]
    fn who_says_otherwise_now_is_held_until_that_was_read() {
        let table = RetentionTable::new(&keeping(24), now());
        table.bind(1);
        let (none, id) = (Retention::default(), sensor("S1"));
        let as_of = table.changes();
        table.hold(&id);
        assert_eq!(
            table.set(&id, none, none, None, now(), as_of),
            Cutoffs::NONE
        );
        assert_eq!(table.cutoffs(&id), Cutoffs::NONE);
        assert_eq!(table.oldest_kept(&sensor("S2")).hours(), 490_000 - 24);
        table.set(&id, says(48), none, None, now(), table.changes());
        assert_eq!(table.oldest_kept(&id).hours(), 490_000 - 48);
    }

    #[test]
    fn after_a_change_of_a_site_nobody_is_bound_until_all_were_looked_at() {
        let table = RetentionTable::new(&keeping(24), now());
        table.bind(1);
        let as_of = table.changes();
        table.hold_all();
        table.bind(as_of);
        assert_eq!(table.cutoffs(&sensor("S1")), Cutoffs::NONE);
        table.bind(table.changes());
        assert_eq!(table.oldest_kept(&sensor("S1")).hours(), 490_000 - 24);
    }

    #[test]
    fn one_sensor_alone_can_have_a_bound() {
        let table = RetentionTable::default();
        let none = Retention::default();
        table.set(&sensor("S2"), none, says(48), None, now(), 1);
        assert_eq!(table.cutoffs(&sensor("S1")), Cutoffs::NONE);
        assert_eq!(table.oldest_kept(&sensor("S2")).hours(), 490_000 - 48);
    }

    #[test]
    fn what_was_dropped_is_not_taken_again_though_more_is_kept_now() {
        let table = RetentionTable::default();
        let none = Retention::default();
        let dropped = HourStart::from_hours(489_000);
        let cutoffs = table.set(&sensor("S1"), none, none, Some(dropped), now(), 1);
        assert_eq!(cutoffs.readings, dropped);
        assert_eq!(cutoffs.hours, Cutoffs::NONE.hours);
        assert_eq!(table.oldest_kept(&sensor("S1")), dropped);
    }
}
