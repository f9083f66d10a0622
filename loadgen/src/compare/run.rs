//! The rounds of a comparison.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::CompareError;
use super::args::{CommonArgs, CompareArgs, Part};
use super::documents::{Documents, Keep};
use super::hourglass::Hourglass;
use super::influx::Influx;
use super::load::Load;
use super::measure::{Asking, queries, writes};
use super::mongod::Mongod;
use super::peer::{Peer, Place};
use super::report::{LeftOut, Report, Round, SystemReport, Written};
use super::system::{Program, System};
use super::victoria::Victoria;
use crate::cpu::Machine;
use crate::fleet::rfc3339;
use crate::workload::{BodyFormat, Workload};

const MICROS_PER_DAY: u64 = 86_400_000_000;

/// Does what the command line says and prints the report: whether all is well.
///
/// # Errors
/// Wrong usage, no system that can be started, or a file that cannot be written.
/// What happens to one system in one round is in the report.
pub async fn compare(args: CompareArgs) -> Result<bool, CompareError> {
    let (common, workload, asking) = plan(args.part);
    let part = if asking.is_some() {
        "queries"
    } else {
        "writes"
    };
    let fleet = workload.fleet(Timestamp::now())?;
    let load = Load {
        fleet,
        decimals: common.decimals,
    };
    let (systems, left_out) = chosen(&common, asking.is_some());
    if systems.is_empty() {
        let why = left_out
            .iter()
            .map(|out| format!("{}: {}", out.system, out.why));
        return Err(CompareError::Nothing(why.collect::<Vec<_>>().join("; ")));
    }
    let mut report = Report {
        part,
        loadgen: env!("CARGO_PKG_VERSION"),
        machine: Machine::this(),
        workload: described(&load, &workload),
        repeat: common.repeat,
        systems: systems.iter().map(|s| empty(*s, common.majority)).collect(),
        left_out,
        ratios: Vec::new(),
    };
    let base = common.work_dir.clone().unwrap_or_else(std::env::temp_dir);
    let base = base.join(format!("loadgen-compare-{}", std::process::id()));
    for number in 1..=common.repeat {
        for place in 0..systems.len() {
            // Each round begins with another system.
            let place = (place + number as usize - 1) % systems.len();
            let (Some(system), Some(of)) = (systems.get(place), report.systems.get_mut(place))
            else {
                continue;
            };
            let folder = base.join(format!("{number}-{system}"));
            eprintln!("round {number} of {}: {system}", common.repeat);
            let turn = Box::pin(turn(*system, &common, &load, asking, &folder));
            match turn.await {
                Ok(round) => {
                    of.rounds.insert(number, round);
                    std::fs::remove_dir_all(&folder).map_err(CompareError::file(&folder))?;
                }
                // Its folder stays, with the logs that may tell why.
                Err(error) => {
                    eprintln!("{system}: {error}");
                    of.failures.insert(number, error.to_string());
                }
            }
        }
    }
    // Not empty where something failed.
    drop(std::fs::remove_dir(&base));
    report.finish();
    publish(&report, &common)?;
    Ok(report.is_well())
}

fn plan(part: Part) -> (CommonArgs, Workload, Option<Asking>) {
    let (common, sensors, readings, interval, asking) = match part {
        Part::Writes(args) => (
            args.common,
            args.sensors,
            args.readings,
            args.interval,
            None,
        ),
        Part::Queries(args) => {
            let ticks = ticks(args.days, &args.interval);
            let asking = Asking {
                questions: args.queries.max(1),
                time: Duration::from_secs(args.query_seconds),
            };
            let readings = ticks * u64::from(args.sensors);
            (
                args.common,
                args.sensors,
                readings,
                args.interval,
                Some(asking),
            )
        }
    };
    let workload = Workload {
        sensors,
        readings,
        interval,
        batch: common.batch,
        connections: common.connections,
        measures: common.measures,
        seed: common.seed,
        format: BodyFormat::Line,
        ..Workload::default()
    };
    (common, workload, asking)
}

/// Ticks of so many days; an interval that is none is told by the workload's check.
fn ticks(days: u32, interval: &str) -> u64 {
    let interval = interval.parse::<SignedDuration>().map(|i| i.as_micros());
    let micros = interval.ok().and_then(|micros| u64::try_from(micros).ok());
    u64::from(days) * MICROS_PER_DAY / micros.unwrap_or(0).max(1)
}

fn chosen(common: &CommonArgs, queries: bool) -> (Vec<System>, Vec<LeftOut>) {
    let mut wanted = common.systems.clone();
    if wanted.is_empty() {
        // What is written in which order is the same to those who ask.
        let all = System::ALL.into_iter();
        wanted = all
            .filter(|system| !queries || *system != System::NativeArrival)
            .collect();
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

fn described(load: &Load, workload: &Workload) -> Written {
    Written {
        sensors: load.fleet.sensors,
        readings: load.fleet.readings,
        batch: load.fleet.batch,
        connections: workload.connections,
        measures: load.fleet.measures.len(),
        decimals: load.decimals,
        interval_micros: load.fleet.interval,
        start: rfc3339(load.fleet.start),
        seed: load.fleet.seed,
    }
}

fn empty(system: System, majority: bool) -> SystemReport {
    SystemReport {
        system,
        durability: system.durability(majority),
        method: system.method(),
        rounds: std::collections::BTreeMap::new(),
        failures: std::collections::BTreeMap::new(),
        figures: std::collections::BTreeMap::new(),
    }
}

async fn turn(
    system: System,
    common: &CommonArgs,
    load: &Load,
    asking: Option<Asking>,
    folder: &Path,
) -> Result<Round, CompareError> {
    std::fs::create_dir_all(folder).map_err(CompareError::file(folder))?;
    let program = |program| -> Result<PathBuf, CompareError> {
        let found = common.programs.find(program);
        found.map_err(CompareError::Nothing)
    };
    let place = Place {
        folder: folder.to_owned(),
        connections: common.connections,
    };
    let mongod = || program(Program::Mongod).map(|path| Mongod::new(path, folder.to_owned()));
    let documents = |mongod, keep| Documents {
        mongod,
        keep,
        load: load.clone(),
        majority: common.majority,
        connections: common.connections,
        is_new: true,
    };
    let load_of = || load.clone();
    match system {
        System::HourglassEmbedded => {
            let hourglass = program(Program::Hourglass)?;
            measure(
                Hourglass::new(hourglass, place, load_of(), None),
                load,
                asking,
            )
            .await
        }
        System::HourglassMongodb => {
            let hourglass = program(Program::Hourglass)?;
            let peer = Hourglass::new(hourglass, place, load_of(), Some(mongod()?));
            measure(peer, load, asking).await
        }
        System::OneDoc => measure(documents(mongod()?, Keep::OneDocument), load, asking).await,
        System::NativeGrouped => {
            let keep = Keep::Native { grouped: true };
            measure(documents(mongod()?, keep), load, asking).await
        }
        System::NativeArrival => {
            let keep = Keep::Native { grouped: false };
            measure(documents(mongod()?, keep), load, asking).await
        }
        System::Influxdb => {
            let influx = program(Program::Influxd)?;
            measure(Influx::new(influx, place, load_of()), load, asking).await
        }
        System::VictoriaMetrics => {
            let victoria = program(Program::VictoriaMetrics)?;
            measure(Victoria::new(victoria, place, load_of()), load, asking).await
        }
    }
}

async fn measure(
    mut peer: impl Peer,
    load: &Load,
    asking: Option<Asking>,
) -> Result<Round, CompareError> {
    match asking {
        None => Box::pin(writes(&mut peer, load)).await,
        Some(asking) => Box::pin(queries(&mut peer, load, asking)).await,
    }
}

fn publish(report: &Report, common: &CommonArgs) -> Result<(), CompareError> {
    let json = serde_json::to_string_pretty(report)?;
    if let Some(file) = &common.report {
        std::fs::write(file, &json).map_err(CompareError::file(file))?;
    }
    match common.json {
        true => println!("{json}"),
        false => print!("{report}"),
    }
    Ok(())
}
