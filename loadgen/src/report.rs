//! What a run and a check found, as data for scripts; `table` is the same for people.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::check::Outcome;
use crate::cpu::{Machine, Usage};
use crate::fleet::rfc3339;
use crate::latency::Latency;
use crate::run::Ran;
use crate::workload::Workload;

/// Everything about one run.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Version of the load generator.
    pub loadgen: &'static str,
    /// The `Server` header of the answers.
    pub server: Option<String>,
    /// The machine of the load generator.
    pub machine: Machine,
    /// The workload, with the start that was used.
    pub workload: Workload,
    /// Batches posted, copies included: what `check --batches` takes.
    pub batches: u64,
    /// Whether these were all of the workload.
    pub all: bool,
    /// Readings posted in time, late, and again.
    pub readings_fresh: u64,
    /// Readings held back and posted later.
    pub readings_late: u64,
    /// Readings posted a second time.
    pub readings_copied: u64,
    /// Bytes of bodies.
    pub body_bytes: u64,
    /// Rounds of encoding and posting.
    pub rounds: u64,
    /// Seconds of posting.
    pub seconds: f64,
    /// Readings acknowledged, copies included.
    pub readings_acknowledged: u64,
    /// The same per second of posting.
    pub readings_per_second: f64,
    /// Requests acknowledged per second of posting.
    pub requests_per_second: f64,
    /// Connections that were opened.
    pub connections_opened: u64,
    /// Service time: of the tries that were acknowledged, from before the request is
    /// sent until the answer is read; absent where none was.
    pub latency_ms: Option<Latency>,
    /// The same from when a batch was due, with all it waited; without a rate it is
    /// due when a connection takes it.
    pub latency_from_due_ms: Option<Latency>,
    /// What was due by the rate and not begun at the end; absent without a rate.
    pub overdue: Option<OverdueReport>,
    /// What was sent as datagrams; absent without `--udp`.
    pub datagrams: Option<DatagramsReport>,
    /// Numbers (from 0) of batches posted and not acknowledged whole: what
    /// `check --unacknowledged` takes.
    pub unacknowledged_batches: BTreeSet<u64>,
    /// Answers by status code.
    pub statuses: BTreeMap<u16, u64>,
    /// Tries after a 429 or 503.
    pub retries: u64,
    /// Connections that broke or did not open.
    pub connection_errors: u64,
    /// Batches refused, given up, or acknowledged with other counts.
    pub problems: u64,
    /// The first of them.
    pub problems_shown: Vec<String>,
    /// CPU of the load generator while it posted.
    pub own_cpu: Cpu,
    /// CPU and memory of the processes asked for.
    pub processes: Vec<ProcessReport>,
    /// What the check found, where one was asked for.
    pub check: Option<Outcome>,
}

/// What was due by the schedule and not begun at the end, as no connection was free.
#[derive(Debug, Serialize)]
pub struct OverdueReport {
    /// Batches.
    pub batches: u64,
    /// Readings in them.
    pub readings: u64,
    /// How long the first of them had waited.
    pub longest_wait_ms: f64,
}

/// Datagrams, which nobody acknowledges.
#[derive(Debug, Serialize)]
pub struct DatagramsReport {
    /// Datagrams that the system took.
    pub sent: u64,
    /// Readings in them.
    pub readings_sent: u64,
    /// The same per second of sending.
    pub readings_per_second: f64,
}

/// CPU time.
#[derive(Debug, Serialize)]
pub struct Cpu {
    /// Seconds, user and kernel mode.
    pub cpu_seconds: f64,
    /// The same per million readings acknowledged, or sent as datagrams; absent where
    /// there are none.
    pub cpu_seconds_per_million: Option<f64>,
}

/// A process.
#[derive(Debug, Serialize)]
pub struct ProcessReport {
    /// Its id.
    pub pid: i32,
    /// Its name.
    pub name: String,
    /// From before the first post to after the last answer.
    #[serde(flatten)]
    pub cpu: Cpu,
    /// Bytes held at the end.
    pub rss_bytes: u64,
    /// The most it ever held.
    pub rss_peak_bytes: u64,
}

impl Report {
    /// Of a run; the workload's start is the one that was used.
    #[must_use]
    pub fn new(workload: Workload, start: i64, ran: Ran, check: Option<Outcome>) -> Self {
        let tally = ran.tally;
        let is_udp = workload.udp.is_some();
        let readings = match is_udp {
            true => tally.readings_sent,
            false => tally.readings_acknowledged,
        };
        let millions = readings as f64 / 1e6;
        let cpu = |cpu_seconds: f64| Cpu {
            cpu_seconds,
            cpu_seconds_per_million: (millions > 0.0).then(|| cpu_seconds / millions),
        };
        let process = |usage: Usage| ProcessReport {
            pid: usage.pid,
            name: usage.name,
            cpu: cpu(usage.cpu_seconds),
            rss_bytes: usage.rss_bytes,
            rss_peak_bytes: usage.rss_peak_bytes,
        };
        let scheduled = workload.rate.is_some() && !is_udp;
        let rate = |count: u64| count as f64 / ran.seconds.max(1e-9);
        Self {
            loadgen: env!("CARGO_PKG_VERSION"),
            machine: Machine::this(),
            workload: Workload {
                start: Some(rfc3339(start)),
                ..workload
            },
            batches: ran.batches,
            all: ran.all,
            readings_fresh: ran.readings_fresh,
            readings_late: ran.readings_late,
            readings_copied: ran.readings_copied,
            body_bytes: ran.body_bytes,
            rounds: ran.rounds,
            seconds: ran.seconds,
            readings_acknowledged: tally.readings_acknowledged,
            readings_per_second: rate(tally.readings_acknowledged),
            requests_per_second: rate(tally.requests_acknowledged),
            connections_opened: ran.connections,
            latency_ms: Latency::of(&tally.latency),
            latency_from_due_ms: Latency::of(&tally.latency_from_due),
            overdue: scheduled.then_some(OverdueReport {
                batches: ran.overdue.batches,
                readings: ran.overdue.readings,
                longest_wait_ms: ran.overdue.longest_wait.as_secs_f64() * 1000.0,
            }),
            datagrams: is_udp.then(|| DatagramsReport {
                sent: tally.datagrams_sent,
                readings_sent: tally.readings_sent,
                readings_per_second: rate(tally.readings_sent),
            }),
            unacknowledged_batches: match is_udp {
                true => BTreeSet::new(),
                false => ran.unacknowledged,
            },
            retries: tally.retries,
            connection_errors: tally.connection_errors,
            problems: tally.problems,
            own_cpu: cpu(ran.own_cpu_seconds),
            processes: ran.processes.into_iter().map(process).collect(),
            statuses: tally.statuses,
            problems_shown: tally.problems_shown,
            server: tally.server,
            check,
        }
    }

    /// Whether nothing was refused, given up or different.
    #[must_use]
    pub fn is_well(&self) -> bool {
        let checked = self.check.as_ref().map_or(0, |check| check.differences);
        self.problems == 0 && checked == 0
    }
}
