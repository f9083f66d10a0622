//! One run: encode a round of batches, post it against the clock, repeat.
//!
//! Bodies are encoded before the clock starts, and it stands still while the
//! next round is encoded, so that the generator does not measure itself. A run
//! whose bodies fit one round (`ROUND_BYTES`) has no such pause. The rounds
//! are part of the report, as a server may work off its backlog in the pauses.

use std::time::{Duration, Instant};

use crate::cpu::{CpuError, Usage};
use crate::fleet::Fleet;
use crate::http::{Connection, HttpError, Target};
use crate::plan::{Kind, Plan};
use crate::post::{Encoded, Tally, post};

/// Bytes of bodies encoded ahead: some 8 million readings with one measure.
const ROUND_BYTES: usize = 512 << 20;

/// What a run did.
#[derive(Debug)]
pub struct Ran {
    /// Batches of the plan that were posted, copies included.
    pub batches: u64,
    /// Whether these were all.
    pub all: bool,
    /// Readings in batches posted, by kind.
    pub readings_fresh: u64,
    /// Readings held back and posted later.
    pub readings_late: u64,
    /// Readings posted a second time.
    pub readings_copied: u64,
    /// Bytes of bodies posted.
    pub body_bytes: u64,
    /// Rounds of encoding and posting.
    pub rounds: u64,
    /// Seconds of posting, the pauses between rounds not counted.
    pub seconds: f64,
    /// The answers.
    pub tally: Tally,
    /// CPU seconds of the load generator while it posted.
    pub own_cpu_seconds: f64,
    /// CPU seconds and memory of the processes asked for, from before the first
    /// post to after the last answer, pauses included.
    pub processes: Vec<Usage>,
}

/// A run that could not begin or whose processes are gone.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// No connection.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// A process cannot be read.
    #[error(transparent)]
    Cpu(#[from] CpuError),
}

/// Posts a fleet's readings.
///
/// # Errors
/// Nobody listens at the target, or a process cannot be read.
pub async fn run(
    target: &Target,
    fleet: &Fleet,
    connections: usize,
    posting_max: Duration,
    pids: &[i32],
) -> Result<Ran, RunError> {
    let mut open = Vec::with_capacity(connections);
    for _ in 0..connections {
        let mut connection = Connection::new(target);
        connection.open().await?;
        open.push(connection);
    }
    let mut ran = Ran {
        batches: 0,
        all: false,
        readings_fresh: 0,
        readings_late: 0,
        readings_copied: 0,
        body_bytes: 0,
        rounds: 0,
        seconds: 0.0,
        tally: Tally::default(),
        own_cpu_seconds: 0.0,
        processes: Vec::new(),
    };
    let mut plan = Plan::new(fleet);
    let mut posting = Duration::ZERO;
    let mut before: Option<Vec<Usage>> = None;
    loop {
        let round = encode(fleet, &mut plan);
        if round.is_empty() {
            ran.all = true;
            break;
        }
        if before.is_none() {
            before = Some(usages(pids)?);
        }
        let bodies = round.iter().map(|(_, encoded)| encoded.clone()).collect();
        let (own, begun) = (Usage::own()?, Instant::now());
        let deadline = begun + posting_max.saturating_sub(posting);
        let content_type = fleet.format.content_type();
        let posted = post(open, "/v1/readings", content_type, bodies, deadline).await;
        posting += begun.elapsed();
        ran.own_cpu_seconds += Usage::own()?.cpu_seconds - own.cpu_seconds;
        ran.rounds += 1;
        ran.tally.merge(posted.tally);
        open = posted.connections;
        let complete = posted.batches == round.len();
        for (kind, encoded) in round.into_iter().take(posted.batches) {
            ran.count(kind, &encoded);
        }
        if !complete {
            break;
        }
    }
    ran.seconds = posting.as_secs_f64();
    ran.processes = usages(pids)?;
    for (after, before) in ran.processes.iter_mut().zip(before.unwrap_or_default()) {
        after.cpu_seconds -= before.cpu_seconds;
    }
    Ok(ran)
}

impl Ran {
    fn count(&mut self, kind: Kind, encoded: &Encoded) {
        self.batches += 1;
        self.body_bytes += encoded.body.len() as u64;
        match kind {
            Kind::Fresh => self.readings_fresh += encoded.readings,
            Kind::Late => self.readings_late += encoded.readings,
            Kind::Copy => self.readings_copied += encoded.readings,
        }
    }
}

fn encode(fleet: &Fleet, plan: &mut Plan<'_>) -> Vec<(Kind, Encoded)> {
    let (mut round, mut bytes) = (Vec::new(), 0);
    while bytes < ROUND_BYTES {
        let Some(batch) = plan.next() else { break };
        let encoded = Encoded {
            body: fleet.encode(&batch.readings),
            readings: batch.readings.len() as u64,
        };
        bytes += encoded.body.len();
        round.push((batch.kind, encoded));
    }
    round
}

fn usages(pids: &[i32]) -> Result<Vec<Usage>, CpuError> {
    pids.iter().map(|pid| Usage::of(*pid)).collect()
}
