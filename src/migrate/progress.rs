//! How far a migration is: a bar on a terminal, else a line now and then.

use std::fmt;
use std::time::Duration;

use super::Watch;
use crate::progress::{Form, Gauge, percent};
use crate::store::StoredBucket;

const FORM: Form = Form {
    bar: "{wide_bar} {eta} left, {msg}",
    line_every: Duration::from_secs(5),
    line_at_once: true,
};

/// What a run does, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Buckets go to the target.
    Copying,
    /// Both stores are read and held against each other.
    Comparing,
}

/// How far a stage is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Which one.
    pub stage: Stage,
    /// Buckets of the source.
    pub buckets: u64,
    /// Parts of these: what `parts_total` is about.
    pub parts: u64,
    /// About how many parts the source has, where it is known.
    pub parts_total: Option<u64>,
    /// Readings (instants) in these.
    pub readings: u64,
}

impl Progress {
    pub(super) fn begun(stage: Stage, parts_total: Option<u64>) -> Self {
        Self {
            stage,
            buckets: 0,
            parts: 0,
            parts_total,
            readings: 0,
        }
    }

    pub(super) fn passed(&mut self, bucket: &StoredBucket) {
        self.buckets += 1;
        self.parts += bucket.parts.len() as u64;
        self.readings += bucket.parts.iter().map(|p| p.computed.count).sum::<u64>();
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stage = match self.stage {
            Stage::Copying => "copying",
            Stage::Comparing => "comparing",
        };
        write!(f, "{stage}: {} buckets", self.buckets)?;
        if let Some(total) = self.parts_total {
            write!(f, " {}", percent(self.parts, total))?;
        }
        write!(f, ", {} readings", self.readings)
    }
}

/// Findings to standard output, how far it is to standard error.
#[derive(Debug)]
pub struct Console {
    gauge: Gauge,
    stage: Option<Stage>,
}

impl Default for Console {
    fn default() -> Self {
        Self {
            gauge: Gauge::start(FORM, Some(0)),
            stage: None,
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
        if self.stage.replace(progress.stage) != Some(progress.stage) {
            self.gauge.begin_stage();
        }
        let text = || progress.to_string();
        self.gauge
            .reached(progress.parts, progress.parts_total, text, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_is_done_and_how_much_of_it() {
        let mut progress = Progress {
            stage: Stage::Copying,
            buckets: 3,
            parts: 4,
            parts_total: Some(12),
            readings: 900,
        };
        assert_eq!(
            progress.to_string(),
            "copying: 3 buckets (33 %), 900 readings"
        );
        progress.parts = 13;
        assert_eq!(
            progress.to_string(),
            "copying: 3 buckets (100 %), 900 readings"
        );
        progress.stage = Stage::Comparing;
        progress.parts_total = None;
        assert_eq!(progress.to_string(), "comparing: 3 buckets, 900 readings");
    }

    #[test]
    fn an_empty_source_is_done_at_once() {
        let progress = Progress {
            stage: Stage::Copying,
            buckets: 0,
            parts: 0,
            parts_total: Some(0),
            readings: 0,
        };
        assert_eq!(
            progress.to_string(),
            "copying: 0 buckets (100 %), 0 readings"
        );
    }

    #[test]
    fn the_form_of_the_bar_is_sound() {
        assert!(FORM.is_sound());
    }
}
