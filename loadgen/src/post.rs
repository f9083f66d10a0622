//! Posts encoded batches over several connections, each the next as soon as it is
//! free: a closed loop.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use bytes::Bytes;
use tokio::task::JoinSet;

use crate::deliver::Deliverer;
use crate::http::Connection;
pub use crate::tally::{SharedTally, Tally};

/// An encoded batch.
#[derive(Debug, Clone)]
pub struct Encoded {
    /// The request's body.
    pub body: Bytes,
    /// Readings in it.
    pub readings: u64,
}

/// Where bodies go, and what they are.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    /// The path of the endpoint.
    pub path: &'static str,
    /// `Content-Type`.
    pub content_type: &'static str,
    /// `Content-Encoding`, where bodies are compressed.
    pub content_encoding: Option<&'static str>,
}

/// What all who post have in common.
#[derive(Debug, Clone)]
pub struct Posting {
    /// Where bodies go.
    pub route: Route,
    /// After it no batch is begun or tried again.
    pub deadline: Instant,
    /// Where answers are counted.
    pub tally: SharedTally,
}

/// What became of a round; its answers are in the tally.
#[derive(Debug)]
pub struct Round {
    /// The batches that were begun: the first so many of the round.
    pub begun: usize,
    /// Those of them that were not acknowledged whole, by their place in the
    /// round: the server may have all, some or nothing of each.
    pub unacknowledged: Vec<usize>,
    /// The connections, to post the next round with.
    pub connections: Vec<Connection>,
}

/// Posts the batches in order, each connection the next one as soon as it is
/// free, until all are answered or the deadline has passed. Each batch is tried
/// again after a 429, a 503 or a connection error until the deadline.
pub async fn closed_loop(
    connections: Vec<Connection>,
    posting: &Posting,
    batches: Vec<Encoded>,
) -> Round {
    let batches = Arc::new(batches);
    let next = Arc::new(AtomicUsize::new(0));
    let mut workers = JoinSet::new();
    for connection in connections {
        let mut deliverer = Deliverer {
            connection,
            posting: posting.clone(),
        };
        let (batches, next) = (Arc::clone(&batches), Arc::clone(&next));
        workers.spawn(async move {
            let mut unacknowledged = Vec::new();
            while Instant::now() < deliverer.posting.deadline {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some(batch) = batches.get(place) else {
                    break;
                };
                if !deliverer.deliver(batch, Instant::now()).await {
                    unacknowledged.push(place);
                }
            }
            (deliverer.connection, unacknowledged)
        });
    }
    let mut round = Round {
        begun: 0,
        unacknowledged: Vec::new(),
        connections: Vec::new(),
    };
    for (connection, unacknowledged) in workers.join_all().await {
        round.connections.push(connection);
        round.unacknowledged.extend(unacknowledged);
    }
    round.unacknowledged.sort_unstable();
    round.begun = next.load(Ordering::Relaxed).min(batches.len());
    round
}
