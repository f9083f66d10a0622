//! The ways a round can go: posted in a closed or an open loop, or as datagrams.

use std::time::Instant;

use crate::fleet::Fleet;
use crate::http::{Connection, Target};
use crate::open_loop::{Overdue, Pace, open_loop};
use crate::post::{Encoded, Posting, Round, Route, SharedTally, closed_loop};
use crate::round::Prepared;
use crate::run::{Options, RunError};
use crate::udp::Senders;

/// How the rounds of a run go.
#[derive(Debug)]
pub(crate) enum Way<'a> {
    /// Over HTTP, in an open loop where there is a rate.
    Post {
        target: &'a Target,
        route: Route,
        connections: Vec<Connection>,
        connections_max: usize,
        rate: Option<f64>,
    },
    /// As datagrams.
    Datagrams { senders: Senders, rate: Option<f64> },
}

/// What became of a round, its answers aside.
#[derive(Debug)]
pub(crate) struct Went {
    /// Batches of which something was sent: the first so many.
    pub(crate) begun: usize,
    /// Batches of which all was sent: the first so many.
    pub(crate) whole: usize,
    /// Batches that nobody acknowledged whole, by their place in the round.
    pub(crate) unacknowledged: Vec<usize>,
    /// Connections that are open.
    pub(crate) connections: u64,
    pub(crate) overdue: Overdue,
}

impl<'a> Way<'a> {
    /// Opens what must be open before the clock starts: all connections of a closed
    /// loop, the first of an open one.
    pub(crate) async fn open(
        target: &'a Target,
        fleet: &Fleet,
        options: &Options,
    ) -> Result<Self, RunError> {
        let (rate, connections_max) = (options.rate, options.connections);
        if let Some(address) = &options.udp {
            let senders = Senders::open(address, connections_max).await?;
            return Ok(Self::Datagrams { senders, rate });
        }
        let count = rate.map_or(connections_max, |_| 1);
        let mut connections = Vec::with_capacity(count);
        for _ in 0..count {
            let mut connection = Connection::new(target);
            connection.open().await?;
            connections.push(connection);
        }
        Ok(Self::Post {
            target,
            route: options.route(fleet),
            connections,
            connections_max,
            rate,
        })
    }

    /// Sends a round until the deadline.
    pub(crate) async fn send(
        &mut self,
        round: &[Prepared],
        deadline: Instant,
        tally: &SharedTally,
    ) -> Went {
        match self {
            Self::Datagrams { senders, rate } => {
                let batches: Vec<Vec<Encoded>> =
                    round.iter().map(|batch| batch.bodies.clone()).collect();
                let sent = senders.send(&batches, *rate, deadline, tally).await;
                Went {
                    begun: sent.begun,
                    whole: sent.whole,
                    unacknowledged: (0..sent.begun).collect(),
                    connections: 0,
                    overdue: Overdue::default(),
                }
            }
            Self::Post {
                target,
                route,
                connections,
                connections_max,
                rate,
            } => {
                let bodies = round.iter().flat_map(|batch| batch.bodies.iter());
                let bodies: Vec<Encoded> = bodies.cloned().collect();
                let open = std::mem::take(connections);
                let posting = Posting {
                    route: *route,
                    deadline,
                    tally: tally.clone(),
                };
                let (done, overdue) = match *rate {
                    Some(rate) => {
                        let connections_max = *connections_max;
                        let pace = Pace {
                            rate,
                            connections_max,
                        };
                        open_loop(target, open, pace, &posting, bodies).await
                    }
                    None => {
                        let done = closed_loop(open, &posting, bodies).await;
                        (done, Overdue::default())
                    }
                };
                let Round {
                    begun,
                    unacknowledged,
                    connections: open,
                } = done;
                *connections = open;
                Went {
                    begun,
                    whole: begun,
                    unacknowledged,
                    connections: connections.len() as u64,
                    overdue,
                }
            }
        }
    }
}
