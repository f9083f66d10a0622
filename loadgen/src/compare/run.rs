//! The rounds of a comparison.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jiff::Timestamp;

use super::CompareError;
use super::args::{CommonArgs, CompareArgs};
use super::documents::{Documents, Keep};
use super::hourglass::Hourglass;
use super::influx::Influx;
use super::load::Load;
use super::measure::{queries, writes};
use super::mongod::Mongod;
use super::peer::{Peer, Place};
use super::plan::{Doing, chosen, plan};
use super::report::{Report, Round, SystemReport, Written};
use super::single::single;
use super::system::{Program, System};
use super::victoria::Victoria;
use crate::cpu::Machine;
use crate::fleet::rfc3339;
use crate::workload::Workload;

/// Does what the command line says and prints the report: whether all is well.
///
/// # Errors
/// Wrong usage, no system that can be started, or a file that cannot be written.
/// What happens to one system in one round is in the report.
pub async fn compare(args: CompareArgs) -> Result<bool, CompareError> {
    let (common, workload, doing) = plan(args.part);
    let load = Load {
        fleet: workload.fleet(Timestamp::now())?,
        decimals: common.decimals,
    };
    let (systems, left_out) = chosen(&common, doing);
    if systems.is_empty() {
        let why = left_out.iter().map(|o| format!("{}: {}", o.system, o.why));
        return Err(CompareError::Nothing(why.collect::<Vec<_>>().join("; ")));
    }
    let mut report = Report {
        part: doing.name(),
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
        // Each round begins with another system.
        let mut turns: Vec<&mut SystemReport> = report.systems.iter_mut().collect();
        turns.rotate_left((number as usize - 1) % systems.len());
        for of in turns {
            let system = of.system;
            eprintln!("round {number} of {}: {system}", common.repeat);
            let place = Place {
                folder: base.join(format!("{number}-{system}")),
                connections: workload.connections,
            };
            match Box::pin(turn(system, &common, &load, doing, &place)).await {
                Ok(round) => {
                    of.rounds.insert(number, round);
                    let folder = place.folder;
                    std::fs::remove_dir_all(&folder).map_err(CompareError::file(folder))?;
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
        rounds: BTreeMap::new(),
        failures: BTreeMap::new(),
        figures: BTreeMap::new(),
    }
}

/// One system in one round.
async fn turn(
    system: System,
    common: &CommonArgs,
    load: &Load,
    doing: Doing,
    place: &Place,
) -> Result<Round, CompareError> {
    let folder = &place.folder;
    std::fs::create_dir_all(folder).map_err(CompareError::file(folder))?;
    let program = |program| -> Result<PathBuf, CompareError> {
        common.programs.find(program).map_err(CompareError::Nothing)
    };
    let mongod = || program(Program::Mongod).map(|path| Mongod::new(path, folder.clone()));
    let documents = |mongod, keep| Documents {
        mongod,
        keep,
        load: load.clone(),
        majority: common.majority,
        connections: place.connections,
        is_new: true,
    };
    let (at, of) = (place.clone(), load.clone());
    match system {
        System::HourglassEmbedded => {
            let path = program(Program::Hourglass)?;
            part(Hourglass::new(path, at, of, None), load, doing, place).await
        }
        System::HourglassMongodb => {
            let (path, mongod) = (program(Program::Hourglass)?, mongod()?);
            let peer = Hourglass::new(path, at, of, Some(mongod));
            part(peer, load, doing, place).await
        }
        System::OneDoc => {
            let peer = documents(mongod()?, Keep::OneDocument);
            part(peer, load, doing, place).await
        }
        System::NativeGrouped | System::NativeArrival => {
            let grouped = system == System::NativeGrouped;
            let peer = documents(mongod()?, Keep::Native { grouped });
            part(peer, load, doing, place).await
        }
        System::Influxdb => {
            let path = program(Program::Influxd)?;
            part(Influx::new(path, at, of), load, doing, place).await
        }
        System::VictoriaMetrics => {
            let path = program(Program::VictoriaMetrics)?;
            part(Victoria::new(path, at, of), load, doing, place).await
        }
    }
}

async fn part(
    mut peer: impl Peer,
    load: &Load,
    doing: Doing,
    place: &Place,
) -> Result<Round, CompareError> {
    match doing {
        Doing::Writes => Box::pin(writes(&mut peer, load)).await,
        Doing::Queries(asking) => Box::pin(queries(&mut peer, load, asking)).await,
        Doing::Single => Box::pin(single(&mut peer, load, place)).await,
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
