//! One run: encode a round of batches, send it against the clock, repeat.
//!
//! Bodies are encoded before the clock starts, and it stands still while the
//! next round is encoded, so that the generator does not measure itself. A run
//! whose bodies fit one round has no such pause. The rounds are part of the
//! report, as a server may work off its backlog in the pauses.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::cpu::{CpuError, Usage};
use crate::fleet::Fleet;
use crate::http::{HttpError, Target};
use crate::open_loop::Overdue;
use crate::plan::{Kind, Plan};
use crate::post::{Route, SharedTally, Tally};
use crate::round::{Form, Prepared, prepare};
use crate::udp::UdpError;
use crate::way::Way;
use crate::workload::Workload;

/// How a run goes.
#[derive(Debug, Clone)]
pub struct Options {
    /// Connections, or sockets; with a rate the most that are opened. At least 1.
    pub connections: usize,
    /// After so long no further batch is begun.
    pub posting_max: Duration,
    /// What batches become.
    pub form: Form,
    /// Readings a second by a fixed schedule, above 0.
    pub rate: Option<f64>,
    /// Host and port that take datagrams, in place of the target.
    pub udp: Option<String>,
    /// Processes whose CPU seconds to report.
    pub pids: Vec<i32>,
}

impl Options {
    /// As a workload, which was checked, says it.
    #[must_use]
    pub fn of(workload: &Workload, pids: &[i32]) -> Self {
        let form = match (&workload.udp, workload.gzip) {
            (Some(_), _) => Form::Datagrams(workload.datagram_bytes),
            (None, true) => Form::Gzip,
            (None, false) => Form::Plain,
        };
        Self {
            connections: workload.connections,
            posting_max: Duration::from_secs(workload.seconds_max),
            form,
            rate: workload.rate,
            udp: workload.udp.clone(),
            pids: pids.to_vec(),
        }
    }

    pub(crate) fn route(&self, fleet: &Fleet) -> Route {
        Route {
            path: "/v1/readings",
            content_type: fleet.format.content_type(),
            content_encoding: (self.form == Form::Gzip).then_some("gzip"),
        }
    }

    /// Readings that can be due in the time that is left.
    fn readings_max(&self, left: Duration) -> u64 {
        match self.rate {
            // A float that is too large becomes the largest number.
            Some(rate) => (rate * left.as_secs_f64()) as u64 + 1,
            None => u64::MAX,
        }
    }
}

/// What a run did.
#[derive(Debug, Default)]
pub struct Ran {
    /// Batches of the plan that were begun, copies included: the first so many.
    pub batches: u64,
    /// Those of them, by their number from 0, that were not acknowledged whole: the
    /// server may have all, some or nothing of each. With datagrams that is all.
    pub unacknowledged: BTreeSet<u64>,
    /// Whether these were all batches of the plan, each sent whole.
    pub all: bool,
    /// Readings in batches begun, by kind.
    pub readings_fresh: u64,
    /// Readings held back and posted later.
    pub readings_late: u64,
    /// Readings posted a second time.
    pub readings_copied: u64,
    /// Bytes of bodies or datagrams begun.
    pub body_bytes: u64,
    /// Rounds of encoding and posting.
    pub rounds: u64,
    /// Seconds of posting, the pauses between rounds not counted.
    pub seconds: f64,
    /// What was due by the schedule and not begun at the end.
    pub overdue: Overdue,
    /// Connections that were opened.
    pub connections: u64,
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
    /// No sockets for datagrams.
    #[error(transparent)]
    Udp(#[from] UdpError),
    /// A process cannot be read.
    #[error(transparent)]
    Cpu(#[from] CpuError),
}

/// Sends a fleet's readings; `tally` can be read meanwhile and is empty afterwards.
///
/// # Errors
/// Nobody listens at the target, there are no sockets, or a process cannot be read.
pub async fn run(
    target: &Target,
    fleet: &Fleet,
    options: &Options,
    tally: &SharedTally,
) -> Result<Ran, RunError> {
    let mut way = Way::open(target, fleet, options).await?;
    let mut ran = Ran::default();
    let mut plan = Plan::new(fleet);
    let mut posting = Duration::ZERO;
    let mut before: Option<Vec<Usage>> = None;
    loop {
        let left = options.posting_max.saturating_sub(posting);
        let round = prepare(fleet, &mut plan, options.form, options.readings_max(left));
        if round.is_empty() {
            ran.all = true;
            break;
        }
        if before.is_none() {
            before = Some(usages(&options.pids)?);
        }
        let (own, begun) = (Usage::own()?, Instant::now());
        let went = way.send(&round, begun + left, tally).await;
        posting += begun.elapsed();
        ran.own_cpu_seconds += Usage::own()?.cpu_seconds - own.cpu_seconds;
        ran.rounds += u64::from(went.begun > 0);
        ran.connections = ran.connections.max(went.connections);
        ran.overdue = went.overdue;
        let first = ran.batches;
        let numbers = went.unacknowledged.into_iter();
        ran.unacknowledged.extend(numbers.map(|n| first + n as u64));
        let complete = went.whole == round.len();
        for prepared in round.into_iter().take(went.begun) {
            ran.count(&prepared);
        }
        if !complete {
            break;
        }
    }
    ran.seconds = posting.as_secs_f64();
    ran.tally = tally.take();
    ran.processes = usages(&options.pids)?;
    for (after, before) in ran.processes.iter_mut().zip(before.unwrap_or_default()) {
        after.cpu_seconds -= before.cpu_seconds;
    }
    Ok(ran)
}

impl Ran {
    fn count(&mut self, prepared: &Prepared) {
        self.batches += 1;
        self.body_bytes += prepared.bytes();
        *match prepared.kind {
            Kind::Fresh => &mut self.readings_fresh,
            Kind::Late => &mut self.readings_late,
            Kind::Copy => &mut self.readings_copied,
        } += prepared.readings();
    }
}

fn usages(pids: &[i32]) -> Result<Vec<Usage>, CpuError> {
    pids.iter().map(|pid| Usage::of(*pid)).collect()
}
