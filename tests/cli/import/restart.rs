//! The server goes away in the middle, and comes back: nothing is lost, and
//! nothing is stored twice, lines without a time included.

use std::io::Write;
use std::process::Stdio;

use super::{expect_status, hourglass, import, readings, started, stdout};
use crate::support::eventually::eventually;
use crate::support::hourglass::{Hourglass, Start};

const LINES: usize = 6000;

/// Lines in turn of a sensor that sends its time and of one that does not.
fn lines(from: usize, to: usize) -> Vec<u8> {
    let mut text = Vec::new();
    for n in from..to {
        match n % 2 {
            0 => writeln!(text, "m,sensor=timed x={n} {}", 1_777_000_000 + n).unwrap(),
            _ => writeln!(text, "m,sensor=untimed x={n}").unwrap(),
        }
    }
    text
}

async fn until_accepted(server: &Hourglass, items: usize) {
    eventually("the import goes on", async || {
        let accepted = server.metric("hourglass_items_accepted_total").await;
        (accepted >= items as f64).then_some(())
    })
    .await;
}

#[tokio::test]
async fn an_import_goes_on_after_the_server_was_killed_and_its_totals_are_exact() {
    let dir = tempfile::tempdir().unwrap();
    let start = Start::on(dir.path());
    let mut server = start.start();
    let address = server.address().to_owned();
    let mut child = hourglass()
        .args(["import", "--to", &server.url(""), "--format", "line"])
        .args(["--chunk-bytes", "1KiB", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let parts = 4;
    for part in 0..parts {
        let (from, to) = (LINES * part / parts, LINES * (part + 1) / parts);
        let text = lines(from, to);
        // In the middle of what is written, so that a request may be under way.
        let (before, after) = text.split_at(text.len() / 2);
        stdin.write_all(before).unwrap();
        until_accepted(&server, 100).await;
        // The pipe takes less than this; the server is killed while it drains.
        let writer = std::thread::spawn({
            let after = after.to_vec();
            move || {
                stdin.write_all(&after).unwrap();
                stdin
            }
        });
        server.kill_9();
        server = start.clone().listen(&address).start();
        stdin = writer.join().unwrap();
    }
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    expect_status(&output, 0);
    assert_eq!(stdout(&output), format!("accepted: {LINES}\nrejected: 0\n"));
    for sensor in ["timed", "untimed"] {
        let mut values: Vec<u64> = readings(&server, sensor)
            .await
            .iter()
            .map(|reading| reading["measures"]["x"].as_f64().unwrap() as u64)
            .collect();
        values.sort_unstable();
        let first = u64::from(sensor == "untimed");
        let expected: Vec<u64> = (first..LINES as u64).step_by(2).collect();
        assert_eq!(values, expected, "{sensor}");
    }
}

/// The server remembers keys for a day; whoever restored its store must be able to
/// have everything stored all the same.
#[tokio::test]
async fn what_the_server_remembers_is_stored_again_only_when_that_is_asked_for() {
    let (dir, server) = started();
    std::fs::write(dir.path().join("a.lp"), "m,sensor=untimed x=1\n").unwrap();
    for (arguments, stored) in [
        (&["a.lp"][..], 1),
        (&["a.lp"], 1),
        (&["--again", "a.lp"], 2),
        (&["--again", "a.lp"], 3),
    ] {
        let output = import(&server, dir.path(), arguments);
        expect_status(&output, 0);
        assert_eq!(stdout(&output), "accepted: 1\nrejected: 0\n");
        assert_eq!(readings(&server, "untimed").await.len(), stored);
    }
}
