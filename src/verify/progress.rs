//! How far a run is.

use std::fmt;
use std::time::Duration;

use super::Watch;
use crate::progress::{Form, Gauge, percent};

const FORM: Form = Form {
    bar: "{wide_bar} {eta} left, {msg}",
    line_every: Duration::from_secs(5),
    line_at_once: true,
};

/// So far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Buckets are looked at.
    Buckets {
        /// How many were.
        buckets: u64,
        /// Parts of these: what `parts_total` is about.
        parts: u64,
        /// About how many parts there are, where it is known.
        parts_total: Option<u64>,
        /// Readings (instants) in these.
        readings: u64,
    },
    /// Records of sensors are looked at, so many were.
    Sensors(u64),
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Buckets {
                buckets,
                parts,
                parts_total,
                readings,
            } => {
                write!(f, "verifying: {buckets} buckets")?;
                if let Some(total) = parts_total {
                    write!(f, " {}", percent(*parts, *total))?;
                }
                write!(f, ", {readings} readings")
            }
            Self::Sensors(sensors) => write!(f, "verifying: {sensors} sensors"),
        }
    }
}

/// Findings to standard output, how far it is to standard error.
#[derive(Debug)]
pub struct Console {
    gauge: Gauge,
    is_at_sensors: bool,
}

impl Default for Console {
    fn default() -> Self {
        Self {
            gauge: Gauge::start(FORM, Some(0)),
            is_at_sensors: false,
        }
    }
}

impl Console {
    /// Nothing more comes.
    pub fn finish(self) {
        self.gauge.finish();
    }
}

impl Watch for Console {
    fn tell(&mut self, line: &str) {
        self.gauge.tell(line);
    }

    fn reached(&mut self, progress: &Progress) {
        let text = || progress.to_string();
        match *progress {
            Progress::Buckets {
                parts, parts_total, ..
            } => self.gauge.reached(parts, parts_total, text, text),
            Progress::Sensors(sensors) => {
                if !std::mem::replace(&mut self.is_at_sensors, true) {
                    self.gauge.begin_stage();
                }
                self.gauge.reached(sensors, Some(sensors), text, text);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_was_looked_at_and_how_much_of_it() {
        let buckets = |parts_total| Progress::Buckets {
            buckets: 3,
            parts: 4,
            parts_total,
            readings: 900,
        };
        let told = buckets(Some(12)).to_string();
        assert_eq!(told, "verifying: 3 buckets (33 %), 900 readings");
        let told = buckets(None).to_string();
        assert_eq!(told, "verifying: 3 buckets, 900 readings");
        assert_eq!(Progress::Sensors(7).to_string(), "verifying: 7 sensors");
    }

    #[test]
    fn the_form_of_the_bar_is_sound() {
        assert!(FORM.is_sound());
    }
}
