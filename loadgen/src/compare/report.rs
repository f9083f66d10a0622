//! What a comparison found, as data.

use std::collections::BTreeMap;

use serde::Serialize;

use super::question::Kind;
use super::statistics::Spread;
use super::system::System;
use crate::cpu::Machine;

/// Figures by name; the name ends with the unit.
pub type Figures = BTreeMap<String, f64>;

/// One system in one round.
#[derive(Debug, Clone, Serialize)]
pub struct Round {
    /// Versions of the servers, as they told.
    pub version: String,
    /// Readings acknowledged.
    pub readings: u64,
    /// Times a server said to come again later.
    pub retries: u64,
    /// Batches refused.
    pub problems: u64,
    /// The first of them in words.
    pub problems_shown: Vec<String>,
    /// What was measured.
    pub figures: Figures,
    /// Whether answers were right, where questions were asked.
    pub answers: Vec<Agreement>,
}

impl Round {
    /// With nothing measured yet.
    #[must_use]
    pub fn new(version: String) -> Self {
        Self {
            version,
            readings: 0,
            retries: 0,
            problems: 0,
            problems_shown: Vec::new(),
            figures: Figures::new(),
            answers: Vec::new(),
        }
    }
}

/// Whether a system's answer was the one that follows from what was written.
#[derive(Debug, Clone, Serialize)]
pub struct Agreement {
    /// The kind of question.
    pub question: Kind,
    /// Rows of the right answer.
    pub rows: usize,
    /// Whether counts are the same and values within 1e-9 of theirs.
    pub agrees: bool,
    /// The first difference.
    pub difference: Option<String>,
}

/// A system over all rounds.
#[derive(Debug, Clone, Serialize)]
pub struct SystemReport {
    /// Which.
    pub system: System,
    /// What an acknowledgement is worth.
    pub durability: &'static str,
    /// How it was written to and brought to rest.
    pub method: &'static str,
    /// The rounds, in order; a round that failed is missing.
    pub rounds: BTreeMap<u32, Round>,
    /// Rounds that failed, and why.
    pub failures: BTreeMap<u32, String>,
    /// The figures over all rounds.
    pub figures: BTreeMap<String, Spread>,
}

/// A system that was not compared.
#[derive(Debug, Clone, Serialize)]
pub struct LeftOut {
    /// Which.
    pub system: System,
    /// Why.
    pub why: String,
}

/// A figure of hourglass divided by that of another system in the same round.
#[derive(Debug, Clone, Serialize)]
pub struct Ratio {
    /// Which hourglass.
    pub hourglass: System,
    /// The other system.
    pub peer: System,
    /// The figure's name.
    pub figure: String,
    /// hourglass / other.
    pub ratio: Spread,
}

/// What was written.
#[derive(Debug, Clone, Serialize)]
pub struct Written {
    /// Sensors.
    pub sensors: u32,
    /// Readings in all.
    pub readings: u64,
    /// Readings in a batch.
    pub batch: usize,
    /// Connections.
    pub connections: usize,
    /// Measures of a reading.
    pub measures: usize,
    /// Decimals of a value.
    pub decimals: u32,
    /// Microseconds between two readings of a sensor.
    pub interval_micros: i64,
    /// Instant of the first readings.
    pub start: String,
    /// What all values follow from.
    pub seed: u64,
}

/// All of a comparison.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// "writes" or "queries".
    pub part: &'static str,
    /// Version of the load generator.
    pub loadgen: &'static str,
    /// The machine.
    pub machine: Machine,
    /// What was written.
    pub workload: Written,
    /// Rounds asked for.
    pub repeat: u32,
    /// The systems.
    pub systems: Vec<SystemReport>,
    /// Systems that were asked for and could not be compared.
    pub left_out: Vec<LeftOut>,
    /// hourglass and the others.
    pub ratios: Vec<Ratio>,
}

impl Report {
    /// Whether all rounds were whole, every batch was taken and every answer right.
    #[must_use]
    pub fn is_well(&self) -> bool {
        self.systems.iter().all(|system| {
            let whole = |round: &Round| {
                round.problems == 0 && round.answers.iter().all(|answer| answer.agrees)
            };
            system.failures.is_empty() && system.rounds.values().all(whole)
        })
    }

    /// Computes spreads and ratios of the rounds.
    pub fn finish(&mut self) {
        for system in &mut self.systems {
            let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
            for (name, value) in system.rounds.values().flat_map(|round| &round.figures) {
                values.entry(name.clone()).or_default().push(*value);
            }
            let spread = |(name, values): (String, Vec<f64>)| Some((name, Spread::of(values)?));
            system.figures = values.into_iter().filter_map(spread).collect();
        }
        let (own, others): (Vec<_>, Vec<_>) = self
            .systems
            .iter()
            .partition(|system| system.system.is_hourglass());
        let pairs = own
            .iter()
            .flat_map(|own| others.iter().map(move |peer| (own, peer)));
        self.ratios = pairs.flat_map(|(own, peer)| ratios(own, peer)).collect();
    }
}

fn ratios(own: &SystemReport, peer: &SystemReport) -> Vec<Ratio> {
    let ratio = |figure: &String| {
        let in_round = |(number, round): (&u32, &Round)| {
            let other = peer.rounds.get(number)?.figures.get(figure)?;
            Some(round.figures.get(figure)? / other).filter(|ratio| ratio.is_finite())
        };
        Some(Ratio {
            hourglass: own.system,
            peer: peer.system,
            figure: figure.clone(),
            ratio: Spread::of(own.rounds.iter().filter_map(in_round))?,
        })
    };
    let names = own
        .figures
        .keys()
        .filter(|name| !name.ends_with("_requests"));
    names.filter_map(ratio).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn system(system: System, values: &[(u32, f64)]) -> SystemReport {
        let round = |value: &f64| Round {
            figures: Figures::from([("hourly_p50_ms".to_owned(), *value)]),
            ..Round::new("1".to_owned())
        };
        SystemReport {
            system,
            durability: "",
            method: "",
            rounds: values
                .iter()
                .map(|(number, v)| (*number, round(v)))
                .collect(),
            failures: BTreeMap::new(),
            figures: BTreeMap::new(),
        }
    }

    pub(in crate::compare) fn report() -> Report {
        let mut report = Report {
            part: "queries",
            loadgen: "0",
            machine: Machine::this(),
            workload: Written {
                sensors: 1,
                readings: 2,
                batch: 3,
                connections: 4,
                measures: 1,
                decimals: 1,
                interval_micros: 1_000_000,
                start: "2026-05-01T00:00:00Z".to_owned(),
                seed: 1,
            },
            repeat: 3,
            systems: vec![
                system(System::HourglassEmbedded, &[(1, 2.0), (2, 3.0), (3, 4.0)]),
                system(System::Influxdb, &[(1, 4.0), (3, 4.0)]),
            ],
            left_out: vec![LeftOut {
                system: System::OneDoc,
                why: "no mongod on the PATH".to_owned(),
            }],
            ratios: Vec::new(),
        };
        report.finish();
        report
    }

    #[test]
    fn ratios_are_of_the_same_round() {
        let report = report();
        assert!((report.systems[0].figures["hourly_p50_ms"].median - 3.0).abs() < 1e-12);
        assert_eq!(report.ratios.len(), 1);
        let Spread { min, max, .. } = report.ratios[0].ratio;
        assert_eq!((min, max), (0.5, 1.0));
    }

    #[test]
    fn a_wrong_answer_or_a_failed_round_is_not_well() {
        let mut report = report();
        assert!(report.is_well());
        report.systems[1].failures.insert(2, "gone".to_owned());
        assert!(!report.is_well());
        report.systems[1].failures.clear();
        let round = report.systems[0].rounds.get_mut(&1).unwrap();
        round.answers.push(Agreement {
            question: Kind::Raw,
            rows: 1,
            agrees: false,
            difference: Some("0 rows, not 1".to_owned()),
        });
        assert!(!report.is_well());
    }
}
