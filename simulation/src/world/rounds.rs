//! Rounds and queries under way, a step at a time.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::future::BoxFuture;
use hourglass::buffer::Buffer;
use hourglass::buffer::DuePolicy;
use hourglass::clock::{Clock, ManualClock};
use hourglass::flush::{FlushRound, RoundTurn};
use hourglass::store::Store;

use super::World;
use crate::action::Body;
use crate::process::decoded;
use crate::store::Trouble;

/// Polls after which a round that nothing hinders must be done.
const POLLS_MAX: usize = 200;

/// A round under way.
pub(super) struct Flushing {
    future: BoxFuture<'static, ()>,
    /// Of this process, not of the other one.
    pub(super) is_own: bool,
}

fn policy(clock: &ManualClock, everything: bool, release_below: Option<u64>) -> DuePolicy {
    DuePolicy {
        hour: clock.now().hour(),
        elapsed: clock.elapsed(),
        closed_age_max: Duration::ZERO,
        age_max: Duration::from_secs(600),
        readings_max: 6,
        release_below,
        everything,
    }
}

impl World {
    pub(super) fn flush(&mut self, buckets_max: usize, everything: bool, trouble: Option<Trouble>) {
        let below = self.process.log().oldest_segment_end();
        let policy = policy(&self.clock, everything, Some(below));
        let leases = self.process.buffer.lease(&policy, buckets_max);
        if leases.is_empty() {
            return;
        }
        if let Some(trouble) = trouble {
            self.was_set_aside |= matches!(trouble, Trouble::FirstFails | Trouble::Refused);
            self.store.plant(trouble);
        }
        let buffer = Arc::clone(&self.process.buffer);
        self.start_round(FlushRound::new(leases), buffer, true);
    }

    pub(super) fn other_process(&mut self, body: &Body) {
        let decoded = decoded(body, self.clock.now());
        self.other
            .apply(1, self.clock.now(), &decoded.batch, self.clock.elapsed());
        self.flush_other();
    }

    /// The other process begins to flush what it has.
    pub(super) fn flush_other(&mut self) {
        let leases = self.other.lease(&policy(&self.clock, true, None), 3);
        if !leases.is_empty() {
            self.start_round(FlushRound::new(leases), Arc::clone(&self.other), false);
        }
    }

    fn start_round(&mut self, mut round: FlushRound, buffer: Arc<Buffer>, is_own: bool) {
        let store: Arc<dyn Store> = Arc::new(self.store.clone());
        let clock = Arc::clone(&self.clock);
        let future = Box::pin(async move {
            loop {
                match round.turn(&store, &buffer, &*clock).await {
                    RoundTurn::Done => return,
                    RoundTurn::More | RoundTurn::Refused(_) => {}
                    RoundTurn::Failed(_) => futures_util::pending!(),
                }
            }
        });
        self.rounds.push(Flushing { future, is_own });
    }

    pub(super) fn poll_round(&mut self, at: usize) {
        let mut context = Context::from_waker(Waker::noop());
        if self.rounds[at]
            .future
            .as_mut()
            .poll(&mut context)
            .is_ready()
        {
            drop(self.rounds.remove(at));
        }
        self.look();
    }

    pub(super) fn poll_query(&mut self, at: usize) -> Result<(), String> {
        let mut context = Context::from_waker(Waker::noop());
        let polled = self.asked[at].future.as_mut().poll(&mut context);
        if let Poll::Ready(answer) = polled {
            let asked = self.asked.remove(at);
            self.answered += 1;
            asked.check(answer, &self.view)?;
        }
        Ok(())
    }

    /// Rounds and queries go on, in turns, until they end or nothing can.
    pub(super) fn finish(&mut self) -> Result<(), String> {
        for _ in 0..POLLS_MAX {
            for at in (0..self.rounds.len()).rev() {
                self.poll_round(at);
            }
            for at in (0..self.asked.len()).rev() {
                self.poll_query(at)?;
            }
            if self.rounds.is_empty() && self.asked.is_empty() {
                return Ok(());
            }
        }
        match self.is_away {
            true => Ok(()),
            false => Err("a round or a query does not end".into()),
        }
    }
}
