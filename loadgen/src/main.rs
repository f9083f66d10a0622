//! Load and comparison for hourglass: see `loadgen --help`.

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser as _;
use jiff::Timestamp;

use loadgen::args::{CheckArgs, Cli, Command, RunArgs, SampleArgs};
use loadgen::check::{Scope, check};
use loadgen::http::{HttpError, Target};
use loadgen::report::Report;
use loadgen::run::run;
use loadgen::workload::{Workload, WorkloadError};

fn main() -> ExitCode {
    let cli = Cli::parse();
    // One thread: the machine's cores are the server's.
    let done = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Into::into)
        .and_then(|runtime| match cli.command {
            Command::Run(args) => runtime.block_on(Box::pin(run_command(args))),
            Command::Check(args) => runtime.block_on(Box::pin(check_command(args))),
        });
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("loadgen: {error}");
            let url = matches!(error.downcast_ref(), Some(HttpError::Url { .. }));
            let usage = url || error.is::<WorkloadError>();
            ExitCode::from(if usage { 2 } else { 1 })
        }
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
