//! `hourglass import` against the real service.

mod formats;
mod rejects;
mod restart;
mod server;
mod usage;

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use super::{hourglass, run, stderr, stdout, write};
use crate::support::hourglass::{Hourglass, Start};

/// A process, and a folder for files beside its data.
fn started() -> (tempfile::TempDir, Hourglass) {
    let dir = tempfile::tempdir().unwrap();
    let server = Start::on(&dir.path().join("data")).start();
    (dir, server)
}

/// Runs `import` in `folder` with these arguments.
fn import(server: &Hourglass, folder: &Path, arguments: &[&str]) -> Output {
    let mut command = hourglass();
    command.current_dir(folder).args(["import", "--to"]);
    run(command.arg(server.url("")).args(arguments))
}

/// The status, with all that was said where it is another one.
fn expect_status(output: &Output, status: i32) {
    assert_eq!(
        output.status.code(),
        Some(status),
        "{}{}",
        stdout(output),
        stderr(output)
    );
}

/// Everything of a sensor.
async fn readings(server: &Hourglass, sensor: &str) -> Vec<Value> {
    let path = format!("/v1/sensors/{sensor}/readings?limit=1000000");
    let (status, answer) = server.get(&path).await;
    assert_eq!(status, 200, "{answer}");
    answer["readings"].as_array().unwrap().clone()
}
