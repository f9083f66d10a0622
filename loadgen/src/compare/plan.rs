//! From the command line to what is done to which systems.

use std::time::Duration;

use jiff::SignedDuration;

use super::args::{BatchArgs, CommonArgs, Part};
use super::measure::Asking;
use super::report::LeftOut;
use super::system::System;
use crate::workload::{BodyFormat, Workload};

const MICROS_PER_DAY: u64 = 86_400_000_000;

/// The part of a comparison.
#[derive(Debug, Clone, Copy)]
pub(super) enum Doing {
    Writes,
    Queries(Asking),
    Single,
}

impl Doing {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Writes => "writes",
            Self::Queries(_) => "queries",
            Self::Single => "single",
        }
    }

    /// The systems compared where none are named.
    fn systems(self) -> Vec<System> {
        let fits = |system: &System| match self {
            Self::Writes => true,
            // Those who ask do not see the order of writing.
            Self::Queries(_) => *system != System::NativeArrival,
            Self::Single => system.is_hourglass(),
        };
        System::ALL.into_iter().filter(fits).collect()
    }
}

/// What the command line asks for.
pub(super) fn plan(part: Part) -> (CommonArgs, Workload, Doing) {
    let of = |common: &CommonArgs, batches: BatchArgs| Workload {
        batch: batches.batch,
        connections: batches.connections,
        measures: common.measures,
        seed: common.seed,
        format: BodyFormat::Line,
        ..Workload::default()
    };
    match part {
        Part::Writes(args) => {
            let workload = Workload {
                sensors: args.sensors,
                readings: args.readings,
                interval: args.interval,
                ..of(&args.common, args.batches)
            };
            (args.common, workload, Doing::Writes)
        }
        Part::Queries(args) => {
            let asking = Asking {
                questions: args.queries.max(1),
                time: Duration::from_secs(args.query_seconds),
            };
            let workload = Workload {
                sensors: args.sensors,
                readings: ticks(args.days, &args.interval) * u64::from(args.sensors),
                interval: args.interval,
                ..of(&args.common, args.batches)
            };
            (args.common, workload, Doing::Queries(asking))
        }
        Part::Single(args) => {
            let batches = BatchArgs {
                batch: 1,
                connections: args.connections,
            };
            let workload = Workload {
                sensors: args.sensors,
                readings: args.readings,
                ..of(&args.common, batches)
            };
            (args.common, workload, Doing::Single)
        }
    }
}

/// Ticks of so many days; an interval that is none is told by the workload's check.
fn ticks(days: u32, interval: &str) -> u64 {
    let interval = interval.parse::<SignedDuration>().map(|i| i.as_micros());
    let micros = interval.ok().and_then(|micros| u64::try_from(micros).ok());
    u64::from(days) * MICROS_PER_DAY / micros.unwrap_or(0).max(1)
}

/// The systems asked for, and those of them that cannot be started.
pub(super) fn chosen(common: &CommonArgs, doing: Doing) -> (Vec<System>, Vec<LeftOut>) {
    let mut wanted = common.systems.clone();
    if wanted.is_empty() {
        wanted = doing.systems();
    }
    wanted.sort_unstable();
    wanted.dedup();
    let (mut systems, mut left_out) = (Vec::new(), Vec::new());
    for system in wanted {
        match common.programs.missing(system) {
            None => systems.push(system),
            Some(why) => left_out.push(LeftOut { system, why }),
        }
    }
    (systems, left_out)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use jiff::Timestamp;

    use super::*;
    use crate::args::{Cli, Command};

    fn planned(flags: &[&str]) -> (CommonArgs, Workload, Doing) {
        let arguments = ["loadgen", "compare"].iter().chain(flags);
        match Cli::try_parse_from(arguments).unwrap().command {
            Command::Compare(args) => plan(args.part),
            _ => panic!("another command"),
        }
    }

    #[test]
    fn the_defaults_are_the_workloads_that_figures_are_known_of() {
        let now = "2026-05-02T10:00:00Z".parse::<Timestamp>().unwrap();
        for (part, readings) in [("writes", 3_600_000), ("queries", 8_640_000)] {
            let (_, workload, _) = planned(&[part]);
            let fleet = workload.fleet(now).unwrap();
            assert_eq!((fleet.readings, fleet.batch), (readings, 5000));
        }
        let (_, workload, doing) = planned(&["single"]);
        assert_eq!((workload.batch, workload.connections), (1, 64));
        assert_eq!(doing.systems().len(), 2);
    }

    #[test]
    fn systems_that_cannot_be_started_are_left_out_and_told() {
        let (common, _, doing) = planned(&[
            "queries",
            "--systems=influxdb,one-doc,influxdb",
            "--mongod=sh",
            "--influxd=/nowhere/influxd",
        ]);
        let (systems, left_out) = chosen(&common, doing);
        assert_eq!(systems, vec![System::OneDoc]);
        assert_eq!(left_out.len(), 1);
        assert_eq!(left_out[0].why, "there is no /nowhere/influxd");
    }
}
