//! The comparison against real servers: the report has what it promises, and all
//! give the answers that follow from what was written.

use std::path::Path;

use clap::Parser as _;
use loadgen::args::Cli;
use loadgen::command::execute;
use serde_json::Value;

use crate::support::mongod::mongod_binary;

/// Runs `loadgen compare` on both stores and two ways without hourglass, and
/// returns its report.
async fn compared(part: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report.json");
    let flag = |name: &str, path: &Path| format!("--{name}={}", path.display());
    let flags = [
        flag("hourglass", Path::new(env!("CARGO_BIN_EXE_hourglass"))),
        flag("mongod", &mongod_binary()),
        flag("work-dir", folder.path()),
        flag("report", &report),
    ];
    let arguments = ["loadgen", "compare"].iter().chain(part);
    let arguments = arguments.copied().chain(flags.iter().map(String::as_str));
    let more = [
        "--repeat=1",
        "--systems=hourglass-embedded,hourglass-mongodb,one-doc,native-grouped,influxdb",
        "--influxd=/nowhere/influxd",
    ];
    let cli = Cli::try_parse_from(arguments.chain(more)).unwrap();
    let well = execute(cli).await.unwrap();
    let report = std::fs::read(report).unwrap();
    let report: Value = serde_json::from_slice(&report).unwrap();
    assert!(well, "{report:#}");
    assert_eq!(report["left_out"][0]["system"], "influxdb");
    assert_eq!(report["left_out"][0]["why"], "there is no /nowhere/influxd");
    assert_eq!(report["systems"].as_array().unwrap().len(), 4);
    // Only the report is left: every server was stopped and its data removed.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    report
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_comparison_of_writes_reports_every_figure_of_every_system() {
    let report = compared(&["writes", "--sensors=5", "--readings=3000", "--batch=500"]).await;
    for system in report["systems"].as_array().unwrap() {
        let round = &system["rounds"]["1"];
        assert_eq!(round["readings"], 3000, "{system:#}");
        for figure in [
            "readings_per_second_acknowledged",
            "readings_per_second_stored",
            "batch_p99_ms",
            "bytes_per_reading_data",
            "bytes_per_reading_all_files",
        ] {
            let median = system["figures"][figure]["median"].as_f64().unwrap();
            assert!(median > 0.0, "{figure} in {system:#}");
        }
        for figure in [
            "client_cpu_seconds_per_million",
            "servers_cpu_seconds_per_million",
        ] {
            assert!(system["figures"][figure]["max"].is_f64(), "{system:#}");
        }
    }
    let embedded = &report["systems"][0]["figures"];
    assert!(embedded["hourglass_rss_peak_mib"]["max"].is_f64());
    let ratio = |ratio: &&Value| {
        ratio["hourglass"] == "hourglass-mongodb"
            && ratio["peer"] == "one-doc"
            && ratio["figure"] == "readings_per_second_acknowledged"
    };
    let ratios = report["ratios"].as_array().unwrap();
    assert_eq!(ratios.iter().filter(ratio).count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_comparison_of_queries_finds_the_same_answers_everywhere() {
    let part = [
        "queries",
        "--sensors=5",
        "--days=1",
        "--interval=30s",
        "--queries=2",
        "--decimals=2",
        "--measures=2",
    ];
    let report = compared(&part).await;
    for system in report["systems"].as_array().unwrap() {
        let answers = system["rounds"]["1"]["answers"].as_array().unwrap();
        let rows: Vec<u64> = answers
            .iter()
            .map(|answer| {
                assert_eq!(answer["agrees"], true, "{system:#}");
                answer["rows"].as_u64().unwrap()
            })
            .collect();
        assert_eq!(rows, [24, 6 * 120, 5 * 24, 5], "{system:#}");
        for kind in ["hourly", "raw", "hourly_many", "latest"] {
            let requests = &system["figures"][format!("{kind}_requests")]["min"];
            assert!(requests.as_f64().unwrap() >= 1.0, "{system:#}");
            assert!(system["figures"][format!("{kind}_p99_ms")]["max"].is_f64());
        }
    }
}
