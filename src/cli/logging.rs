//! Logs: to standard error, for people on a terminal, else one JSON object a
//! line. A line that cannot be written (its reader is gone, the disk of its file is
//! full) is lost, and nothing else with it.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

use crate::config::{LogFormat, LogSettings};

/// Sends the logs of the whole process where `settings` say. Once a process.
///
/// # Errors
/// Logging is set up already.
pub fn start_logging(settings: &LogSettings) -> Result<(), TryInitError> {
    let terminal = io::stderr().is_terminal();
    let builder = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(&settings.filter))
        .with_writer(io::stderr)
        // It would say so on standard error, and panic as that cannot be written.
        .log_internal_errors(false)
        .with_ansi(terminal && std::env::var_os("NO_COLOR").is_none());
    if is_json(settings.format, terminal) {
        builder.json().flatten_event(true).finish().try_init()
    } else {
        builder.finish().try_init()
    }
}

fn is_json(format: LogFormat, terminal: bool) -> bool {
    match format {
        LogFormat::Auto => !terminal,
        LogFormat::Human => false,
        LogFormat::Json => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_is_human_on_a_terminal_only() {
        assert!(is_json(LogFormat::Auto, false));
        assert!(!is_json(LogFormat::Auto, true));
    }

    #[test]
    fn a_stated_form_holds_everywhere() {
        for terminal in [true, false] {
            assert!(is_json(LogFormat::Json, terminal));
            assert!(!is_json(LogFormat::Human, terminal));
        }
    }
}
