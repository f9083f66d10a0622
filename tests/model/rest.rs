//! The ends of a run: a crash with the next start, and coming to rest.

use std::time::Duration;

use hourglass::apply::Turn;
use hourglass::clock::Clock;
use hourglass::flush::low_water;

use super::naive::{View, newest_in, values_in};
use super::process::Process;
use super::run::World;
use crate::support::sim_disk::SimDisk;

impl World {
    /// The process ends as it stands, and another starts on `disk`.
    pub(super) fn crash(&mut self, disk: SimDisk) -> Result<(), String> {
        self.look();
        self.disk = disk;
        self.asked.clear();
        self.rounds.retain(|round| !round.is_own);
        self.deleting = None;
        self.was_cold = true;
        self.starts += 1;
        let (store, clock) = (&self.store, &self.clock);
        self.process = Process::start(&self.disk, store, clock, self.setup, self.starts)?;
        let unsure = std::mem::take(&mut self.journalled.unsure);
        let found = self.process.recovered.end_seq;
        if found == self.journalled.end() + unsure.len() as u64 {
            for record in unsure {
                self.journalled.durable(record);
            }
        } else if found != self.journalled.end() {
            return Err(format!(
                "I1: the journal ended before record {}, now before {found}",
                self.journalled.end()
            ));
        }
        let stored = self.store.buckets();
        self.view = View {
            base: stored.iter().flat_map(values_in).collect(),
            ..View::default()
        };
        Ok(())
    }

    /// Lets everything come to rest: the store answers, and all that is durable
    /// is flushed and released.
    pub(crate) fn drain(&mut self) -> Result<(), String> {
        self.set_away(false);
        self.store.heal();
        self.finish()?;
        for _ in 0..1000 {
            let turn = self.apply()?;
            if turn == Turn::Applied {
                continue;
            }
            if turn == Turn::Full {
                self.was_cold = true;
                self.process
                    .buffer
                    .evict(self.clock.elapsed(), Duration::from_secs(600));
            }
            // Buckets that were set aside are due again.
            self.clock.advance(Duration::from_secs(600));
            self.flush(2, true, None);
            self.make_deletions(usize::MAX, None)?;
            if self.deletions_need_a_start() {
                self.crash(self.disk.after_kill())?;
                continue;
            }
            let is_behind = self.process.progress.lag() > 0;
            let is_deleting = self.process.buffer.open_deletions() > 0;
            let is_idle = turn == Turn::Idle && !is_behind && !is_deleting;
            if self.rounds.is_empty() && is_idle {
                let end = self.process.tail.durable_end();
                let low_water = low_water(&self.process.progress, &self.process.buffer);
                if low_water != end || self.process.buffer.pending_values() != 0 {
                    return Err(format!(
                        "at rest the journal is pinned at {low_water} of {end}, and {} values wait",
                        self.process.buffer.pending_values()
                    ));
                }
                self.recent_is_true()?;
                self.process.release();
                for seq in self.process.acknowledged()? {
                    self.journalled.acknowledged.insert(seq);
                }
                return Ok(());
            }
            self.finish()?;
        }
        Err("what is durable does not reach the store".into())
    }

    /// The newest readings in each sensor's record are those of its buckets.
    fn recent_is_true(&self) -> Result<(), String> {
        let expected = newest_in(&self.store.buckets());
        for (sensor, recent) in self.store.recents() {
            let expected = expected.get(sensor.as_str()).cloned().unwrap_or_default();
            if recent != expected {
                return Err(format!(
                    "I3: the record of {sensor} has {recent:?}, its buckets {expected:?}"
                ));
            }
        }
        // One whose readings are all deleted has a record still.
        let recents = self.store.recents();
        let has_record = |sensor: &String| recents.iter().any(|(id, _)| id.as_str() == sensor);
        match expected.keys().all(has_record) {
            true => Ok(()),
            false => Err("a sensor with buckets has no record".into()),
        }
    }
}
