//! The systems that are compared.

use clap::ValueEnum;
use serde::Serialize;

/// A way to keep readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum System {
    /// hourglass with its embedded store.
    HourglassEmbedded,
    /// hourglass in front of a mongod.
    HourglassMongodb,
    /// A mongod that keeps one document per reading.
    OneDoc,
    /// A mongod with a native time series collection, readings sorted by sensor.
    NativeGrouped,
    /// The same collection, readings in the order of time, as they arrive.
    NativeArrival,
    /// `InfluxDB` 1.x.
    Influxdb,
    /// `VictoriaMetrics`.
    VictoriaMetrics,
}

/// The program a system needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// The service.
    Hourglass,
    /// MongoDB.
    Mongod,
    /// `InfluxDB`.
    Influxd,
    /// `VictoriaMetrics`.
    VictoriaMetrics,
}

impl System {
    /// All, in the order of the report.
    pub const ALL: [Self; 7] = [
        Self::HourglassEmbedded,
        Self::HourglassMongodb,
        Self::OneDoc,
        Self::NativeGrouped,
        Self::NativeArrival,
        Self::Influxdb,
        Self::VictoriaMetrics,
    ];

    /// As flags and reports write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::HourglassEmbedded => "hourglass-embedded",
            Self::HourglassMongodb => "hourglass-mongodb",
            Self::OneDoc => "one-doc",
            Self::NativeGrouped => "native-grouped",
            Self::NativeArrival => "native-arrival",
            Self::Influxdb => "influxdb",
            Self::VictoriaMetrics => "victoria-metrics",
        }
    }

    /// Whether it is hourglass, which the others are compared with.
    #[must_use]
    pub fn is_hourglass(self) -> bool {
        matches!(self, Self::HourglassEmbedded | Self::HourglassMongodb)
    }

    /// The programs it needs.
    #[must_use]
    pub fn programs(self) -> &'static [Program] {
        match self {
            Self::HourglassEmbedded => &[Program::Hourglass],
            Self::HourglassMongodb => &[Program::Hourglass, Program::Mongod],
            Self::OneDoc | Self::NativeGrouped | Self::NativeArrival => &[Program::Mongod],
            Self::Influxdb => &[Program::Influxd],
            Self::VictoriaMetrics => &[Program::VictoriaMetrics],
        }
    }

    /// What an acknowledgement is worth, in words.
    #[must_use]
    pub fn durability(self, majority: bool) -> &'static str {
        match self {
            Self::HourglassEmbedded => {
                "acknowledged after fdatasync of its journal; then into the embedded store"
            }
            Self::HourglassMongodb => {
                "acknowledged after fdatasync of its journal; then into mongod with majority \
                 and journal"
            }
            Self::OneDoc | Self::NativeGrouped | Self::NativeArrival if majority => {
                "acknowledged with w: majority, after the sync of mongod's journal"
            }
            Self::OneDoc | Self::NativeGrouped | Self::NativeArrival => {
                "acknowledged with w: 1, before mongod's journal is synced (every 100 ms): a \
                 crash loses what was acknowledged last"
            }
            Self::Influxdb => "acknowledged after fsync of its WAL (the default)",
            Self::VictoriaMetrics => {
                "no journal, no sync before the acknowledgement: a crash loses what was \
                 acknowledged last"
            }
        }
    }

    /// How its readings are written and at rest before bytes are counted.
    #[must_use]
    pub fn method(self) -> &'static str {
        match self {
            Self::HourglassEmbedded => {
                "line protocol; stopped, started again and stopped, then its data directory"
            }
            Self::HourglassMongodb => "line protocol; stopped; fsync of mongod, its dbStats",
            Self::OneDoc => "insert_many, unordered, index {sensorId: 1, ts: 1}; fsync, dbStats",
            Self::NativeGrouped => {
                "insert_many, unordered, sorted by sensor within 600 ticks; metaField sensorId, \
                 granularity seconds, index {sensorId: 1, ts: 1}; fsync, dbStats"
            }
            Self::NativeArrival => {
                "insert_many, unordered, in the order of time; metaField sensorId, granularity \
                 seconds, index {sensorId: 1, ts: 1}; fsync, dbStats"
            }
            Self::Influxdb => {
                "line protocol; started again with cold durations of 1 s, so that it writes \
                 out its cache and compacts its shards fully, until its files rest"
            }
            Self::VictoriaMetrics => {
                "line protocol; /internal/force_flush and force_merge, until its files rest"
            }
        }
    }
}

impl std::fmt::Display for System {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}
