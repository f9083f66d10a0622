//! Runs actions, and looks after each of them.

mod deletions;
mod rest;
mod rounds;

use std::sync::Arc;
use std::time::Duration;

use hourglass::apply::Turn;
use hourglass::buffer::Buffer;
use hourglass::clock::{Clock, ManualClock};
use hourglass::config::BufferSettings;
use hourglass::journal::AppendError;
use hourglass::metrics::Ledger;
use hourglass::model::Micros;
use hourglass::store::{Store, WriterId};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::action::{Action, Body, Cut, DiskTrouble, EPOCH, Question, Setup};
use crate::answer::{Asked, ask};
use crate::disk::{Fault, SimDisk};
use crate::naive::{Durable, Journalled, RECENT_READINGS, View, values_of};
use crate::process::Process;
use crate::store::{SimStore, Written};
use deletions::Deleting;
use rounds::Flushing;

/// Number of the other process's writes.
const OTHER_PROCESS: u32 = 1000;

/// Everything there is.
pub struct World {
    pub setup: Setup,
    pub disk: SimDisk,
    pub store: SimStore,
    pub process: Process,
    pub journalled: Journalled,
    pub view: View,
    /// Whether a bucket may have been forgotten, or another process wrote: then
    /// what is a conflict is decided late, or otherwise.
    pub was_cold: bool,
    pub other_wrote: bool,
    /// Whether the store may have failed for a bucket by itself.
    pub was_set_aside: bool,
    /// Queries that were answered.
    pub answered: usize,
    clock: Arc<ManualClock>,
    other: Arc<Buffer>,
    rounds: Vec<Flushing>,
    asked: Vec<Asked>,
    deleting: Option<Deleting>,
    starts: u32,
    written_seen: usize,
    is_away: bool,
}

/// Number of the process that wrote.
fn number_of(written: &Written) -> u32 {
    (written.by >> 32) as u32
}

impl World {
    pub fn new(setup: Setup) -> Result<Self, String> {
        let clock = Arc::new(ManualClock::new(
            Micros::new(EPOCH + 2 * 3_600_000_000).unwrap(),
        ));
        let (disk, store) = (SimDisk::default(), SimStore::new(setup.part_bytes_max));
        store.set_pauses(true);
        let process = Process::start(&disk, &store, &clock, setup, 1)
            .map_err(|error| format!("I1: the journal does not open: {error}"))?;
        let settings = BufferSettings {
            bytes_max: 1 << 20,
            conflicts_kept: 0,
            conflicts_age_max: std::time::Duration::from_secs(86_400),
            recent_readings: RECENT_READINGS,
        };
        let other = Buffer::new(
            settings,
            Arc::new(Ledger::default()),
            WriterId::new(2 * OTHER_PROCESS),
            store.part_bytes_max(),
        );
        Ok(Self {
            setup,
            disk,
            store,
            process,
            journalled: Journalled::default(),
            view: View::default(),
            was_cold: false,
            other_wrote: false,
            was_set_aside: false,
            answered: 0,
            clock,
            other: Arc::new(other),
            rounds: Vec::new(),
            asked: Vec::new(),
            deleting: None,
            starts: 1,
            written_seen: 0,
            is_away: false,
        })
    }

    pub fn act(&mut self, action: &Action) -> Result<(), String> {
        match action {
            Action::Ingest(bodies, trouble) => self.ingest(bodies, *trouble)?,
            Action::Advance(seconds) => self.clock.advance(Duration::from_secs(*seconds)),
            Action::ClockSteps(seconds) => self.clock.step(*seconds * 1_000_000),
            Action::Apply(turns) => {
                for _ in 0..*turns {
                    self.apply()?;
                }
            }
            Action::Flush {
                buckets_max,
                everything,
                trouble,
            } => self.flush(*buckets_max, *everything, *trouble),
            Action::Ask(sensor, question) => {
                let applied = self.process.progress.applied_end();
                let acknowledged = self.journalled.acknowledged.last();
                self.asked.push(Asked {
                    future: ask(self.process.query.clone(), *sensor, *question),
                    is_stream: matches!(question, Question::Readings { .. }),
                    start: self.view.now(),
                    in_records: self.in_records(),
                    other_wrote: self.other_wrote,
                    acknowledged_applied: acknowledged.is_none_or(|last| *last < applied),
                    durable_applied: self.journalled.end() <= applied,
                    was_away: self.is_away,
                    was_deleting: !self.journalled.open.is_empty(),
                });
                // It takes its snapshot now.
                self.poll_query(self.asked.len() - 1)?;
            }
            Action::Step(which) => {
                let under_way = self.rounds.len() + self.asked.len();
                match which.checked_rem(under_way) {
                    None => {}
                    Some(at) if at < self.rounds.len() => self.poll_round(at),
                    Some(at) => self.poll_query(at - self.rounds.len())?,
                }
            }
            Action::Finish => self.finish()?,
            Action::Evict { idle_seconds } => {
                self.was_cold = true;
                let idle = Duration::from_secs(*idle_seconds);
                self.process.buffer.evict(self.clock.elapsed(), idle);
                self.other.evict(self.clock.elapsed(), idle);
            }
            Action::Release => self.process.release(),
            Action::OtherProcess(body) => self.other_process(body),
            Action::Away(away) => self.set_away(*away),
            Action::DelayedArrives => self.store.delayed_arrives(),
            Action::Delete(deletion) => self.delete(*deletion)?,
            Action::MakeDeletions(steps, trouble) => self.make_deletions(*steps, *trouble)?,
            Action::ReadFails => self.disk.fail_next(Fault::ReadFails),
            Action::Stop => self.stop()?,
            Action::Kill(trouble) => self.crash(self.disk.after_kill(), *trouble)?,
            Action::PowerCut(Cut::Prefix(choices), trouble) => {
                let mut choices = choices.iter();
                let choose = |of: usize| choices.next().map_or(0, |choice| choice % of);
                self.crash(self.disk.after_power_cut(choose), *trouble)?;
            }
            Action::PowerCut(Cut::Sectors(seed), trouble) => {
                let mut choices = StdRng::seed_from_u64(*seed);
                let choose = |of: usize| choices.random_range(0..of);
                self.crash(self.disk.after_power_cut_in_sectors(choose), *trouble)?;
            }
        }
        self.look();
        for seq in self.process.acknowledged()? {
            self.journalled.acknowledged.insert(seq);
        }
        Ok(())
    }

    fn ingest(&mut self, bodies: &[Body], trouble: Option<DiskTrouble>) -> Result<(), String> {
        match trouble {
            Some(DiskTrouble::NoRoom(kept)) => self.disk.fail_next(Fault::NoRoom { kept }),
            Some(DiskTrouble::SyncFails) => self.disk.fail_next(Fault::SyncFails),
            Some(DiskTrouble::AppendFails) => self.disk.fail_next(Fault::AppendFails),
            Some(DiskTrouble::CreateNoRoom) => self.disk.fail_next(Fault::CreateNoRoom),
            Some(DiskTrouble::SyncNamesFails) => self.disk.fail_next(Fault::SyncNamesFails),
            Some(DiskTrouble::PowerFails(syncs)) => self.disk.power_cut_after(syncs),
            Some(DiskTrouble::PowerFailsAt(steps)) => self.disk.power_cut_after_steps(steps),
            None => {}
        }
        let place = |place: usize| Durable::Values(values_of(&bodies[place]));
        match self.process.ingest(bodies)? {
            Ok(places) => {
                for values in places.into_iter().map(place) {
                    self.journalled.durable(values);
                }
            }
            Err(AppendError::NoRoom(_)) => {}
            Err(AppendError::Poisoned(_)) if self.journalled.unsure.is_empty() => {
                let records = (0..bodies.len()).map(place);
                let has_values = |record: &Durable| match record {
                    Durable::Values(values) => !values.is_empty(),
                    Durable::Deletion(_) | Durable::Done(_) => true,
                };
                self.journalled.unsure = records.filter(has_values).collect();
            }
            Err(AppendError::Poisoned(_)) => {}
        }
        Ok(())
    }

    fn apply(&mut self) -> Result<Turn, String> {
        let failures = self.disk.read_failures();
        let applied = self.process.apply();
        if applied.is_err() && self.disk.read_failures() > failures {
            // The service stops then: nothing is skipped.
            self.crash(self.disk.after_kill(), None)?;
            return Ok(Turn::Idle);
        }
        let (turn, seq) = applied?;
        if turn == Turn::Applied {
            if seq >= self.journalled.end() {
                return Err(format!("I1: record {seq} is applied and was never durable"));
            }
            self.note_applied(seq);
        }
        Ok(turn)
    }

    /// The instants that the records of sensors have among their newest readings.
    fn in_records(&self) -> Vec<(String, i64)> {
        let records = self.store.recents().into_iter();
        records
            .flat_map(|(sensor, recent)| {
                let id = sensor.as_str().to_owned();
                recent.into_iter().map(move |r| (id.clone(), r.at.get()))
            })
            .collect()
    }

    fn set_away(&mut self, away: bool) {
        self.is_away = away;
        self.store.set_away(away);
        for asked in &mut self.asked {
            asked.was_away |= away;
        }
    }

    /// Whether a value came from the other process.
    pub fn is_of_other_process(&self, written: &Written) -> bool {
        number_of(written) == OTHER_PROCESS
    }

    /// Notes what others than this process wrote.
    fn look(&mut self) {
        let written = self.store.written_since(self.written_seen);
        for write in &written {
            let number = number_of(write);
            if number != self.starts {
                let sensor = write.sensor.as_str().to_owned();
                let identity = (sensor, write.at.get(), write.measure.as_str().to_owned());
                self.view.others.push((identity, write.value));
            }
            self.other_wrote |= number == OTHER_PROCESS;
        }
        self.written_seen += written.len();
    }
}
