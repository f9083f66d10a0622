//! `[shutdown]`: how the process stops. `[log]`: what it says.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tracing_subscriber::EnvFilter;

use super::bounds::{Bounds, secs};
use super::nearest::nearest;
use super::value::{Span, write_span};

/// How the process stops.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShutdownSettings {
    /// Longest time from SIGTERM to the end, up to 1 h; what is not in the store
    /// by then is in the journal.
    #[serde(serialize_with = "write_span")]
    pub grace: Duration,
}

impl Default for ShutdownSettings {
    fn default() -> Self {
        Self { grace: secs(30) }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawShutdown {
    grace: Span,
}

impl RawShutdown {
    pub(super) fn check(self, bounds: &mut Bounds<'_>) -> ShutdownSettings {
        ShutdownSettings {
            grace: bounds.span("shutdown.grace", self.grace, secs(0)..=secs(3600)),
        }
    }
}

/// What the process says, on standard error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogSettings {
    /// The form of a line.
    pub format: LogFormat,
    /// What is said: a level (`error`, `warn`, `info`, `debug`, `trace`, `off`),
    /// or levels by module (`info,hourglass::flush=debug`).
    pub filter: String,
}

impl Default for LogSettings {
    fn default() -> Self {
        Self {
            format: LogFormat::Auto,
            // The embedded store's library tells every flush of its own at info.
            filter: "info,fjall=warn,lsm_tree=warn".to_owned(),
        }
    }
}

/// The form of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Human on a terminal, else JSON.
    Auto,
    /// For people.
    Human,
    /// One JSON object a line.
    Json,
}

const FORMATS: [(&str, LogFormat); 3] = [
    ("auto", LogFormat::Auto),
    ("human", LogFormat::Human),
    ("json", LogFormat::Json),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLog {
    format: String,
    filter: String,
}

impl RawLog {
    pub(super) fn check(self, bounds: &mut Bounds<'_>) -> LogSettings {
        let found = FORMATS.iter().find(|(name, _)| *name == self.format);
        let format = found.map_or_else(
            || {
                let like = nearest(&self.format, FORMATS.map(|(name, _)| name));
                let hint = like.map(|name| format!("; did you mean {name}?"));
                bounds.refuse_text(
                    "log.format",
                    &self.format,
                    format_args!("auto, human or json{}", hint.unwrap_or_default()),
                );
                LogFormat::Auto
            },
            |(_, format)| *format,
        );
        if EnvFilter::try_new(&self.filter).is_err() || self.filter.trim().is_empty() {
            bounds.refuse_text(
                "log.filter",
                &self.filter,
                "a level such as info, or levels by module such as info,hourglass::flush=debug",
            );
        }
        LogSettings {
            format,
            filter: self.filter,
        }
    }
}
