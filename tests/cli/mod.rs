//! The real command: what it prints and how it ends.

mod check_config;
mod exit_codes;
mod import;

use std::path::Path;
use std::process::{Command, Output};

/// The command in an environment without settings.
fn hourglass() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hourglass"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("HOURGLASS") {
            command.env_remove(name);
        }
    }
    command
}

fn run(command: &mut Command) -> Output {
    command.output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
}
