//! Load and comparison for hourglass: see `loadgen --help`.

use std::process::ExitCode;

use clap::Parser as _;

use loadgen::args::Cli;
use loadgen::command::execute;
use loadgen::http::HttpError;
use loadgen::workload::WorkloadError;

fn main() -> ExitCode {
    let cli = Cli::parse();
    // One thread: the machine's cores are the server's.
    let done = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Into::into)
        .and_then(|runtime| runtime.block_on(execute(cli)));
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
