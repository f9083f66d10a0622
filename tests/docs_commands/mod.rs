//! Every command in `README.md` and `docs/*.md` does what stands there: it is
//! run as it is, in the order of its document, against a process of its own, and
//! what is shown below it is what comes.
//!
//! In a `console` block a line `$ …` is a command and what follows is its
//! output; an `sh` block is commands alone.

mod blocks;
mod shown;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use blocks::{Step, steps};

use crate::support::eventually::eventually;
use crate::support::hourglass::{Hourglass, Start};

/// The address in the documents: the default one.
const ADDRESS: &str = "127.0.0.1:8080";

/// Where datagrams go in the documents: the default port, as `bash` writes it.
const UDP: &str = "/dev/udp/127.0.0.1/8094";

/// Commands that are not run here, and why.
const NOT_RUN: [(&str, &str); 4] = [
    ("cargo test", "it would run this test again"),
    (
        "cargo run --profile simulation",
        "builds for minutes; .ci/run runs it",
    ),
    (
        "HOURGLASS_TEST_PRIMARY_KILLS",
        "a long form of tests that run here in their short one",
    ),
    (
        "docker compose",
        "needs Docker; .ci/check_compose.py checks the file",
    ),
];

/// How a server is started: the same flags are tried by `check-config`, which
/// refuses what `serve` refuses and ends.
const SERVES: [&str; 2] = ["cargo run --release --", "hourglass serve"];

/// The settings of `HOURGLASS__SECTION__KEY=value … hourglass serve`: the service
/// of the document goes on with them.
fn restarts_with(command: &str) -> Option<Vec<(&str, &str)>> {
    let variables = command.strip_suffix(" hourglass serve")?.split(' ');
    variables
        .map(|word| word.strip_prefix("HOURGLASS__")?.split_once('='))
        .collect()
}

/// A server started with no flags.
const SERVES_PLAINLY: &str = "cargo run --release";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn documents() -> Vec<PathBuf> {
    let mut found = vec![root().join("README.md")];
    for entry in std::fs::read_dir(root().join("docs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// What is run for `command`; `None` where it is on the list.
fn runnable(command: &str) -> Option<String> {
    if NOT_RUN.iter().any(|(start, _)| command.starts_with(start)) {
        return None;
    }
    let start = SERVES.iter().find(|start| command.starts_with(*start));
    Some(match start {
        Some(start) => command.replacen(start, "hourglass check-config", 1),
        None if command == SERVES_PLAINLY => "hourglass check-config".to_owned(),
        None => command.to_owned(),
    })
}

/// Runs `command` in `folder` with `hourglass` on the PATH.
fn run(command: &str, folder: &Path, hourglass: &Hourglass) -> Output {
    let binary = Path::new(env!("CARGO_BIN_EXE_hourglass")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let mut shell = Command::new("sh");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("HOURGLASS") {
            shell.env_remove(name);
        }
    }
    let udp = format!("/dev/udp/127.0.0.1/{}", hourglass.udp().port());
    let command = command.replace(ADDRESS, hourglass.address());
    shell
        .args(["-eu", "-c", &command.replace(UDP, &udp)])
        .env("PATH", format!("{}:{path}", binary.display()))
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Waits until all of `sent` datagrams are in every query: nobody answers them.
async fn until_taken(hourglass: &Hourglass, sent: u64) {
    let decoded = "hourglass_udp_datagrams_decoded_total";
    let is_taken = async || (hourglass.metric(decoded).await as u64 == sent).then_some(());
    eventually("datagrams are taken", is_taken).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_in_the_documents_runs_and_shows_what_is_shown() {
    let mut commands = 0;
    for document in documents() {
        let name = document.display();
        let text = std::fs::read_to_string(&document).unwrap();
        let (data, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        // Files that commands name lie where they lie in the repository.
        std::fs::create_dir(folder.path().join("tests")).unwrap();
        for named in ["config", "tests/data"] {
            std::os::unix::fs::symlink(root().join(named), folder.path().join(named)).unwrap();
        }
        // The data directory of a service that was stopped.
        let stopped = Start::on(&folder.path().join("data")).start();
        assert!(stopped.stop().0.success());
        let mut hourglass = Start::on(data.path()).udp("127.0.0.1:0").start();
        let mut datagrams = 0;
        for Step {
            line,
            command,
            output,
        } in steps(&text)
        {
            if let Some(settings) = restarts_with(&command) {
                assert!(hourglass.stop().0.success());
                let start = settings.iter().fold(
                    Start::on(data.path()).udp("127.0.0.1:0"),
                    |start, (key, value)| start.set(key, value),
                );
                hourglass = start.start();
                datagrams = 0;
                commands += 1;
                continue;
            }
            let Some(command) = runnable(&command) else {
                continue;
            };
            let ran = run(&command, folder.path(), &hourglass);
            let printed = String::from_utf8_lossy(&ran.stdout).into_owned();
            let errors = String::from_utf8_lossy(&ran.stderr).into_owned();
            let what = format!("{name}:{line}: {command}\n{printed}{errors}");
            assert!(ran.status.success(), "{what}");
            if let Some(output) = output {
                let fault = shown::fault(&output, &printed);
                assert_eq!(fault, None, "{what}");
            }
            if command.contains(UDP) {
                datagrams += 1;
                until_taken(&hourglass, datagrams).await;
            }
            commands += 1;
        }
    }
    assert!(commands > 15, "only {commands} commands were found");
}

#[test]
fn every_command_that_is_not_run_stands_in_a_document() {
    let texts = documents();
    let texts = texts
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap());
    let commands: Vec<_> = texts
        .flat_map(|text| steps(&text))
        .map(|step| step.command)
        .collect();
    for (start, reason) in NOT_RUN {
        let is_used = commands.iter().any(|command| command.starts_with(start));
        assert!(is_used, "{start} ({reason}) stands nowhere");
    }
}
