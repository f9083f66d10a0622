//! How far a migration is: a bar on a terminal, else a line now and then.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::Watch;
use crate::store::StoredBucket;

/// Between two lines.
const LINE_EVERY: Duration = Duration::from_secs(5);

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
            // What was counted at the beginning is not what comes, where
            // documents are damaged.
            let percent = 100 * self.parts.min(total) / total.max(1);
            let percent = if total == 0 { 100 } else { percent };
            write!(f, " ({percent} %)")?;
        }
        write!(f, ", {} readings", self.readings)
    }
}

/// Findings to standard output, how far it is to standard error.
#[derive(Debug)]
pub struct Console {
    bar: Option<ProgressBar>,
    last: Option<(Stage, Instant)>,
}

impl Default for Console {
    /// A bar where standard error is a terminal.
    fn default() -> Self {
        Self {
            bar: io::stderr().is_terminal().then(bar),
            last: None,
        }
    }
}

impl Console {
    /// Nothing more comes.
    pub fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Watch for Console {
    fn tell(&mut self, line: &str) {
        let print = || {
            // A reader that went away does not end a migration.
            drop(writeln!(io::stdout(), "{line}"));
        };
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    fn reached(&mut self, progress: &Progress) {
        if let Some(bar) = &self.bar {
            bar.set_length(progress.parts_total.unwrap_or_default());
            bar.set_position(progress.parts);
            bar.set_message(progress.to_string());
            return;
        }
        let now = Instant::now();
        let is_due = self.last.is_none_or(|(stage, last)| {
            stage != progress.stage || now.duration_since(last) >= LINE_EVERY
        });
        if is_due {
            self.last = Some((progress.stage, now));
            eprintln!("{progress}");
        }
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::new(0);
    match ProgressStyle::with_template("{wide_bar} {eta} left, {msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
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
        assert!(ProgressStyle::with_template("{wide_bar} {eta} left, {msg}").is_ok());
        drop(bar());
    }
}
