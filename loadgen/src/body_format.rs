//! How readings are written into bodies.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// How request bodies are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum BodyFormat {
    /// A JSON array.
    Json,
    /// One JSON object a line.
    Ndjson,
    /// InfluxDB line protocol, times in nanoseconds.
    Line,
}

impl BodyFormat {
    /// The `Content-Type` of a body.
    #[must_use]
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Ndjson => "application/x-ndjson",
            Self::Line => "text/plain",
        }
    }

    /// As a workload writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Ndjson => "ndjson",
            Self::Line => "line",
        }
    }
}
