//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use serde::Serialize;

use crate::check::Sample;
use crate::compare::{CompareArgs, EchoArgs};
use crate::workload::BodyFormat;

const EXAMPLES: &str = "\
Example: a small fleet with everything, checked afterwards, next to a server on this machine:
  hourglass serve --data-dir data/bench &
  loadgen run --url http://127.0.0.1:8080 --workload loadgen/workloads/smoke.toml --check --pid $!

The same again as data for a script, then the check alone:
  loadgen run --sensors 100 --readings 200000 --start 2026-05-01T00:00:00Z --json
  loadgen check --sensors 100 --readings 200000 --start 2026-05-01T00:00:00Z

At a fixed rate, latency counted from when each batch is due; then as datagrams:
  loadgen run --rate 200000 --connections 64 --format line --gzip --check
  loadgen run --udp 127.0.0.1:8094 --rate 200000 --format line --check

Everything follows from the workload and its seed: a check needs the same flags as the run,
and no file. Running the same again sends duplicates only; another --seed over the same
sensors and times sends conflicts, so give it another --prefix.

Exit codes: 0 all well; 1 something differs, was refused or was given up; 2 wrong usage.";

/// Sends simulated fleets to a running hourglass and checks what comes out.
#[derive(Debug, Parser)]
#[command(name = "loadgen", version, about, after_help = EXAMPLES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Send a fleet's readings and measure
    #[command(after_help = EXAMPLES)]
    Run(RunArgs),
    /// Compare what the server answers with what a run of the same workload sent
    #[command(after_help = EXAMPLES)]
    Check(CheckArgs),
    /// Write the same readings into hourglass and other systems and compare them
    Compare(CompareArgs),
    /// Read requests and answer them: what a comparison holds single requests to
    #[command(hide = true)]
    EchoServer(EchoArgs),
}

/// Flags of `loadgen run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Where hourglass listens (plain HTTP)
    #[arg(long, default_value = "http://127.0.0.1:8080")]
    pub url: String,
    /// The workload.
    #[command(flatten)]
    pub workload: WorkloadArgs,
    /// A process whose CPU seconds and memory to report; may be repeated
    #[arg(long)]
    pub pid: Vec<i32>,
    /// Check afterwards what the server holds
    #[arg(long)]
    pub check: bool,
    /// What to check.
    #[command(flatten)]
    pub sample: SampleArgs,
    /// One JSON object instead of the table
    #[arg(long)]
    pub json: bool,
    /// Write the JSON object to a file as well
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// A line a second on standard error, as on a terminal
    #[arg(long)]
    pub progress: bool,
}

/// Flags of `loadgen check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Where hourglass listens (plain HTTP)
    #[arg(long, default_value = "http://127.0.0.1:8080")]
    pub url: String,
    /// The workload.
    #[command(flatten)]
    pub workload: WorkloadArgs,
    /// What to check.
    #[command(flatten)]
    pub sample: SampleArgs,
    /// Batches that were posted, where a run ended early (the run says how many)
    #[arg(long)]
    pub batches: Option<u64>,
    /// Numbers of the batches that were posted and not acknowledged (the run says which):
    /// their readings may be there or not
    #[arg(long, value_delimiter = ',', value_name = "N,N,…")]
    pub unacknowledged: Vec<u64>,
    /// One JSON object instead of lines
    #[arg(long)]
    pub json: bool,
}

/// How much to compare.
#[derive(Debug, Clone, Args)]
pub struct SampleArgs {
    /// Sensors whose hours are compared: a number, spread evenly, or "all" [default: all of
    /// up to 10,000 sensors with up to 5,000,000 readings, else 100]
    #[arg(long, value_name = "N|all")]
    pub hourly_sensors: Option<Sample>,
    /// Sensors whose every reading is compared: a number or "all" [default: all as above,
    /// else 10]
    #[arg(long, value_name = "N|all")]
    pub raw_sensors: Option<Sample>,
    /// Seconds for which an answer may be incomplete and the ledger out of balance, while
    /// the server works off a backlog
    #[arg(long, default_value_t = 30, value_name = "SECONDS")]
    pub patience: u64,
}

/// The workload: flags override the file.
#[derive(Debug, Clone, Default, Args, Serialize)]
pub struct WorkloadArgs {
    /// A workload as TOML; its keys are the flags below with _ for -
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    pub workload: Option<PathBuf>,
    /// Sensors in the fleet [default: 1000]
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sensors: Option<u32>,
    /// Readings in all, over all sensors [default: 1000000]
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readings: Option<u64>,
    /// Readings in a request [default: 1000]
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<usize>,
    /// Connections that post at the same time [default: 4]
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<usize>,
    /// Everything random follows from it [default: 1]
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Measures of each reading: temp, humidity, pressure, measure4, … [default: 1]
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measures: Option<u32>,
    /// Instant of the first readings [default: midnight UTC of the last day from which
    /// the whole run lies in the past]
    #[arg(long, value_name = "RFC 3339")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// Time between two readings of a sensor [default: 1s]
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<String>,
    /// How far the clock of a sensor may be off, either way: drawn from the seed, the same
    /// all the time [default: 0s]
    #[arg(long, value_name = "DURATION")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skew: Option<String>,
    /// Fraction of readings held back and sent later [default: 0]
    #[arg(long, value_name = "FRACTION")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late: Option<f64>,
    /// How long they are held back, in the time of the readings [default: 1h]
    #[arg(long, value_name = "DURATION")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_by: Option<String>,
    /// Fraction of batches sent twice [default: 0]
    #[arg(long, value_name = "FRACTION")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicates: Option<f64>,
    /// How bodies are written [default: json]
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<BodyFormat>,
    /// Compress bodies with gzip
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gzip: Option<bool>,
    /// Readings a second by a fixed schedule, however fast the answers come; --connections
    /// is then the most that are opened [default: each connection posts the next batch when
    /// the last is answered]
    #[arg(long, value_name = "READINGS_PER_SECOND")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Send datagrams there in place of posting; nobody acknowledges them. --connections
    /// is then the number of sockets
    #[arg(long, value_name = "HOST:PORT")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub udp: Option<String>,
    /// Bytes in a datagram, at most [default: 1472, an Ethernet packet]
    #[arg(long, value_name = "BYTES")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datagram_bytes: Option<usize>,
    /// What sensor ids begin with [default: S]
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// Seconds after which no further batch is posted, at most 120 [default: 120]
    #[arg(long, value_name = "SECONDS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds_max: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parses(command: &str) {
        let words = command.split_whitespace();
        let given = words.map(|word| if word.contains("$!") { "1" } else { word });
        if let Err(error) = Cli::try_parse_from(given) {
            panic!("{command}: {error}");
        }
    }

    #[test]
    fn every_command_that_is_shown_is_one() {
        let readme = include_str!("../README.md").replace("\\\n", " ");
        let start = "cargo run --release -p loadgen -- ";
        let shown = readme
            .lines()
            .filter_map(|line| line.trim().strip_prefix(start));
        let mut commands: Vec<String> = shown
            .map(|flags| {
                format!(
                    "loadgen {}",
                    flags.replace("\"$(pgrep -x hourglass)\"", "1")
                )
            })
            .collect();
        let examples = EXAMPLES.lines().map(str::trim);
        commands.extend(
            examples
                .filter(|line| line.starts_with("loadgen "))
                .map(str::to_owned),
        );
        assert!(commands.len() >= 8, "{commands:?}");
        for command in commands {
            parses(&command);
        }
    }
}
