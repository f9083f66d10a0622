//! How far a command is that may take long: a bar on a terminal, else a line now
//! and then, both on standard error. What it finds goes to standard output.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// How a command shows it.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// The bar, as a template of `indicatif`.
    pub bar: &'static str,
    /// Between two lines.
    pub line_every: Duration,
    /// Whether a line comes as soon as there is something to say.
    pub line_at_once: bool,
}

#[cfg(test)]
impl Form {
    /// Whether the bar is one.
    pub(crate) fn is_sound(&self) -> bool {
        ProgressStyle::with_template(self.bar).is_ok()
    }
}

/// Shows it.
#[derive(Debug)]
pub struct Gauge {
    way: Way,
    line_every: Duration,
}

#[derive(Debug)]
enum Way {
    Bar(ProgressBar),
    /// When the last line was; `None`: one is due.
    Lines {
        last: Option<Instant>,
    },
}

impl Gauge {
    /// A bar where standard error is a terminal. Without a `total` that will be
    /// told later, `form` is that of a spinner.
    #[must_use]
    pub fn start(form: Form, total: Option<u64>) -> Self {
        let way = if io::stderr().is_terminal() {
            Way::Bar(bar(form, total))
        } else {
            Way::Lines {
                last: (!form.line_at_once).then(Instant::now),
            }
        };
        Self {
            way,
            line_every: form.line_every,
        }
    }

    /// The next line is about something else, and due at once.
    pub fn begin_stage(&mut self) {
        if let Way::Lines { last } = &mut self.way {
            *last = None;
        }
    }

    /// `position` of `total` is done; `beside` stands beside the bar, `line` is the
    /// line in place of both.
    pub fn reached(
        &mut self,
        position: u64,
        total: Option<u64>,
        beside: impl FnOnce() -> String,
        line: impl FnOnce() -> String,
    ) {
        match &mut self.way {
            Way::Bar(bar) => {
                if let Some(total) = total {
                    bar.set_length(total);
                }
                bar.set_position(position);
                bar.set_message(beside());
            }
            Way::Lines { last } => {
                let now = Instant::now();
                if last.is_none_or(|last| now.duration_since(last) >= self.line_every) {
                    *last = Some(now);
                    note(&line());
                }
            }
        }
    }

    /// A result, to standard output. A reader that went away does not end what is
    /// under way.
    pub fn tell(&self, line: impl Display) {
        let print = || drop(writeln!(io::stdout(), "{line}"));
        match &self.way {
            Way::Bar(bar) => bar.suspend(print),
            Way::Lines { .. } => print(),
        }
    }

    /// Something to be read beside the bar, to standard error.
    pub fn note(&self, text: &str) {
        match &self.way {
            Way::Bar(bar) => bar.println(text),
            Way::Lines { .. } => note(text),
        }
    }

    /// Nothing more comes.
    pub fn finish(self) {
        if let Way::Bar(bar) = self.way {
            bar.finish_and_clear();
        }
    }
}

/// A line on standard error; where that cannot be written, what is under way goes
/// on.
fn note(line: &str) {
    drop(writeln!(io::stderr(), "{line}"));
}

fn bar(form: Form, total: Option<u64>) -> ProgressBar {
    let bar = match total {
        Some(total) => ProgressBar::new(total),
        None => ProgressBar::new_spinner(),
    };
    match ProgressStyle::with_template(form.bar) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// `(33 %)` of what was counted beforehand; what comes may be more.
#[must_use]
pub fn percent(done: u64, total: u64) -> String {
    let percent = match total {
        0 => 100,
        total => 100 * done.min(total) / total,
    };
    format!("({percent} %)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_more_than_was_counted_is_all_of_it() {
        assert_eq!(percent(4, 12), "(33 %)");
        assert_eq!(percent(13, 12), "(100 %)");
        assert_eq!(percent(0, 0), "(100 %)");
    }

    #[test]
    fn lines_are_due_at_once_or_after_their_time() {
        let form = |line_at_once| Form {
            bar: "{msg}",
            line_every: Duration::from_secs(3600),
            line_at_once,
        };
        let lines = |form: Form| Gauge {
            way: Way::Lines {
                last: (!form.line_at_once).then(Instant::now),
            },
            line_every: form.line_every,
        };
        let mut said = 0;
        let mut reach = |gauge: &mut Gauge| {
            let line = || {
                said += 1;
                String::new()
            };
            gauge.reached(1, None, String::new, line);
            said
        };
        let mut gauge = lines(form(true));
        assert_eq!([reach(&mut gauge), reach(&mut gauge)], [1, 1]);
        gauge.begin_stage();
        assert_eq!([reach(&mut gauge), reach(&mut gauge)], [2, 2]);
        assert_eq!(reach(&mut lines(form(false))), 2);
    }
}
