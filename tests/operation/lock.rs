//! A data directory belongs to one process.

use super::builders::{post, run};
use crate::support::hourglass::Start;

#[tokio::test]
async fn a_second_process_on_a_data_directory_refuses_to_start() {
    let dir = tempfile::tempdir().unwrap();
    let start = Start::on(dir.path());
    let first = start.start();
    let (code, _, stderr) = run(&mut start.command());
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("in use by another hourglass"), "{stderr}");
    assert!(
        stderr.contains("--data-dir"),
        "it says what to do: {stderr}"
    );
    post(&first, "S1", 0..1).await;
    first.kill_9();
    assert!(
        start.start().stop().0.success(),
        "the lock went with the process"
    );
}
