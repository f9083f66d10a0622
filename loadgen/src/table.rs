//! A report as a table for people.

use std::collections::BTreeSet;
use std::fmt;

use crate::check::{Arrivals, Outcome};
use crate::cpu::Machine;
use crate::report::{Cpu, Report};

/// Numbers of batches that are listed; all are in the JSON report.
const NUMBERS_SHOWN: usize = 20;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let server = self.server.as_deref().unwrap_or("no Server header");
        let Machine { cpu, cores, kernel } = &self.machine;
        writeln!(f, "machine      {cpu}, {cores} cores, Linux {kernel}")?;
        writeln!(f, "versions     loadgen {}, server: {server}", self.loadgen)?;
        self.workload(f)?;
        self.posted(f)?;
        match &self.datagrams {
            Some(datagrams) => writeln!(
                f,
                "sent         {} datagrams with {} readings: {:.0} readings/s; nobody acknowledges \
                 them",
                datagrams.sent, datagrams.readings_sent, datagrams.readings_per_second
            )?,
            None => self.answers(f)?,
        }
        self.cpu(f)?;
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

impl Report {
    fn workload(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let w = &self.workload;
        let start = w.start.as_deref().unwrap_or_default();
        writeln!(
            f,
            "workload     seed {}, {} sensors {}0…, {} measures, every {} from {start}, clocks \
             off by at most {}",
            w.seed, w.sensors, w.prefix, w.measures, w.interval, w.skew
        )?;
        let (format, gzip) = (w.format.name(), if w.gzip { " in gzip" } else { "" });
        match (w.rate, &w.udp) {
            (Some(rate), _) => write!(f, "load         {rate} readings/s by a schedule")?,
            (None, Some(_)) => write!(f, "load         as fast as datagrams are taken")?,
            (None, None) => write!(f, "load         closed loop")?,
        }
        match &w.udp {
            Some(address) => writeln!(
                f,
                ", {format} to udp://{address} from {} sockets, at most {} bytes a datagram",
                w.connections, w.datagram_bytes
            ),
            None => writeln!(
                f,
                ", {format}{gzip}, {} connections",
                self.connections_opened
            ),
        }
    }

    fn posted(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "posted       {} readings in time, {} late, {} again; {} batches of {}{}",
            self.readings_fresh,
            self.readings_late,
            self.readings_copied,
            self.batches,
            self.workload.batch,
            match self.all {
                true => "",
                false => " (cut short by --seconds-max)",
            },
        )?;
        let mb = self.body_bytes as f64 / 1e6;
        writeln!(
            f,
            "time         {:.3} s in {} rounds, bodies ({mb:.1} MB) encoded outside of it",
            self.seconds, self.rounds
        )
    }

    fn answers(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "acknowledged {} readings: {:.0} readings/s, {:.0} requests/s",
            self.readings_acknowledged, self.readings_per_second, self.requests_per_second
        )?;
        for (name, latency) in [
            ("latency     ", &self.latency_ms),
            ("from due    ", &self.latency_from_due_ms),
        ] {
            match latency {
                Some(latency) => writeln!(f, "{name} {latency}")?,
                None => writeln!(f, "{name} nothing was acknowledged")?,
            }
        }
        match &self.overdue {
            None => {}
            Some(overdue) if overdue.batches == 0 => writeln!(f, "overdue      none at the end")?,
            Some(overdue) => writeln!(
                f,
                "overdue      {} batches with {} readings were due and not begun at the end, the \
                 first for {:.0} ms",
                overdue.batches, overdue.readings, overdue.longest_wait_ms
            )?,
        }
        write!(f, "answers     ")?;
        for (status, count) in &self.statuses {
            write!(f, " {status}: {count},")?;
        }
        writeln!(
            f,
            " {} retries, {} connection errors",
            self.retries, self.connection_errors
        )?;
        let unacknowledged = &self.unacknowledged_batches;
        if unacknowledged.is_empty() {
            return Ok(());
        }
        writeln!(
            f,
            "not all of   {} batches was acknowledged: {}",
            unacknowledged.len(),
            listed(unacknowledged)
        )
    }

    fn cpu(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
        Ok(())
    }
}

/// Numbers as `check --unacknowledged` takes them; dots where there are more.
fn listed(numbers: &BTreeSet<u64>) -> String {
    let first = numbers.iter().take(NUMBERS_SHOWN);
    let mut text: Vec<String> = first.map(u64::to_string).collect();
    if numbers.len() > NUMBERS_SHOWN {
        text.push("…".to_owned());
    }
    text.join(",")
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

impl fmt::Display for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} datagrams received, {} decoded with {} readings accepted",
            self.datagrams_received, self.datagrams_decoded, self.readings_accepted
        )?;
        if self.datagrams_dropped.is_empty() {
            write!(f, ", none dropped")?;
        }
        for (reason, count) in &self.datagrams_dropped {
            write!(f, ", {count} dropped: {reason}")?;
        }
        match self.at_rest {
            true => Ok(()),
            false => write!(f, "; some are not accounted for"),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(arrivals) = &self.arrivals {
            writeln!(f, "arrived      {arrivals}")?;
        }
        writeln!(
            f,
            "checked      {} hours of {} sensors, {} readings of {} sensors, the ledger",
            self.hours, self.sensors_hourly, self.readings, self.sensors_raw
        )?;
        if self.unacknowledged > 0 {
            writeln!(
                f,
                "unsure       {} readings of these sensors were not acknowledged, {} of them are \
                 there",
                self.unacknowledged, self.unacknowledged_found
            )?;
        }
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
            let sensor = difference.sensor.as_deref().unwrap_or("server");
            let at = difference.at.as_deref().unwrap_or("-");
            writeln!(f, "  {sensor} {at} {}", difference.what)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_listed_as_a_check_takes_them() {
        assert_eq!(listed(&BTreeSet::from([3, 17])), "3,17");
        let many: BTreeSet<u64> = (0..100).collect();
        assert!(listed(&many).ends_with(",18,19,…"));
    }
}
