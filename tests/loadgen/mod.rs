//! The load generator against the real service, on both stores: a run with late
//! readings and batches sent twice ends well, and its check finds everything,
//! after a restart too. Each way of sending comes out as it went in.

use std::path::Path;

mod compare;

use clap::Parser as _;
use loadgen::args::Cli;
use loadgen::command::execute;
use serde_json::Value;

use crate::support::hourglass::{Hourglass, Start};
use crate::support::site::Site;

const WORKLOAD: [&str; 7] = [
    "--sensors=20",
    "--readings=30000",
    "--batch=250",
    "--measures=2",
    "--late=0.02",
    "--late-by=10m",
    "--duplicates=0.1",
];
const START: &str = "--start=2026-05-01T09:50:00Z";

/// Whether `loadgen` with these flags would exit with 0. Everything is checked, as
/// there is little of it.
async fn ends_well(server: &Hourglass, command: &str, flags: &[&str]) -> bool {
    let (url, pid) = (server.url(""), server.pid().to_string());
    let arguments = ["loadgen", command, "--url", &url, START];
    let arguments = arguments.iter().chain(&WORKLOAD);
    let mut arguments: Vec<&str> = arguments.chain(flags).copied().collect();
    if command == "run" {
        arguments.extend(["--pid", &pid]);
    }
    let cli = Cli::try_parse_from(arguments).unwrap();
    execute(cli).await.unwrap()
}

/// The report of a run with its check, all of which must be well.
async fn report(server: &Hourglass, dir: &Path, flags: &[&str]) -> Value {
    let file = dir.join("report.json");
    let report = format!("--report={}", file.display());
    let flags: Vec<&str> = [&["--check", &report], flags].concat();
    assert!(ends_well(server, "run", &flags).await);
    let report: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    assert_eq!(report["check"]["differences"], 0);
    report
}

async fn a_run_and_its_checks_end_well(site: &Site) {
    let server = site.start().start();
    assert!(ends_well(&server, "run", &["--check", "--connections=3"]).await);
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compressed_lines_with_clocks_that_are_off_come_out_as_they_went_in() {
    let dir = tempfile::tempdir().unwrap();
    let server = Start::on(&dir.path().join("data")).start();
    let flags = ["--format=line", "--gzip", "--skew=20m"];
    let report = report(&server, dir.path(), &flags).await;
    assert_eq!(report["check"]["readings"], 30_000);
    assert!(ends_well(&server, "check", &["--skew=20m"]).await);
    assert!(!ends_well(&server, "check", &[]).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_schedule_is_kept_and_told() {
    let dir = tempfile::tempdir().unwrap();
    let server = Start::on(&dir.path().join("data")).start();
    let flags = ["--rate=100000", "--connections=8", "--gzip"];
    let report = report(&server, dir.path(), &flags).await;
    assert_eq!(report["all"], true);
    assert_eq!(report["overdue"]["batches"], 0);
    assert_eq!(report["check"]["readings"], 30_000);
    let opened = report["connections_opened"].as_u64().unwrap();
    assert!((1..=8).contains(&opened));
    let max = |latency: &str| report[latency]["max"].as_f64().unwrap();
    assert!(max("latency_from_due_ms") >= max("latency_ms"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_datagrams_it_is_told_how_many_arrived() {
    let dir = tempfile::tempdir().unwrap();
    let server = Start::on(&dir.path().join("data"))
        .udp("127.0.0.1:0")
        .start();
    let udp = format!("--udp={}", server.udp());
    for (format, prefix) in [
        ("--format=line", "--prefix=L"),
        ("--format=json", "--prefix=J"),
    ] {
        let flags = [&udp, format, prefix, "--rate=60000"];
        let report = report(&server, dir.path(), &flags).await;
        let (sent, arrived) = (&report["datagrams"], &report["check"]["arrivals"]);
        assert_eq!(arrived["at_rest"], true);
        assert!(sent["readings_sent"].as_u64() >= Some(30_000));
        // How many the kernel drops is its own affair; what is decoded is there.
        let lost = !arrived["datagrams_dropped"].as_object().unwrap().is_empty();
        let found = match lost {
            true => &report["check"]["unacknowledged_found"],
            false => &report["check"]["readings"],
        };
        assert!(found.as_u64().unwrap() > 0);
        assert!(lost || found.as_u64() == Some(30_000));
        assert!(ends_well(&server, "check", &flags).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn datagrams_that_never_arrive_are_no_good_run() {
    let dir = tempfile::tempdir().unwrap();
    let server = Start::on(&dir.path().join("data")).start();
    let nobody = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let udp = format!("--udp={}", nobody.local_addr().unwrap());
    let flags = [&udp, "--check", "--patience=0"];
    assert!(!ends_well(&server, "run", &flags).await);
}
