//! How far an import is: a bar on a terminal, else a line now and then.

use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanDuration};

use crate::progress::{Form, Gauge};

/// Written to standard error.
pub(super) struct Progress {
    gauge: Gauge,
    started: Instant,
    /// Bytes of all files as they lie there; `None` where one is a pipe.
    bytes_total: Option<u64>,
}

impl Progress {
    pub(super) fn start(bytes_total: Option<u64>) -> Self {
        Self {
            gauge: Gauge::start(form(bytes_total), bytes_total),
            started: Instant::now(),
            bytes_total,
        }
    }

    /// `bytes` of the files are with the server.
    pub(super) fn reached(&mut self, bytes: u64, accepted: u64, rejected: u64) {
        let counts = || format!("{accepted} accepted, {rejected} rejected");
        let text = || {
            let spent = self.started.elapsed();
            format!("{}, {}", line(bytes, self.bytes_total, spent), counts())
        };
        self.gauge.reached(bytes, self.bytes_total, counts, text);
    }

    /// Something to be read beside the bar.
    pub(super) fn note(&self, text: &str) {
        self.gauge.note(text);
    }

    pub(super) fn finish(self) {
        self.gauge.finish();
    }
}

fn form(bytes_total: Option<u64>) -> Form {
    Form {
        bar: match bytes_total {
            Some(_) => "{wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta} left, {msg}",
            None => "{spinner} {bytes} {bytes_per_sec}, {msg}",
        },
        line_every: Duration::from_secs(10),
        line_at_once: false,
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
        assert!(form(None).is_sound() && form(Some(7)).is_sound());
    }
}
