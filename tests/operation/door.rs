//! An address that other machines reach is not served by accident.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use super::builders::run;

fn serve(data_dir: &Path, flags: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hourglass"));
    let flags = ["serve", "--listen", "0.0.0.0:0"].iter().chain(flags);
    command.args(flags).arg("--data-dir").arg(data_dir);
    command
}

#[test]
fn an_address_beyond_this_machine_needs_insecure() {
    let dir = tempfile::tempdir().unwrap();
    let (code, _, stderr) = run(&mut serve(dir.path(), &[]));
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("0.0.0.0"), "{stderr}");
    assert!(
        stderr.contains("--insecure"),
        "it says what to do: {stderr}"
    );
    let made = std::fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(made, 0, "nothing was begun");

    let mut command = serve(dir.path(), &["--insecure"]);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut said = lines.map(Result::unwrap);
    let listens = said.any(|line| line.contains("listening on http://0.0.0.0:"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(listens);
}
