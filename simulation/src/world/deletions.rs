//! Deletions, a step at a time.

use std::sync::Arc;
use std::task::{Context, Waker};

use futures_util::future::BoxFuture;
use hourglass::clock::Clock;
use hourglass::deletion::{DeletionRun, DeletionTurn};
use hourglass::journal::{AppendError, Record};
use hourglass::model::{Micros, SensorId, TimeRange};
use hourglass::store::{Store, WriterId};

use super::World;
use crate::action::Deletion;
use crate::naive::Durable;
use crate::store::Trouble;

/// Number of the writes that deletions make; each start has its own.
const DELETER: u32 = 2000;

/// A deletion under way in the store.
pub(super) struct Deleting {
    seq: u64,
    future: BoxFuture<'static, ()>,
    /// The store has done it; the journal does not say so yet.
    is_done: bool,
}

impl World {
    /// As the handle does it: durable, then the applier's.
    pub(super) fn delete(&mut self, deletion: Deletion) -> Result<(), String> {
        let instant = |micros| Micros::new(micros).unwrap();
        let record = Record::Deletion {
            received_at: self.clock.now(),
            sensor: SensorId::new(deletion.sensor).unwrap(),
            range: TimeRange {
                from: instant(deletion.from),
                to: instant(deletion.to),
            },
        };
        if self.journal(record, Durable::Deletion(deletion))? {
            for asked in &mut self.asked {
                asked.was_deleting = true;
            }
        }
        Ok(())
    }

    /// Whether the record is durable.
    fn journal(&mut self, record: Record, durable: Durable) -> Result<bool, String> {
        match self.process.append(vec![record])? {
            Ok(_) => {
                self.journalled.durable(durable);
                return Ok(true);
            }
            Err(AppendError::Poisoned(_)) if self.journalled.unsure.is_empty() => {
                self.journalled.unsure = vec![durable];
            }
            Err(_) => {}
        }
        Ok(false)
    }

    /// What the applier moved in, or took away.
    pub(super) fn note_applied(&mut self, seq: u64) {
        let found = &self.process.recovered.deletions;
        let is_about = |later: &Deletion| {
            let values = self.journalled.record(seq).iter();
            values.filter(|(id, _)| later.is_about(id)).count()
        };
        let recovered = self.process.recovered.end_seq;
        let later: Vec<Deletion> = match seq < recovered {
            true => self
                .journalled
                .deletions(seq + 1..recovered)
                .copied()
                .collect(),
            false => Vec::new(),
        };
        let goes = later.iter().map(is_about).sum::<usize>() > 0;
        let kept = self.journalled.record(seq).iter();
        let kept = kept.filter(|(id, _)| !goes || !later.iter().any(|l| l.is_about(id)));
        self.view.own.extend(kept.cloned().collect::<Vec<_>>());
        let was_done = found.iter().any(|found| found.seq == seq && found.is_done);
        for deletion in self.journalled.deletions(seq..seq + 1) {
            if !was_done {
                self.view.deleted.push((self.view.own.len(), *deletion));
            }
        }
    }

    /// The task of deletions makes at most `steps` steps.
    pub(super) fn make_deletions(
        &mut self,
        steps: usize,
        trouble: Option<Trouble>,
    ) -> Result<(), String> {
        for step in 0..steps.min(400) {
            let Some(mut deleting) = self.deleting.take().or_else(|| self.begin()) else {
                return Ok(());
            };
            if let Some(trouble) = trouble.filter(|_| step == 0) {
                self.store.plant(trouble);
            }
            if !deleting.is_done {
                let mut context = Context::from_waker(Waker::noop());
                deleting.is_done = deleting.future.as_mut().poll(&mut context).is_ready();
            }
            if !deleting.is_done {
                self.deleting = Some(deleting);
                continue;
            }
            // The server makes no write that long after its caller gave it up.
            self.store.forget_delayed();
            let seq = deleting.seq;
            if self.journal(Record::DeletionDone { deletion: seq }, Durable::Done(seq))? {
                self.process.buffer.end_deletion(seq);
                self.process.buffer.unpin_deletion(seq);
            } else {
                self.deleting = Some(deleting);
                return Ok(());
            }
        }
        Ok(())
    }

    /// Whether a deletion is done and the journal takes no more word of it.
    pub(super) fn deletions_need_a_start(&self) -> bool {
        self.deleting
            .as_ref()
            .is_some_and(|deleting| deleting.is_done)
    }

    /// The next one that is open.
    fn begin(&mut self) -> Option<Deleting> {
        let deletion = self.process.buffer.next_deletion()?;
        let seq = deletion.seq;
        let writer = WriterId::new(2 * (DELETER + self.starts));
        let mut run = DeletionRun::new(deletion);
        let (store, buffer) = (self.store.clone(), Arc::clone(&self.process.buffer));
        let future = Box::pin(async move {
            let store: Arc<dyn Store> = Arc::new(store);
            loop {
                match run.turn(&store, &buffer, &writer).await {
                    DeletionTurn::Done(_) => return,
                    DeletionTurn::More => {}
                    DeletionTurn::Failed(_) => futures_util::pending!(),
                }
            }
        });
        Some(Deleting {
            seq,
            future,
            is_done: false,
        })
    }
}
