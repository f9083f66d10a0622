//! The ends of a run: a crash with the next start, and coming to rest.

use std::time::Duration;

use hourglass::apply::Turn;
use hourglass::clock::Clock;
use hourglass::flush::low_water;
use hourglass::journal::LogError;

use super::World;
use crate::action::StartTrouble;
use crate::disk::{Fault, SimDisk};
use crate::naive::{View, newest_in, values_in};
use crate::process::Process;

impl World {
    /// The process ends as it stands, and another starts on `disk`.
    pub(super) fn crash(
        &mut self,
        disk: SimDisk,
        trouble: Option<StartTrouble>,
    ) -> Result<(), String> {
        self.look();
        self.disk = disk;
        self.asked.clear();
        self.rounds.retain(|round| !round.is_own);
        self.deleting = None;
        self.was_cold = true;
        self.start(trouble)?;
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

    /// Starts; where trouble keeps it from that, starts again.
    fn start(&mut self, trouble: Option<StartTrouble>) -> Result<(), String> {
        match trouble {
            Some(StartTrouble::PowerFailsAt(steps)) => self.disk.power_cut_after_steps(steps),
            Some(StartTrouble::ReadFails) => self.disk.fail_next(Fault::ReadFails),
            None => {}
        }
        self.starts += 1;
        let (store, clock) = (&self.store, &self.clock);
        match Process::start(&self.disk, store, clock, self.setup, self.starts) {
            Ok(process) => self.process = process,
            Err(LogError::Disk { .. }) if trouble.is_some() => {
                self.disk = match self.disk.is_off() {
                    true => self.disk.after_power_cut(|_| 0),
                    false => self.disk.after_kill(),
                };
                return self.start(None);
            }
            Err(error) => return Err(format!("I1: the journal does not open: {error}")),
        }
        Ok(())
    }

    /// A clean stop, with the store there, and the next start: no recovery (I10).
    pub(super) fn stop(&mut self) -> Result<(), String> {
        self.drain()?;
        self.disk.heal();
        let was_sound = !self.disk.is_off() && self.process.log().is_writable();
        self.process.finish();
        let was_sound = was_sound && !self.disk.is_off();
        self.crash(self.disk.after_kill(), None)?;
        match self.process.recovered.records {
            0 => Ok(()),
            left if was_sound => Err(format!("I10: {left} records left behind a clean stop")),
            _ => Ok(()),
        }
    }

    /// Lets everything come to rest: the store answers, and all that is durable
    /// is flushed and released.
    pub fn drain(&mut self) -> Result<(), String> {
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
            // What it was not told the end of it has not told others of either.
            self.flush_other();
            self.make_deletions(usize::MAX, None)?;
            if self.deletions_need_a_start() {
                self.crash(self.disk.after_kill(), None)?;
                continue;
            }
            let is_behind = self.process.progress.lag() > 0;
            let is_deleting = self.process.buffer.open_deletions() > 0;
            let is_idle = turn == Turn::Idle
                && !is_behind
                && !is_deleting
                && self.other.pending_values() == 0;
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
