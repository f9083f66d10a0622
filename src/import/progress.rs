//! How far an import is: a bar on a terminal, else a line now and then.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanDuration, ProgressBar, ProgressStyle};

/// Between two lines.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Written to standard error.
pub(super) struct Progress {
    way: Way,
    started: Instant,
    /// Bytes of all files as they lie there; `None` where one is a pipe.
    bytes_total: Option<u64>,
}

enum Way {
    Bar(ProgressBar),
    Lines { last: Instant },
}

impl Progress {
    pub(super) fn start(bytes_total: Option<u64>) -> Self {
        let now = Instant::now();
        let way = if io::stderr().is_terminal() {
            Way::Bar(bar(bytes_total))
        } else {
            Way::Lines { last: now }
        };
        Self {
            way,
            started: now,
            bytes_total,
        }
    }

    /// `bytes` of the files are with the server.
    pub(super) fn reached(&mut self, bytes: u64, accepted: u64, rejected: u64) {
        let counts = format!("{accepted} accepted, {rejected} rejected");
        match &mut self.way {
            Way::Bar(bar) => {
                bar.set_position(bytes);
                bar.set_message(counts);
            }
            Way::Lines { last } => {
                let now = Instant::now();
                if now.duration_since(*last) < LINE_EVERY {
                    return;
                }
                *last = now;
                let spent = now.duration_since(self.started);
                eprintln!("{}, {counts}", line(bytes, self.bytes_total, spent));
            }
        }
    }

    /// Something to be read beside the bar.
    pub(super) fn note(&self, text: &str) {
        match &self.way {
            Way::Bar(bar) => bar.println(text),
            Way::Lines { .. } => eprintln!("{text}"),
        }
    }

    pub(super) fn finish(self) {
        if let Way::Bar(bar) = self.way {
            bar.finish_and_clear();
        }
    }
}

fn bar(bytes_total: Option<u64>) -> ProgressBar {
    let (bar, form) = match bytes_total {
        Some(bytes) => (
            ProgressBar::new(bytes),
            "{wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta} left, {msg}",
        ),
        None => (
            ProgressBar::new_spinner(),
            "{spinner} {bytes} {bytes_per_sec}, {msg}",
        ),
    };
    match ProgressStyle::with_template(form) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// `12.00 MiB of 80.00 MiB, 4.00 MiB/s, 17 seconds left`
fn line(bytes: u64, bytes_total: Option<u64>, spent: Duration) -> String {
    let per_second = (bytes as f64 / spent.as_secs_f64().max(1e-3)) as u64;
    let rate = HumanBytes(per_second);
    match bytes_total {
        None => format!("{}, {rate}/s", HumanBytes(bytes)),
        Some(total) => {
            let left = Duration::from_secs(total.saturating_sub(bytes) / per_second.max(1));
            format!(
                "{} of {}, {rate}/s, {} left",
                HumanBytes(bytes),
                HumanBytes(total),
                HumanDuration(left)
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_how_fast_and_how_long_yet() {
        let spent = Duration::from_secs(3);
        assert_eq!(
            line(12 << 20, Some(80 << 20), spent),
            "12.00 MiB of 80.00 MiB, 4.00 MiB/s, 17 seconds left"
        );
        assert_eq!(line(12 << 20, None, spent), "12.00 MiB, 4.00 MiB/s");
        assert!(line(0, Some(0), Duration::ZERO).contains("left"));
    }

    #[test]
    fn the_forms_of_the_bar_are_sound() {
        for total in [None, Some(7)] {
            drop(bar(total));
        }
    }
}
