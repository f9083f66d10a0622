//! The `hourglass` command.

// They panic where the stream cannot be written.
#![deny(clippy::print_stdout, clippy::print_stderr)]

use std::io::{self, Write};
use std::process::ExitCode;

use hourglass::cli::{self, Action, ExitStatus};
use hourglass::config::{Settings, StorePlace};
use hourglass::import::ImportOptions;
use hourglass::migrate::{Console, Migrate, Note};
use hourglass::service;
use hourglass::store::WriterId;
use hourglass::verify::{self, Verify};

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
        Action::CheckConfig(settings) => match service::check_store(&settings.store) {
            Ok(()) => print(&settings.to_toml()),
            Err(error) => fail(&error, ExitStatus::Failure),
        },
        Action::Import(options) => import(&options),
        Action::Serve(settings) => with_runtime(&settings.clone(), serve(settings)),
        Action::Verify { settings, repair } => {
            with_runtime(&settings.clone(), verify_store(settings, repair))
        }
        Action::Migrate { settings, from, to } => {
            with_runtime(&settings.clone(), migrate(settings, from, to))
        }
    }
}

/// Logs and the async runtime, then the command.
fn with_runtime(settings: &Settings, command: impl Future<Output = ExitStatus>) -> ExitStatus {
    if let Err(error) = cli::start_logging(&settings.log) {
        return fail(&error, ExitStatus::Failure);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    match runtime {
        Ok(runtime) => runtime.block_on(command),
        Err(error) => fail(&error, ExitStatus::Failure),
    }
}

fn import(options: &ImportOptions) -> ExitStatus {
    let (summary, imported) = hourglass::import::run(options);
    let printed = print(&summary.to_string());
    match imported {
        Err(error) => fail(&error, ExitStatus::Failure),
        Ok(()) if summary.rejected > 0 => ExitStatus::Rejected,
        Ok(()) => printed,
    }
}

async fn serve(settings: Settings) -> ExitStatus {
    let stop = match service::stop_signal() {
        Ok(stop) => stop,
        Err(error) => return fail(&error, ExitStatus::Failure),
    };
    match service::serve(settings, stop).await {
        Ok(()) => ExitStatus::Done,
        Err(error) => fail(&error, ExitStatus::Failure),
    }
}

async fn verify_store(settings: Settings, repair: bool) -> ExitStatus {
    let opened = match service::open_to_verify(&settings).await {
        Ok(opened) => opened,
        Err(error) => return fail(&error, ExitStatus::Failure),
    };
    let writer = WriterId::new(rand::random());
    let verify = Verify {
        store: &*opened.store,
        repair,
        writer: &writer,
        recent_readings: settings.buffer.recent_readings,
    };
    let mut console = verify::Console::default();
    let verified = verify.run(&mut console).await;
    console.finish();
    match verified {
        Ok(report) => {
            let printed = print(&format!("{report}\n"));
            if report.is_clean() {
                printed
            } else {
                ExitStatus::Differences
            }
        }
        Err(error) => fail(&error, ExitStatus::Failure),
    }
}

async fn migrate(settings: Settings, from: StorePlace, to: StorePlace) -> ExitStatus {
    let from = match service::open_place(&from, &settings.store, true).await {
        Ok(opened) => opened,
        Err(error) => return fail(&format_args!("--from: {error}"), ExitStatus::Failure),
    };
    // Only now: where there is nothing to copy, nothing is made.
    let to = match service::open_place(&to, &settings.store, false).await {
        Ok(opened) => opened,
        Err(error) => return fail(&format_args!("--to: {error}"), ExitStatus::Failure),
    };
    let note_dir = to.dir.as_ref().or(from.dir.as_ref());
    let note = note_dir.map(|dir| Note::in_dir(dir, from.name.clone(), to.name.clone()));
    let writer = WriterId::new(rand::random());
    let migrate = Migrate {
        from: &*from.store,
        to: &*to.store,
        writer: &writer,
        note: note.as_ref(),
    };
    let mut console = Console::default();
    let migrated = migrate.run(&mut console).await;
    console.finish();
    match migrated {
        Ok(report) => match print(&format!("{report}\n")) {
            ExitStatus::Done if !report.is_clean() => ExitStatus::Differences,
            printed => printed,
        },
        Err(error) => fail(
            &format_args!("{error}; what is copied stays, run the same again to go on"),
            ExitStatus::Failure,
        ),
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
    // Where nobody can read it the exit code tells.
    drop(writeln!(io::stderr(), "hourglass: {error}"));
    status
}
