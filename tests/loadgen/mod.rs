//! The load generator against the real service, on both stores: a run with late
//! readings and batches sent twice ends well, and its check finds everything,
//! after a restart too.

mod compare;

use clap::Parser as _;
use loadgen::args::Cli;
use loadgen::command::execute;

use crate::support::hourglass::Hourglass;
use crate::support::site::Site;

const WORKLOAD: [&str; 8] = [
    "--sensors=20",
    "--readings=30000",
    "--batch=250",
    "--connections=3",
    "--measures=2",
    "--late=0.02",
    "--late-by=10m",
    "--duplicates=0.1",
];
const START: &str = "--start=2026-05-01T09:50:00Z";
const EVERYTHING: [&str; 2] = ["--hourly-sensors=all", "--raw-sensors=all"];

/// Whether `loadgen` with these flags would exit with 0.
async fn ends_well(server: &Hourglass, command: &str, flags: &[&str]) -> bool {
    let (url, pid) = (server.url(""), server.pid().to_string());
    let arguments = ["loadgen", command, "--url", &url, START];
    let arguments = arguments.iter().chain(&WORKLOAD).chain(&EVERYTHING);
    let mut arguments: Vec<&str> = arguments.chain(flags).copied().collect();
    if command == "run" {
        arguments.extend(["--pid", &pid]);
    }
    let cli = Cli::try_parse_from(arguments).unwrap();
    execute(cli).await.unwrap()
}

async fn a_run_and_its_checks_end_well(site: &Site) {
    let server = site.start().start();
    assert!(ends_well(&server, "run", &["--check"]).await);
    let server = site.restart_from_the_store(server, &site.start());
    assert!(ends_well(&server, "check", &[]).await);
    // Another seed is other data.
    assert!(!ends_well(&server, "check", &["--seed=2"]).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_and_its_checks_end_well_on_the_embedded_store() {
    a_run_and_its_checks_end_well(&Site::embedded().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_and_its_checks_end_well_on_mongodb() {
    a_run_and_its_checks_end_well(&Site::mongodb().await).await;
}
