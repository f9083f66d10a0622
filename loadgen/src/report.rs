//! What a run and a check found, as a table for people and as data for scripts.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::check::Outcome;
use crate::cpu::{Machine, Usage};
use crate::fleet::rfc3339;
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
    /// Latency of acknowledged requests.
    pub latency_ms: Latency,
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

/// Milliseconds.
#[derive(Debug, Serialize)]
pub struct Latency {
    /// Half are faster.
    pub p50: f64,
    /// 90 of 100 are faster.
    pub p90: f64,
    /// 99 of 100 are faster.
    pub p99: f64,
    /// The slowest.
    pub max: f64,
}

/// CPU time.
#[derive(Debug, Serialize)]
pub struct Cpu {
    /// Seconds, user and kernel mode.
    pub cpu_seconds: f64,
    /// The same per million readings acknowledged; absent where there are none.
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
        let quantile = |q| tally.latency.value_at_quantile(q) as f64 / 1000.0;
        let millions = tally.readings_acknowledged as f64 / 1e6;
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
            latency_ms: Latency {
                p50: quantile(0.5),
                p90: quantile(0.9),
                p99: quantile(0.99),
                max: tally.latency.max() as f64 / 1000.0,
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

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let w = &self.workload;
        let start = w.start.as_deref().unwrap_or_default();
        let server = self.server.as_deref().unwrap_or("no Server header");
        let Machine { cpu, cores, kernel } = &self.machine;
        writeln!(f, "machine      {cpu}, {cores} cores, Linux {kernel}")?;
        writeln!(f, "versions     loadgen {}, server: {server}", self.loadgen)?;
        writeln!(
            f,
            "workload     seed {}, {} sensors {}0…, {} measures, every {} from {start}",
            w.seed, w.sensors, w.prefix, w.measures, w.interval
        )?;
        writeln!(
            f,
            "posted       {} readings in time, {} late, {} again; {} batches of {}, {} connections{}",
            self.readings_fresh,
            self.readings_late,
            self.readings_copied,
            self.batches,
            w.batch,
            w.connections,
            if self.all {
                ""
            } else {
                " (cut short by --seconds-max)"
            },
        )?;
        let mb = self.body_bytes as f64 / 1e6;
        writeln!(
            f,
            "time         {:.3} s in {} rounds, bodies ({mb:.1} MB) encoded outside of it",
            self.seconds, self.rounds
        )?;
        writeln!(
            f,
            "acknowledged {} readings: {:.0} readings/s, {:.0} requests/s",
            self.readings_acknowledged, self.readings_per_second, self.requests_per_second
        )?;
        let Latency { p50, p90, p99, max } = self.latency_ms;
        writeln!(
            f,
            "latency      p50 {p50:.2} ms, p90 {p90:.2} ms, p99 {p99:.2} ms, max {max:.2} ms"
        )?;
        write!(f, "answers     ")?;
        for (status, count) in &self.statuses {
            write!(f, " {status}: {count},")?;
        }
        writeln!(
            f,
            " {} retries, {} connection errors",
            self.retries, self.connection_errors
        )?;
        writeln!(f, "cpu          loadgen: {}", self.own_cpu)?;
        for process in &self.processes {
            let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
            writeln!(
                f,
                "cpu          {} ({}): {}; memory {:.0} MiB, peak {:.0} MiB",
                process.name,
                process.pid,
                process.cpu,
                mib(process.rss_bytes),
                mib(process.rss_peak_bytes),
            )?;
        }
        if self.problems > 0 {
            writeln!(f, "problems     {}", self.problems)?;
        }
        for problem in &self.problems_shown {
            writeln!(f, "  {problem}")?;
        }
        match &self.check {
            Some(check) => write!(f, "{check}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} CPU s", self.cpu_seconds)?;
        match self.cpu_seconds_per_million {
            Some(per_million) => write!(f, ", {per_million:.3} per million readings"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "checked      {} hours of {} sensors, {} readings of {} sensors, the ledger",
            self.hours, self.sensors_hourly, self.readings, self.sensors_raw
        )?;
        if let Some(ledger) = &self.ledger {
            writeln!(
                f,
                "ledger       {} values accepted, {} recovered, {} stored, {} duplicate, \
                 {} conflict, {} pending",
                ledger.values_accepted,
                ledger.values_recovered,
                ledger.values_stored,
                ledger.values_duplicate,
                ledger.values_conflict,
                ledger.values_pending
            )?;
        }
        writeln!(f, "differences  {}", self.differences)?;
        for difference in &self.differences_shown {
            let sensor = difference.sensor.as_deref().unwrap_or("ledger");
            let at = difference.at.as_deref().unwrap_or("-");
            writeln!(f, "  {sensor} {at} {}", difference.what)?;
        }
        Ok(())
    }
}
