//! The commands: what `main` does between the command line and the exit code.

use std::collections::BTreeSet;
use std::error::Error;
use std::io::{IsTerminal as _, stderr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;

use crate::args::{CheckArgs, Cli, Command, RunArgs, SampleArgs};
use crate::check::{Arrivals, CheckError, DatagramCounts, Outcome, Sample, Scope, check};
use crate::compare::{compare, serve_echo};
use crate::fleet::Fleet;
use crate::http::Target;
use crate::plan::Plan;
use crate::progress::beside;
use crate::report::Report;
use crate::run::{Options, Ran, run};
use crate::tally::SharedTally;
use crate::workload::Workload;

/// Up to so many readings and sensors everything is checked unless a flag says
/// otherwise: some seconds of reading back.
const READINGS_ALL: u64 = 5_000_000;
const SENSORS_ALL: u32 = 10_000;

/// The report cannot be written to its file.
#[derive(Debug, thiserror::Error)]
#[error("the report cannot be written to {}: {source}", file.display())]
pub struct ReportError {
    file: PathBuf,
    source: std::io::Error,
}

/// Does what the command line says and prints the outcome: whether all is well.
///
/// # Errors
/// Wrong usage, nobody listens, or an answer could not be read.
pub async fn execute(cli: Cli) -> Result<bool, Box<dyn Error>> {
    match cli.command {
        Command::Run(args) => Box::pin(run_command(args)).await,
        Command::Check(args) => Box::pin(check_command(args)).await,
        Command::Compare(args) => Ok(Box::pin(compare(args)).await?),
        Command::EchoServer(args) => Ok(serve_echo(args).await.map(|()| true)?),
    }
}

async fn run_command(args: RunArgs) -> Result<bool, Box<dyn Error>> {
    let target = Target::new(&args.url)?;
    let workload = Workload::load(&args.workload)?;
    let fleet = workload.fleet(Timestamp::now())?;
    let options = Options::of(&workload, &args.pid);
    let before = match args.check && workload.udp.is_some() {
        true => Some(DatagramCounts::now(&target).await?),
        false => None,
    };
    let tally = SharedTally::default();
    let running = Box::pin(run(&target, &fleet, &options, &tally));
    let ran = match args.progress || stderr().is_terminal() {
        true => beside(&tally, running).await?,
        false => running.await?,
    };
    let (checked, failed) = match args.check {
        true => match check_run(&target, &fleet, &args.sample, &ran, before).await {
            Ok(checked) => (Some(checked), None),
            Err(error) => (None, Some(error)),
        },
        false => (None, None),
    };
    let report = Report::new(workload, fleet.start, ran, checked);
    let data = serde_json::to_string_pretty(&report)?;
    if args.json {
        println!("{data}");
    } else {
        print!("{report}");
    }
    if let Some(file) = &args.report {
        write(file, &data)?;
    }
    // The measurements are worth printing even where the check found no server.
    failed.map_or(Ok(report.is_well()), |error| Err(error.into()))
}

/// Checks what a run sent; of datagrams, first what arrived.
async fn check_run(
    target: &Target,
    fleet: &Fleet,
    sample: &SampleArgs,
    ran: &Ran,
    before: Option<DatagramCounts>,
) -> Result<Outcome, CheckError> {
    let mut unacknowledged = ran.unacknowledged.clone();
    let mut arrived = None;
    if let Some(before) = before {
        let (datagrams, readings) = (ran.tally.datagrams_sent, ran.tally.readings_sent);
        let patience = Duration::from_secs(sample.patience);
        let arrivals = Arrivals::since(&before, target, datagrams, patience).await?;
        if arrivals.are_all(datagrams, readings) {
            // The last batch may have been sent in part.
            let last = ran.batches.checked_sub(1).filter(|_| !ran.all);
            unacknowledged = last.into_iter().collect();
        }
        arrived = Some(arrivals);
    }
    let scope = scope(fleet, sample, Some(ran.batches), unacknowledged);
    let mut outcome = check(target, fleet, &scope).await?;
    if let Some(arrivals) = arrived {
        let all_sensors = outcome.sensors_raw == u64::from(fleet.sensors);
        outcome.arrived(arrivals, ran.readings_copied, all_sensors);
    }
    Ok(outcome)
}

async fn check_command(args: CheckArgs) -> Result<bool, Box<dyn Error>> {
    let target = Target::new(&args.url)?;
    let workload = Workload::load(&args.workload)?;
    let fleet = workload.fleet(Timestamp::now())?;
    let unacknowledged = match workload.udp {
        Some(_) => (0..).zip(Plan::new(&fleet)).map(|(n, _)| n).collect(),
        None => args.unacknowledged.into_iter().collect(),
    };
    let scope = scope(&fleet, &args.sample, args.batches, unacknowledged);
    let outcome = check(&target, &fleet, &scope).await?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&outcome)?);
    } else {
        print!("{outcome}");
    }
    Ok(outcome.differences == 0)
}

fn scope(
    fleet: &Fleet,
    sample: &SampleArgs,
    batches: Option<u64>,
    unacknowledged: BTreeSet<u64>,
) -> Scope {
    let all = fleet.readings <= READINGS_ALL && fleet.sensors <= SENSORS_ALL;
    let or = |given: Option<Sample>, some| {
        let usual = match all {
            true => Sample::All,
            false => Sample::Some(some),
        };
        given.unwrap_or(usual)
    };
    Scope {
        hourly: or(sample.hourly_sensors, 100),
        raw: or(sample.raw_sensors, 10),
        batches,
        unacknowledged,
        patience: Duration::from_secs(sample.patience),
    }
}

fn write(file: &Path, data: &str) -> Result<(), ReportError> {
    std::fs::write(file, format!("{data}\n")).map_err(|source| ReportError {
        file: file.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::tests::small;

    #[test]
    fn everything_is_checked_where_that_takes_seconds() {
        let sample = SampleArgs {
            hourly_sensors: None,
            raw_sensors: Some(Sample::Some(3)),
            patience: 1,
        };
        let scope = |fleet: &Fleet| scope(fleet, &sample, None, BTreeSet::new());
        let (usual, given) = (scope(&small()).hourly, scope(&small()).raw);
        assert_eq!((usual, given), (Sample::All, Sample::Some(3)));
        let large = Fleet {
            readings: READINGS_ALL + 1,
            ..small()
        };
        assert_eq!(scope(&large).hourly, Sample::Some(100));
    }

    #[test]
    fn a_report_that_cannot_be_written_names_its_file() {
        let error = write(Path::new("/nowhere/report.json"), "{}").unwrap_err();
        let said = error.to_string();
        assert!(said.starts_with("the report cannot be written to /nowhere/report.json: "));
    }
}
