//! Workloads as data: defaults, a TOML file, then flags.

use std::path::Path;

use figment::Figment;
use figment::providers::{Format as _, Serialized, Toml};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::args::WorkloadArgs;
pub use crate::body_format::BodyFormat;
use crate::fleet::Fleet;

const MICROS_PER_DAY: i64 = 86_400_000_000;
/// 2000-01-01T00:00:00Z: hourglass refuses what is older (`ingest.min_time`).
const MIN_START: i64 = 946_684_800_000_000;
/// The most by which a clock may be off: sums of instants stay far from the ends
/// of their type.
const SKEW_MAX: i64 = 366 * MICROS_PER_DAY;

/// Bytes that a datagram holds on Ethernet without being cut into packets.
const DATAGRAM_BYTES: usize = 1472;
/// Bytes that a datagram holds over IPv4.
const DATAGRAM_BYTES_MAX: usize = 65_507;

/// A workload as it is written, unchecked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Sensors in the fleet.
    pub sensors: u32,
    /// Readings in all, over all sensors, copies not counted.
    pub readings: u64,
    /// Readings in a request, at most.
    pub batch: usize,
    /// Connections that post at the same time; with a rate, the most that are opened;
    /// with datagrams, sockets.
    pub connections: usize,
    /// Everything random follows from it.
    pub seed: u64,
    /// Measures of each reading.
    pub measures: u32,
    /// Instant of the first readings, RFC 3339; absent: midnight (UTC) of the
    /// last day from which the whole run lies in the past.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// Time between two readings of a sensor, such as `1s`.
    pub interval: String,
    /// How far the clock of a sensor may be off, either way, such as `30s`.
    pub skew: String,
    /// Fraction of readings that are held back, 0 to 1.
    pub late: f64,
    /// How long they are held back, in the time of the readings.
    pub late_by: String,
    /// Fraction of batches that are sent twice, 0 to 1.
    pub duplicates: f64,
    /// How bodies are written.
    pub format: BodyFormat,
    /// Whether bodies are compressed with gzip.
    pub gzip: bool,
    /// Readings a second by a fixed schedule; absent: each connection posts the
    /// next batch when the last is answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Host and port to which datagrams go, in place of posting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub udp: Option<String>,
    /// Bytes in a datagram, at most.
    pub datagram_bytes: usize,
    /// What sensor ids begin with; a number follows.
    pub prefix: String,
    /// Seconds after which no further batch is posted, at most 120.
    pub seconds_max: u64,
}

impl Default for Workload {
    fn default() -> Self {
        Self {
            sensors: 1000,
            readings: 1_000_000,
            batch: 1000,
            connections: 4,
            seed: 1,
            measures: 1,
            start: None,
            interval: "1s".to_owned(),
            skew: "0s".to_owned(),
            late: 0.0,
            late_by: "1h".to_owned(),
            duplicates: 0.0,
            format: BodyFormat::Json,
            gzip: false,
            rate: None,
            udp: None,
            datagram_bytes: DATAGRAM_BYTES,
            prefix: "S".to_owned(),
            seconds_max: 120,
        }
    }
}

/// Why a workload cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// The file, a key or a type.
    #[error("the workload cannot be read: {0}")]
    Read(#[from] Box<figment::Error>),
    /// A value out of its range.
    #[error("{key} is {given}: {rule}")]
    Range {
        /// The key, as the file writes it.
        key: &'static str,
        /// What was given.
        given: String,
        /// What is allowed.
        rule: &'static str,
    },
}

impl Workload {
    /// Layers the flags over the file (where one is named) over the defaults.
    ///
    /// # Errors
    /// The file cannot be read or has an unknown key or a wrong type.
    pub fn load(args: &WorkloadArgs) -> Result<Self, WorkloadError> {
        let mut layers = Figment::from(Serialized::defaults(Self::default()));
        if let Some(file) = &args.workload {
            layers = layers.merge(Toml::file_exact(Path::new(file)));
        }
        let loaded = layers.merge(Serialized::defaults(args)).extract();
        Ok(loaded.map_err(Box::new)?)
    }

    /// Checks every value; `now` decides the start where none is given, and
    /// that no reading lies in the future.
    ///
    /// # Errors
    /// Names the first key that is out of range.
    pub fn fleet(&self, now: Timestamp) -> Result<Fleet, WorkloadError> {
        let range = |key, given: &dyn ToString, fits: bool, rule| {
            let given = given.to_string();
            fits.then_some(())
                .ok_or(WorkloadError::Range { key, given, rule })
        };
        let (one, fraction) = (
            "choose 1 to 1,000,000",
            "choose a fraction from 0 to 1, such as 0.01",
        );
        let below_a_million = 1..=1_000_000usize;
        range(
            "sensors",
            &self.sensors,
            (1..=1_000_000).contains(&self.sensors),
            one,
        )?;
        range(
            "readings",
            &self.readings,
            (1..=1_000_000_000).contains(&self.readings),
            "choose 1 to 1,000,000,000",
        )?;
        range(
            "batch",
            &self.batch,
            below_a_million.contains(&self.batch),
            one,
        )?;
        range(
            "connections",
            &self.connections,
            (1..=1024).contains(&self.connections),
            "choose 1 to 1024",
        )?;
        range(
            "measures",
            &self.measures,
            (1..=256).contains(&self.measures),
            "choose 1 to 256",
        )?;
        range(
            "late",
            &self.late,
            (0.0..=1.0).contains(&self.late),
            fraction,
        )?;
        range(
            "duplicates",
            &self.duplicates,
            (0.0..=1.0).contains(&self.duplicates),
            fraction,
        )?;
        range(
            "seconds_max",
            &self.seconds_max,
            (1..=120).contains(&self.seconds_max),
            "choose 1 to 120",
        )?;
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        range(
            "prefix",
            &self.prefix,
            self.prefix.len() <= 64 && self.prefix.chars().all(plain),
            "choose at most 64 letters, digits, - and _",
        )?;
        range(
            "rate",
            &self.rate.unwrap_or_default(),
            self.rate.is_none_or(|rate| (1e-3..=1e9).contains(&rate)),
            "choose 0.001 to 1,000,000,000 readings a second",
        )?;
        range(
            "datagram_bytes",
            &self.datagram_bytes,
            (1..=DATAGRAM_BYTES_MAX).contains(&self.datagram_bytes),
            "choose 1 to 65507",
        )?;
        range(
            "gzip",
            &self.gzip,
            !self.gzip || self.udp.is_none(),
            "datagrams are not compressed; leave out gzip or udp",
        )?;
        range(
            "format",
            &self.format.name(),
            self.format != BodyFormat::Ndjson || self.udp.is_none(),
            "datagrams hold json or line",
        )?;
        let interval = micros("interval", &self.interval, 1)?;
        let late_by = micros("late_by", &self.late_by, 1)?;
        let skew = micros("skew", &self.skew, 0)?;
        range(
            "skew",
            &self.skew,
            skew <= SKEW_MAX,
            "choose at most 366 days",
        )?;
        let ticks = self.readings.div_ceil(u64::from(self.sensors));
        let span = i64::try_from(ticks)
            .ok()
            .and_then(|ticks| ticks.checked_mul(interval))
            .unwrap_or(i64::MAX);
        let now = now.as_microsecond();
        let start = match &self.start {
            Some(text) => text
                .parse::<Timestamp>()
                .map_err(|_| WorkloadError::Range {
                    key: "start",
                    given: text.clone(),
                    rule: "write RFC 3339, such as 2026-05-01T00:00:00Z",
                })?
                .as_microsecond(),
            None => {
                let latest = now.saturating_sub(span).saturating_sub(skew);
                latest.div_euclid(MICROS_PER_DAY) * MICROS_PER_DAY
            }
        };
        range(
            "start",
            &crate::fleet::rfc3339(start),
            start.saturating_sub(skew) >= MIN_START
                && start.saturating_add(span).saturating_add(skew) <= now.saturating_add(interval),
            "all readings must lie between the year 2000 and now; \
             choose another start, fewer readings, a shorter interval or less skew",
        )?;
        Ok(Fleet {
            seed: self.seed,
            sensors: self.sensors,
            readings: self.readings,
            batch: self.batch,
            measures: measure_names(self.measures),
            start,
            interval,
            skew,
            late: self.late,
            late_by_ticks: u64::try_from(late_by / interval).unwrap_or(0),
            duplicates: self.duplicates,
            format: self.format,
            prefix: self.prefix.clone(),
        })
    }
}

fn micros(key: &'static str, text: &str, min: i64) -> Result<i64, WorkloadError> {
    text.parse::<SignedDuration>()
        .ok()
        .and_then(|duration| i64::try_from(duration.as_micros()).ok())
        .filter(|micros| *micros >= min)
        .ok_or_else(|| WorkloadError::Range {
            key,
            given: text.to_owned(),
            rule: match min {
                0 => "write a duration such as 0s, 500ms or 1h",
                _ => "write a duration of 1us or more, such as 1s, 500ms or 1h",
            },
        })
}

fn measure_names(count: u32) -> Vec<String> {
    let known = ["temp", "humidity", "pressure"].map(str::to_owned);
    let numbered = (4..).map(|n| format!("measure{n}"));
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    known.into_iter().chain(numbered).take(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        "2026-05-02T10:00:00Z".parse().unwrap()
    }

    #[test]
    fn without_a_start_the_whole_run_lies_in_the_past() {
        let workload = Workload {
            sensors: 1,
            readings: 86_400,
            ..Workload::default()
        };
        let fleet = workload.fleet(now()).unwrap();
        assert_eq!(crate::fleet::rfc3339(fleet.start), "2026-05-01T00:00:00Z");
    }

    #[test]
    fn clocks_that_are_off_lie_in_the_past_too() {
        let day = Workload {
            sensors: 1,
            readings: 36_000,
            ..Workload::default()
        };
        let skewed = Workload {
            skew: "1h".to_owned(),
            ..day.clone()
        };
        let start = |workload: &Workload| workload.fleet(now()).unwrap().start;
        assert_eq!(start(&day) - start(&skewed), MICROS_PER_DAY);
        let refused = |start: &str| {
            let start = Some(start.to_owned());
            let workload = Workload {
                start,
                ..skewed.clone()
            };
            workload.fleet(now()).is_err()
        };
        assert!(!refused("2026-05-01T23:00:00Z"));
        assert!(refused("2026-05-01T23:00:02Z"));
        assert!(!refused("2000-01-01T01:00:00Z"));
        assert!(refused("2000-01-01T00:59:59Z"));
    }

    #[test]
    fn a_run_into_the_future_is_refused() {
        let workload = Workload {
            start: Some("2026-05-02T09:59:00Z".to_owned()),
            ..Workload::default()
        };
        let refused = workload.fleet(now()).unwrap_err().to_string();
        assert!(
            refused.starts_with("start is 2026-05-02T09:59:00Z"),
            "{refused}"
        );
    }

    #[test]
    fn values_out_of_range_name_their_key() {
        let base = Workload::default();
        let cases = [
            (
                "sensors",
                Workload {
                    sensors: 0,
                    ..base.clone()
                },
            ),
            (
                "late",
                Workload {
                    late: 1.5,
                    ..base.clone()
                },
            ),
            (
                "duplicates",
                Workload {
                    duplicates: f64::NAN,
                    ..base.clone()
                },
            ),
            (
                "interval",
                Workload {
                    interval: "-1s".to_owned(),
                    ..base.clone()
                },
            ),
            (
                "prefix",
                Workload {
                    prefix: "a/b".to_owned(),
                    ..base.clone()
                },
            ),
            (
                "seconds_max",
                Workload {
                    seconds_max: 121,
                    ..base.clone()
                },
            ),
            (
                "rate",
                Workload {
                    rate: Some(0.0),
                    ..base.clone()
                },
            ),
            (
                "skew",
                Workload {
                    skew: "-1s".to_owned(),
                    ..base.clone()
                },
            ),
            (
                "gzip",
                Workload {
                    gzip: true,
                    udp: Some("127.0.0.1:8094".to_owned()),
                    ..base.clone()
                },
            ),
            (
                "format",
                Workload {
                    format: BodyFormat::Ndjson,
                    udp: Some("127.0.0.1:8094".to_owned()),
                    ..base
                },
            ),
        ];
        for (key, workload) in cases {
            let refused = workload.fleet(now()).unwrap_err().to_string();
            assert!(refused.starts_with(&format!("{key} is ")), "{refused}");
        }
    }

    #[test]
    fn flags_override_the_file_and_the_file_the_defaults() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/workloads/messy.toml");
        let args = WorkloadArgs {
            workload: Some(file.into()),
            sensors: Some(7),
            ..WorkloadArgs::default()
        };
        let workload = Workload::load(&args).unwrap();
        assert_eq!(workload.sensors, 7);
        assert_eq!(workload.late.to_bits(), 0.02f64.to_bits());
        assert_eq!(workload.batch, Workload::default().batch);
    }

    #[test]
    fn every_workload_that_is_shipped_can_be_run() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/workloads");
        let mut seen = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let args = WorkloadArgs {
                workload: Some(entry.unwrap().path()),
                ..WorkloadArgs::default()
            };
            Workload::load(&args).unwrap().fleet(now()).unwrap();
            seen += 1;
        }
        assert!(seen >= 3);
    }
}
