//! The command line of comparisons.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::programs::Programs;
use super::system::System;

/// Flags of `loadgen compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// What to compare.
    #[command(subcommand)]
    pub part: Part,
}

/// What to compare.
#[derive(Debug, Subcommand)]
pub enum Part {
    /// How fast systems take readings, what it costs, what they take on disk
    Writes(WritesArgs),
    /// How fast they answer questions about a month
    Queries(QueriesArgs),
    /// One reading a request: latency beside the disk's sync and a bare HTTP server
    Single(SingleArgs),
}

/// Flags of all parts.
#[derive(Debug, Args)]
pub struct CommonArgs {
    /// Systems, separated by commas [default: all in writes, all but native-arrival
    /// in queries, the two with hourglass in single]
    #[arg(long, value_delimiter = ',')]
    pub systems: Vec<System>,
    /// Rounds; every system has its turn in each, in a new folder
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeat: u32,
    /// Where data are put; on the disk that matters [default: the system's temporary folder]
    #[arg(long, value_name = "FOLDER")]
    pub work_dir: Option<PathBuf>,
    /// The programs.
    #[command(flatten)]
    pub programs: Programs,
    /// mongod without hourglass acknowledges with w: majority instead of w: 1
    #[arg(long)]
    pub majority: bool,
    /// Measures of each reading
    #[arg(long, default_value_t = 1)]
    pub measures: u32,
    /// Decimals of the values; the second is noise
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=2))]
    pub decimals: u32,
    /// Everything random follows from it
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// One JSON object instead of the tables
    #[arg(long)]
    pub json: bool,
    /// A file for the JSON object, beside the tables
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
}

/// How readings are sent in batches.
#[derive(Debug, Clone, Copy, Args)]
pub struct BatchArgs {
    /// Readings in a batch
    #[arg(long, default_value_t = 5000)]
    pub batch: usize,
    /// Connections that write at the same time
    #[arg(long, default_value_t = 2)]
    pub connections: usize,
}

/// Flags of `loadgen compare writes`.
#[derive(Debug, Args)]
pub struct WritesArgs {
    /// Flags of all parts.
    #[command(flatten)]
    pub common: CommonArgs,
    /// How readings are sent.
    #[command(flatten)]
    pub batches: BatchArgs,
    /// Sensors
    #[arg(long, default_value_t = 1000)]
    pub sensors: u32,
    /// Readings in all; encoded ahead, they take up to 150 bytes of memory each
    #[arg(long, default_value_t = 3_600_000)]
    pub readings: u64,
    /// Time between two readings of a sensor
    #[arg(long, default_value = "1s")]
    pub interval: String,
}

/// Flags of `loadgen compare queries`.
#[derive(Debug, Args)]
pub struct QueriesArgs {
    /// Flags of all parts.
    #[command(flatten)]
    pub common: CommonArgs,
    /// How readings are sent.
    #[command(flatten)]
    pub batches: BatchArgs,
    /// Sensors
    #[arg(long, default_value_t = 200)]
    pub sensors: u32,
    /// Days
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=366))]
    pub days: u32,
    /// Time between two readings of a sensor
    #[arg(long, default_value = "1m")]
    pub interval: String,
    /// Questions of each kind
    #[arg(long, default_value_t = 200)]
    pub queries: u32,
    /// Seconds for the questions to one system in one round
    #[arg(long, default_value_t = 20)]
    pub query_seconds: u64,
}

/// Flags of `loadgen compare single`.
#[derive(Debug, Args)]
pub struct SingleArgs {
    /// Flags of all parts.
    #[command(flatten)]
    pub common: CommonArgs,
    /// Connections that write at the same time
    #[arg(long, default_value_t = 64)]
    pub connections: usize,
    /// Sensors
    #[arg(long, default_value_t = 1000)]
    pub sensors: u32,
    /// Readings in all
    #[arg(long, default_value_t = 50_000)]
    pub readings: u64,
}

/// Flags of `loadgen echo-server`.
#[derive(Debug, Args)]
pub struct EchoArgs {
    /// Port of the loopback
    #[arg(long)]
    pub port: u16,
}
