//! What a comparison found, for people.

use std::collections::BTreeSet;
use std::fmt;

use super::report::{Report, SystemReport};
use super::statistics::Spread;
use super::system::System;
use crate::cpu::Machine;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Machine { cpu, cores, kernel } = &self.machine;
        let w = &self.workload;
        writeln!(f, "machine      {cpu}, {cores} cores, Linux {kernel}")?;
        writeln!(
            f,
            "workload     {}: seed {}, {} sensors, {} readings, {} measures of {} decimals, \
             every {} s from {}; batches of {}, {} connections",
            self.part,
            w.seed,
            w.sensors,
            w.readings,
            w.measures,
            w.decimals,
            w.interval_micros as f64 / 1e6,
            w.start,
            w.batch,
            w.connections
        )?;
        writeln!(f, "rounds       {}", self.repeat)?;
        for system in &self.systems {
            let version = system.rounds.values().next().map(|r| r.version.as_str());
            let version = version.unwrap_or("no version");
            writeln!(f, "\n{} ({version})", system.system)?;
            writeln!(f, "  {}", system.durability)?;
            writeln!(f, "  {}", system.method)?;
            remarks(f, system)?;
        }
        for left_out in &self.left_out {
            writeln!(f, "\n{} is left out: {}", left_out.system, left_out.why)?;
        }
        let named = |system: &SystemReport| system.figures.keys().cloned().collect::<Vec<_>>();
        let names: BTreeSet<String> = self.systems.iter().flat_map(named).collect();
        for name in names {
            self.figure(f, &name)?;
        }
        Ok(())
    }
}

impl Report {
    fn figure(&self, f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
        let own = self.systems.iter().map(|system| system.system);
        let own: Vec<System> = own.filter(|system| system.is_hourglass()).collect();
        write!(
            f,
            "\n{name:36} {:>11} {:>11} {:>11}",
            "min", "median", "max"
        )?;
        for system in &own {
            write!(f, "  {:>24}", format!("{system} / it"))?;
        }
        writeln!(f)?;
        for system in &self.systems {
            let Some(spread) = system.figures.get(name) else {
                continue;
            };
            let Spread { min, median, max } = *spread;
            let [min, median, max] = [min, median, max].map(short);
            write!(f, "  {:34} {min:>11} {median:>11} {max:>11}", system.system)?;
            for own in &own {
                let ratio = self.ratios.iter().find(|ratio| {
                    (ratio.hourglass, ratio.peer) == (*own, system.system) && ratio.figure == name
                });
                let text = ratio.map(|ratio| {
                    let Spread { min, median, max } = ratio.ratio;
                    let [min, median, max] = [min, median, max].map(short);
                    format!("{median} ({min} to {max})")
                });
                write!(f, "  {:>24}", text.unwrap_or_default())?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

fn remarks(f: &mut fmt::Formatter<'_>, system: &SystemReport) -> fmt::Result {
    for (number, why) in &system.failures {
        writeln!(f, "  round {number} failed: {why}")?;
    }
    for (number, round) in &system.rounds {
        if round.retries > 0 {
            let retries = round.retries;
            writeln!(f, "  round {number}: told {retries} times to come later")?;
        }
        if round.problems > 0 {
            let (problems, shown) = (round.problems, round.problems_shown.join("; "));
            writeln!(f, "  round {number}: {problems} batches refused: {shown}")?;
        }
        for answer in round.answers.iter().filter(|answer| !answer.agrees) {
            let (kind, what) = (answer.question.name(), answer.difference.as_deref());
            let what = what.unwrap_or_default();
            writeln!(f, "  round {number}: another answer to {kind}: {what}")?;
        }
    }
    let all = system.rounds.values().flat_map(|round| &round.answers);
    match all.clone().filter(|answer| answer.agrees).count() {
        0 => Ok(()),
        right => writeln!(f, "  {right} of {} answers right", all.count()),
    }
}

/// Three or four digits that matter.
fn short(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 1.0 || v == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::report;
    use super::*;

    #[test]
    fn the_table_tells_figures_ratios_and_who_is_missing() {
        let text = report().to_string();
        assert!(
            text.contains("one-doc is left out: no mongod on the PATH"),
            "{text}"
        );
        let line = text
            .lines()
            .rfind(|line| line.contains("influxdb"))
            .unwrap();
        assert!(line.ends_with("0.7500 (0.5000 to 1.00)"), "{line}");
    }

    #[test]
    fn figures_are_short() {
        let texts = [123_456.7, 45.67, 1.234, 0.0, 0.012_34].map(short);
        assert_eq!(texts, ["123457", "45.7", "1.23", "0.00", "0.0123"]);
    }
}
