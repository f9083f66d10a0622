//! The `hourglass` command.

use std::io::{self, Write};
use std::process::ExitCode;

use hourglass::cli::{self, Action, ExitStatus};

fn main() -> ExitCode {
    let arguments = std::env::args_os().collect();
    let variables = std::env::vars_os().collect();
    let status = match cli::parse(arguments, variables) {
        Ok(action) => run(action),
        Err(error) => fail(&error, ExitStatus::Usage),
    };
    status.into()
}

fn run(action: Action) -> ExitStatus {
    match action {
        Action::Print(text) => print(&text),
        Action::CheckConfig(settings) => print(&settings.to_toml()),
        Action::Serve(settings) | Action::Verify { settings, .. } => {
            if let Err(error) = cli::start_logging(&settings.log) {
                return fail(&error, ExitStatus::Failure);
            }
            fail(&"this command is not built in yet", ExitStatus::Failure)
        }
    }
}

/// Writes a result; a reader that went away (`| head`) is no failure.
fn print(text: &str) -> ExitStatus {
    match io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitStatus::Done,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitStatus::Done,
        Err(error) => fail(&error, ExitStatus::Failure),
    }
}

fn fail(error: &dyn std::fmt::Display, status: ExitStatus) -> ExitStatus {
    eprintln!("hourglass: {error}");
    status
}
