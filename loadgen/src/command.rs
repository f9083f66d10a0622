//! The commands: what `main` does between the command line and the exit code.

use std::error::Error;
use std::time::Duration;

use jiff::Timestamp;

use crate::args::{CheckArgs, Cli, Command, RunArgs, SampleArgs};
use crate::check::{Scope, check};
use crate::compare::{compare, serve_echo};
use crate::http::Target;
use crate::report::Report;
use crate::run::run;
use crate::workload::Workload;

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
    let posting_max = Duration::from_secs(workload.seconds_max);
    let ran = run(
        &target,
        &fleet,
        workload.connections,
        posting_max,
        &args.pid,
    )
    .await?;
    let checked = match args.check {
        true => {
            let scope = scope(&args.sample, Some(ran.batches));
            Some(check(&target, &fleet, &scope).await)
        }
        false => None,
    };
    let (checked, failed) = match checked.transpose() {
        Ok(checked) => (checked, None),
        Err(error) => (None, Some(error)),
    };
    let report = Report::new(workload, fleet.start, ran, checked);
    if args.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print!("{report}");
    }
    // The measurements are worth printing even where the check found no server.
    failed.map_or(Ok(report.is_well()), |error| Err(error.into()))
}

async fn check_command(args: CheckArgs) -> Result<bool, Box<dyn Error>> {
    let target = Target::new(&args.url)?;
    let fleet = Workload::load(&args.workload)?.fleet(Timestamp::now())?;
    let scope = scope(&args.sample, args.batches);
    let outcome = check(&target, &fleet, &scope).await?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&outcome)?);
    } else {
        print!("{outcome}");
    }
    Ok(outcome.differences == 0)
}

fn scope(sample: &SampleArgs, batches: Option<u64>) -> Scope {
    Scope {
        hourly: sample.hourly_sensors,
        raw: sample.raw_sensors,
        batches,
        patience: Duration::from_secs(sample.patience),
    }
}
