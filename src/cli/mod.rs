//! The command line: arguments in, an [`Action`] out.
//!
//! Results go to standard output, logs and errors to standard error. Exit codes
//! are stable, see [`ExitStatus`].

mod args;
mod import;
mod logging;
mod migrate;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use crate::config::{ConfigError, Settings, Sources, StorePlace, mask};
use crate::import::ImportOptions;

pub use args::CONFIG_VARIABLE;
pub use logging::start_logging;

/// What the process is asked to do.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// Run the service.
    Serve(Settings),
    /// Print the effective settings.
    CheckConfig(Settings),
    /// Hold what is stored to what it must be.
    Verify {
        /// Where the store is.
        settings: Settings,
        /// Whether to repair what follows from the readings.
        repair: bool,
    },
    /// Copy one store into another.
    Migrate {
        /// How stores are opened.
        settings: Settings,
        /// What is copied.
        from: StorePlace,
        /// Where it goes.
        to: StorePlace,
    },
    /// Send files to a running server.
    Import(ImportOptions),
    /// Print a text that was asked for (`--help`, `--version`).
    Print(String),
}

/// Why there is no action. The process ends with [`ExitStatus::Usage`].
#[derive(Debug, thiserror::Error)]
pub enum UsageError {
    /// The arguments do not do; the text tells which would.
    #[error("{0}")]
    Arguments(String),
    /// The settings do not do.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

/// How the process ends. Scripts rely on the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    /// 0: done.
    Done,
    /// 1: a failure at run time.
    Failure,
    /// 2: wrong usage or configuration.
    Usage,
    /// 3: `verify` or `migrate` found what is not right, and left it so.
    Differences,
    /// 4: the server rejected some of what `import` sent.
    Rejected,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(match status {
            ExitStatus::Done => 0,
            ExitStatus::Failure => 1,
            ExitStatus::Usage => 2,
            ExitStatus::Differences => 3,
            ExitStatus::Rejected => 4,
        })
    }
}

/// Reads arguments (the first is the program's name) and environment variables.
///
/// # Errors
/// [`UsageError`]: an argument, a variable or the configuration file does not do.
pub fn parse(
    arguments: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
) -> Result<Action, UsageError> {
    let args = match args::Args::try_parse_from(&arguments) {
        Ok(args) => args,
        Err(error) if !error.use_stderr() => return Ok(Action::Print(error.to_string())),
        Err(error) => return Err(UsageError::Arguments(masked(&error, &arguments))),
    };
    let (command, common, flags) = args.resolve();
    let from_environment = || {
        let found = variables.iter().find(|(name, _)| name == CONFIG_VARIABLE);
        found.map(|(_, path)| PathBuf::from(path))
    };
    let load = || {
        Settings::load(&Sources {
            file: common.clone().or_else(from_environment),
            variables: variables.clone(),
            flags: flags.clone(),
        })
    };
    Ok(match command {
        args::Command::Serve(_) => {
            let settings = load()?;
            settings.check_door()?;
            Action::Serve(settings)
        }
        args::Command::CheckConfig(_) => {
            let settings = load()?;
            settings.check_door()?;
            Action::CheckConfig(settings)
        }
        args::Command::Verify { repair } => Action::Verify {
            settings: load()?,
            repair,
        },
        args::Command::Migrate(flags) => {
            let (from, to) = migrate::places(&flags, &variables).map_err(UsageError::Arguments)?;
            Action::Migrate {
                settings: load()?,
                from,
                to,
            }
        }
        // It asks a server, whose settings are not these.
        args::Command::Import(flags) => {
            Action::Import(flags.resolve().map_err(UsageError::Arguments)?)
        }
    })
}

/// The parser's message, which repeats arguments, without their secrets.
fn masked(error: &clap::Error, arguments: &[OsString]) -> String {
    let mut text = error.to_string();
    for argument in arguments.iter().filter_map(|argument| argument.to_str()) {
        if argument.contains("://") {
            text = text.replace(argument, &mask(argument));
        }
    }
    let text = text.trim_end();
    text.strip_prefix("error: ").unwrap_or(text).to_owned()
}
