//! Posts batches by a schedule, whatever the server does: an open loop.
//!
//! When a batch is due is fixed in advance, and its latency counts from then on. A
//! server that stalls is met with what became due meanwhile, and each of these
//! batches shows its wait; a closed loop would have sent them later and hidden it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::{JoinError, JoinSet};

use crate::deliver::Deliverer;
use crate::http::{Connection, Target};
use crate::post::{Encoded, Posting, Round};
use crate::ticker::{Schedule, Ticker};

/// At what pace, and over how many connections at most.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Readings a second, above 0.
    pub rate: f64,
    /// Connections, at least 1.
    pub connections_max: usize,
}

/// What was due and no connection was free for before the time was over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Overdue {
    /// Batches.
    pub batches: u64,
    /// Readings in them.
    pub readings: u64,
    /// How long the first of them had waited at the end.
    pub longest_wait: Duration,
}

/// Posts batches in order, each when it is due or as soon as a connection is free
/// after that. Connections are opened where all that are open are busy.
pub async fn open_loop(
    target: &Target,
    connections: Vec<Connection>,
    pace: Pace,
    posting: &Posting,
    batches: Vec<Encoded>,
) -> (Round, Overdue) {
    let begun = Instant::now();
    let schedule = Schedule::new(batches.iter().map(|batch| batch.readings), pace.rate);
    let mut ticker = Ticker::start(schedule.clone(), begun, posting.deadline);
    let mut crew = Crew {
        target,
        posting,
        pace,
        batches: Arc::new(batches),
        idle: connections.into_iter().collect(),
        busy: JoinSet::new(),
        unacknowledged: Vec::new(),
    };
    let (mut due, mut next, mut ticking) = (0, 0, true);
    loop {
        while next < due && Instant::now() < posting.deadline {
            let Some(connection) = crew.free() else { break };
            crew.begin(next, connection, begun + schedule.due(next));
            next += 1;
        }
        if !ticking && crew.busy.is_empty() {
            break;
        }
        tokio::select! {
            signal = ticker.next(), if ticking => match signal {
                Some(()) => due += 1,
                None => ticking = false,
            },
            Some(done) = crew.busy.join_next() => crew.end(done),
        }
    }
    ticker.join().await;
    let waiting = crew.batches.get(next..due).unwrap_or_default();
    let ended = posting.deadline.min(Instant::now());
    let overdue = match waiting {
        [] => Overdue::default(),
        waiting => Overdue {
            batches: waiting.len() as u64,
            readings: waiting.iter().map(|batch| batch.readings).sum(),
            longest_wait: ended.saturating_duration_since(begun + schedule.due(next)),
        },
    };
    crew.unacknowledged.sort_unstable();
    let round = Round {
        begun: next,
        unacknowledged: crew.unacknowledged,
        connections: crew.idle.into(),
    };
    (round, overdue)
}

struct Crew<'a> {
    target: &'a Target,
    posting: &'a Posting,
    pace: Pace,
    batches: Arc<Vec<Encoded>>,
    idle: VecDeque<Connection>,
    busy: JoinSet<(Connection, usize, bool)>,
    unacknowledged: Vec<usize>,
}

impl Crew<'_> {
    /// The connection that was used last, so that few are used where few suffice;
    /// else a new one, where one more may be opened.
    fn free(&mut self) -> Option<Connection> {
        let idle = self.idle.pop_back();
        let may = self.busy.len() < self.pace.connections_max;
        idle.or_else(|| may.then(|| Connection::new(self.target)))
    }

    fn begin(&mut self, place: usize, connection: Connection, due: Instant) {
        let batches = Arc::clone(&self.batches);
        let mut deliverer = Deliverer {
            connection,
            posting: self.posting.clone(),
        };
        self.busy.spawn(async move {
            let acknowledged = match batches.get(place) {
                Some(batch) => deliverer.deliver(batch, due).await,
                None => false,
            };
            (deliverer.connection, place, acknowledged)
        });
    }

    fn end(&mut self, done: Result<(Connection, usize, bool), JoinError>) {
        match done {
            Ok((connection, place, acknowledged)) => {
                self.idle.push_back(connection);
                if !acknowledged {
                    self.unacknowledged.push(place);
                }
            }
            // Nobody aborts them: it panicked.
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
}
