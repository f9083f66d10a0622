//! The load generator against a naive server in memory: what is right passes,
//! every planted fault is found.

#![expect(clippy::unwrap_used, reason = "tests")]

mod stub;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clap::Parser as _;
use jiff::Timestamp;
use loadgen::args::Cli;
use loadgen::check::{Outcome, Sample, Scope, check};
use loadgen::command::execute;
use loadgen::fleet::Fleet;
use loadgen::http::Target;
use loadgen::report::Report;
use loadgen::run::{Options, Ran, run};
use loadgen::tally::SharedTally;
use loadgen::workload::{BodyFormat, Workload};
use stub::{Fault, Stub};
use tokio::net::TcpListener;

const ALL: Scope = Scope {
    hourly: Sample::All,
    raw: Sample::All,
    batches: None,
    unacknowledged: BTreeSet::new(),
    patience: Duration::ZERO,
};

fn workload() -> Workload {
    Workload {
        sensors: 3,
        readings: 3000,
        batch: 50,
        connections: 2,
        measures: 2,
        start: Some("2026-05-01T09:50:00Z".to_owned()),
        late: 0.1,
        late_by: "5m".to_owned(),
        duplicates: 0.2,
        ..Workload::default()
    }
}

fn fleet(workload: &Workload) -> Fleet {
    workload
        .fleet("2026-05-02T00:00:00Z".parse::<Timestamp>().unwrap())
        .unwrap()
}

async fn run_against(url: &str, workload: &Workload) -> Ran {
    let target = Target::new(url).unwrap();
    let options = Options::of(workload, &[]);
    run(&target, &fleet(workload), &options, &SharedTally::default())
        .await
        .unwrap()
}

async fn check_against(url: &str, workload: &Workload, scope: &Scope) -> Outcome {
    let target = Target::new(url).unwrap();
    check(&target, &fleet(workload), scope).await.unwrap()
}

async fn differences_of(fault: Fault) -> Vec<(Option<String>, Option<String>, String)> {
    let (url, _) = Stub::with(fault).serve().await;
    run_against(&url, &workload()).await;
    let outcome = check_against(&url, &workload(), &ALL).await;
    let shown = outcome.differences_shown;
    shown
        .into_iter()
        .map(|d| (d.sensor, d.at, d.what))
        .collect()
}

#[tokio::test]
async fn a_right_server_shows_no_difference_in_any_format() {
    for (format, gzip) in [
        (BodyFormat::Json, false),
        (BodyFormat::Ndjson, true),
        (BodyFormat::Line, false),
        (BodyFormat::Line, true),
    ] {
        let workload = Workload {
            format,
            gzip,
            ..workload()
        };
        let (url, _) = Stub::default().serve().await;
        let ran = run_against(&url, &workload).await;
        assert_eq!(ran.readings_fresh + ran.readings_late, 3000);
        assert!(ran.readings_late > 200 && ran.readings_copied > 200);
        let posted = 3000 + ran.readings_copied;
        assert_eq!(ran.tally.readings_acknowledged, posted);
        let outcome = check_against(&url, &workload, &ALL).await;
        assert_eq!(outcome.differences_shown, []);
        assert_eq!((outcome.hours, outcome.readings), (6, 3000));
        let ledger = outcome.ledger.unwrap();
        assert_eq!(ledger.values_stored.to_bits(), 6000f64.to_bits());
        assert_eq!(
            ledger.values_duplicate.to_bits(),
            (2.0 * ran.readings_copied as f64).to_bits()
        );
    }
}

#[tokio::test]
async fn clocks_that_are_off_move_readings_into_other_hours_and_the_check_knows() {
    let workload = Workload {
        skew: "15m".to_owned(),
        ..workload()
    };
    let (url, _) = Stub::default().serve().await;
    run_against(&url, &workload).await;
    let outcome = check_against(&url, &workload, &ALL).await;
    assert_eq!(outcome.differences_shown, []);
    assert_eq!(outcome.readings, 3000);
    let right = Workload {
        skew: "0s".to_owned(),
        ..workload
    };
    assert!(check_against(&url, &right, &ALL).await.differences > 0);
}

#[tokio::test]
async fn a_wrong_sum_is_found_with_sensor_and_hour() {
    let differences = differences_of(Fault::Sum).await;
    let (sensor, at, what) = &differences[0];
    assert_eq!(sensor.as_deref(), Some("S1"));
    assert_eq!(at.as_deref(), Some("2026-05-01T09:00:00Z"));
    assert!(
        what.starts_with("humidity.sum: expected ") || what.starts_with("temp.sum"),
        "{what}"
    );
    assert!(differences.iter().all(|d| d.0.as_deref() == Some("S1")));
}

#[tokio::test]
async fn a_missing_reading_is_found_in_the_hour_and_by_itself() {
    let differences = differences_of(Fault::Missing).await;
    let says = |text: &str| {
        differences
            .iter()
            .any(|(_, _, what)| what.starts_with(text))
    };
    assert!(says("count: expected 600, got "));
    assert!(says("the reading is missing"));
}

#[tokio::test]
async fn a_doubled_reading_is_found_in_the_hour_and_by_itself() {
    let differences = differences_of(Fault::Doubled).await;
    let says = |text: &str| {
        differences
            .iter()
            .any(|(_, _, what)| what.starts_with(text))
    };
    assert!(says("count: expected 600, got 601"));
    assert!(says("the reading appears twice"));
}

#[tokio::test]
async fn a_value_that_is_off_by_one_bit_is_found() {
    let differences = differences_of(Fault::Altered).await;
    let found = differences
        .iter()
        .find(|(_, _, what)| what.starts_with("temp: expected "));
    assert_eq!(found.unwrap().0.as_deref(), Some("S1"));
}

#[tokio::test]
async fn a_ledger_that_does_not_balance_is_found() {
    let differences = differences_of(Fault::Ledger).await;
    assert_eq!(differences.len(), 1);
    assert!(differences[0].2.starts_with("values: "));
}

#[tokio::test]
async fn a_batch_that_is_not_accepted_whole_is_a_problem() {
    let (url, _) = Stub::with(Fault::Rejecting).serve().await;
    let ran = run_against(&url, &workload()).await;
    assert_eq!(ran.tally.problems, ran.batches);
    assert!(ran.tally.problems_shown[0].contains("49 accepted and 1 rejected"));
    let workload = workload();
    let start = fleet(&workload).start;
    assert!(!Report::new(workload, start, ran, None).is_well());
}

#[tokio::test]
async fn a_503_is_tried_again_until_it_is_taken() {
    let (url, stub) = Stub::busy(5).serve().await;
    let ran = run_against(&url, &workload()).await;
    assert_eq!(ran.tally.retries, 5);
    assert_eq!(ran.tally.statuses[&503], 5);
    assert_eq!(ran.tally.problems, 0);
    assert_eq!(stub.lock().unwrap().requests as u64, ran.batches + 5);
    let outcome = check_against(&url, &workload(), &ALL).await;
    assert_eq!(outcome.differences, 0);
}

#[tokio::test]
async fn a_connection_that_breaks_is_opened_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (first, _) = listener.accept().await.unwrap();
        first.readable().await.unwrap();
        drop(first);
        stub::serve_on(listener, Arc::new(Mutex::new(Stub::default()))).await;
    });
    let workload = Workload {
        connections: 1,
        ..workload()
    };
    let ran = run_against(&url, &workload).await;
    assert_eq!(ran.tally.connection_errors, 1);
    assert_eq!(ran.tally.problems, 0);
    assert_eq!(check_against(&url, &workload, &ALL).await.differences, 0);
}

#[tokio::test]
async fn what_was_not_posted_is_not_expected() {
    let (url, _) = Stub::default().serve().await;
    let short = Workload {
        readings: 1500,
        late: 0.0,
        duplicates: 0.0,
        ..workload()
    };
    let long = Workload {
        readings: 3000,
        ..short.clone()
    };
    let ran = run_against(&url, &short).await;
    let scope = Scope {
        batches: Some(ran.batches),
        ..ALL
    };
    assert_eq!(check_against(&url, &long, &scope).await.differences, 0);
    assert!(check_against(&url, &long, &ALL).await.differences > 0);
}

#[tokio::test]
async fn a_report_is_one_json_object_with_what_a_script_needs() {
    let (url, _) = Stub::default().serve().await;
    let workload = workload();
    let target = Target::new(&url).unwrap();
    let fleet = fleet(&workload);
    let own = i32::try_from(std::process::id()).unwrap();
    let options = Options::of(&workload, &[own]);
    let ran = run(&target, &fleet, &options, &SharedTally::default())
        .await
        .unwrap();
    let checked = check(&target, &fleet, &ALL).await.unwrap();
    let report = Report::new(workload, fleet.start, ran, Some(checked));
    assert!(report.is_well());
    assert!(report.to_string().contains("differences  0"));
    let data = serde_json::to_value(&report).unwrap();
    assert_eq!(data["workload"]["start"], "2026-05-01T09:50:00Z");
    assert_eq!(data["processes"][0]["pid"], own);
    assert!(data["processes"][0]["cpu_seconds_per_million"].is_number());
    assert!(data["readings_per_second"].as_f64().unwrap() > 0.0);
    assert!(data["latency_ms"]["p50"].as_f64() <= data["latency_ms"]["max"].as_f64());
}

#[tokio::test]
async fn no_server_is_said_with_the_address() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let target = Target::new(&format!("http://{address}")).unwrap();
    let options = Options::of(&workload(), &[]);
    let tally = SharedTally::default();
    let refused = run(&target, &fleet(&workload()), &options, &tally).await;
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.starts_with(&format!("no connection to {address}")),
        "{refused}"
    );
}

#[tokio::test]
async fn what_was_not_acknowledged_may_be_there_or_not() {
    let (url, _) = Stub::refusing(5).serve().await;
    let ran = run_against(&url, &workload()).await;
    assert_eq!(ran.unacknowledged.len() as u64, ran.batches / 5);
    assert_eq!(ran.tally.problems, ran.batches / 5);
    let scope = Scope {
        unacknowledged: ran.unacknowledged,
        ..ALL
    };
    let outcome = check_against(&url, &workload(), &scope).await;
    assert_eq!(outcome.differences_shown, []);
    let (unsure, found) = (outcome.unacknowledged, outcome.unacknowledged_found);
    assert!(found > 0 && found < unsure, "{found} of {unsure}");
    assert_eq!(outcome.readings, 3000 - (unsure - found));
    // Where it would have to be there, it is missed.
    assert!(check_against(&url, &workload(), &ALL).await.differences > 0);
}

#[tokio::test]
async fn what_is_wrong_is_found_among_what_was_not_acknowledged() {
    let (url, _) = Stub::with(Fault::Altered).serve().await;
    let ran = run_against(&url, &workload()).await;
    let scope = Scope {
        unacknowledged: (0..ran.batches).collect(),
        ..ALL
    };
    let outcome = check_against(&url, &workload(), &scope).await;
    assert_eq!(outcome.unacknowledged_found, 3000);
    assert!(outcome.differences > 0);
}

#[tokio::test]
async fn an_open_loop_sends_everything_over_no_more_connections_than_asked() {
    let workload = Workload {
        rate: Some(50_000.0),
        connections: 3,
        ..workload()
    };
    let (url, _) = Stub::busy(4).serve().await;
    let ran = run_against(&url, &workload).await;
    assert!(ran.all && (1..=3).contains(&ran.connections));
    assert_eq!(ran.tally.readings_acknowledged, 3000 + ran.readings_copied);
    assert_eq!((ran.tally.problems, ran.overdue.batches), (0, 0));
    let tally = &ran.tally;
    assert_eq!(tally.latency_from_due.len(), tally.latency.len());
    assert!(tally.latency_from_due.max() >= tally.latency.max());
    assert_eq!(check_against(&url, &workload, &ALL).await.differences, 0);
}

#[tokio::test]
async fn what_was_due_and_not_begun_at_the_end_is_told() {
    let workload = Workload {
        rate: Some(1_000_000.0),
        connections: 2,
        ..workload()
    };
    let (url, _) = Stub::busy(usize::MAX).serve().await;
    let options = Options {
        posting_max: Duration::from_millis(50),
        ..Options::of(&workload, &[])
    };
    let (target, fleet) = (Target::new(&url).unwrap(), fleet(&workload));
    let ran = run(&target, &fleet, &options, &SharedTally::default())
        .await
        .unwrap();
    // Two connections tried two batches until the end.
    assert_eq!((ran.batches, ran.connections, ran.all), (2, 2, false));
    assert_eq!(ran.unacknowledged, BTreeSet::from([0, 1]));
    assert!(ran.overdue.batches > 0 && ran.overdue.readings >= ran.overdue.batches);
    let scope = Scope {
        batches: Some(ran.batches),
        unacknowledged: ran.unacknowledged.clone(),
        ..ALL
    };
    let outcome = check(&target, &fleet, &scope).await.unwrap();
    assert_eq!(outcome.differences_shown, []);
    assert_eq!((outcome.readings, outcome.unacknowledged), (0, 100));
    let data = serde_json::to_value(Report::new(workload, fleet.start, ran, None)).unwrap();
    assert_eq!(data["latency_ms"], serde_json::Value::Null);
    assert_eq!(data["unacknowledged_batches"], serde_json::json!([0, 1]));
    assert!(data["overdue"]["longest_wait_ms"].as_f64().unwrap() > 0.0);
}

#[tokio::test]
async fn a_report_goes_into_a_file_too() {
    let (url, _) = Stub::default().serve().await;
    let file = concat!(env!("CARGO_TARGET_TMPDIR"), "/report-of-a-run.json");
    let start = "--start=2026-05-01T09:50:00Z";
    let flags = ["--sensors=3", "--readings=300", "--rate=100000", "--check"];
    let to = ["loadgen", "run", "--url", &url, "--report", file, start];
    let arguments = to.into_iter().chain(flags);
    let cli = Cli::try_parse_from(arguments).unwrap();
    assert!(execute(cli).await.unwrap());
    let data: serde_json::Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    assert_eq!(data["readings_acknowledged"], 300);
    assert_eq!(data["overdue"]["batches"], 0);
    for latency in ["latency_ms", "latency_from_due_ms"] {
        for percentile in ["p50", "p90", "p99", "p99_9", "max"] {
            assert!(data[latency][percentile].as_f64().unwrap() > 0.0);
        }
    }
    assert_eq!(data["check"]["readings"], 300);
}
