//! What the server rejects is told by file and line, however it was sent.

use std::fmt::Write;

use serde_json::Value;

use super::{expect_status, import, readings, started, stdout, write};
use crate::support::hourglass::Start;

/// Rows of which every hundredth has no number, and a text of two lines in every
/// tenth; with the lines of the former.
fn table() -> (String, Vec<u64>) {
    let mut text = "sensor,ts,temp,note\n".to_owned();
    let (mut line, mut bad) = (2, Vec::new());
    for n in 0..2000 {
        let temp = if n % 100 == 57 { "NaN" } else { "1.5" };
        let note = if n % 10 == 3 { "\"two\nlines\"" } else { "" };
        writeln!(text, "S1,{},{temp},{note}", 1_777_000_000 + n).unwrap();
        if n % 100 == 57 {
            bad.push(line);
        }
        line += 1 + u64::from(!note.is_empty());
    }
    (text, bad)
}

fn lines_of(path: &std::path::Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[tokio::test]
async fn rejections_have_the_lines_of_the_file_in_chunks_of_any_size() {
    let (dir, server) = started();
    let (text, bad) = table();
    write(&dir.path().join("t.csv"), &text);
    for chunk in ["200", "1KiB", "7000", "1MiB"] {
        let arguments = [
            "--chunk-bytes",
            chunk,
            "--rejects",
            "rejects.ndjson",
            "t.csv",
        ];
        let output = import(&server, dir.path(), &arguments);
        expect_status(&output, 4);
        let said = stdout(&output);
        assert!(
            said.starts_with("accepted: 1980\nrejected: 20\n  not_finite: 20\n"),
            "{said}"
        );
        let first = format!("  t.csv:{}: not_finite (temp): NaN is not", bad[0]);
        assert!(said.contains(&first), "{said}");
        assert_eq!(said.matches("t.csv:").count(), 10);
        let rejects = lines_of(&dir.path().join("rejects.ndjson"));
        let lines: Vec<u64> = rejects
            .iter()
            .map(|r| r["line"].as_u64().unwrap())
            .collect();
        assert_eq!(lines, bad, "{chunk}");
        assert_eq!(rejects[0]["file"], "t.csv");
        assert_eq!(rejects[0]["code"], "not_finite");
        assert_eq!(rejects[0]["field"], "temp");
    }
    assert_eq!(readings(&server, "S1").await.len(), 1980);
}

#[tokio::test]
async fn rejections_of_lines_have_the_lines_of_their_file() {
    let (dir, server) = started();
    let (mut ndjson, mut lines) = (String::new(), "# a comment\n\n".to_owned());
    for n in 0..300 {
        match n {
            250 => ndjson += "{\n",
            n => writeln!(
                ndjson,
                "{{\"sensorId\":\"N\",\"ts\":{},\"x\":1}}",
                1_777_000_000 + n
            )
            .unwrap(),
        }
        match n {
            250 => lines += "m,sensor=L x=\n",
            n => writeln!(lines, "m,sensor=L s=\"a\nb\",x=1 {}", 1_777_000_000 + n).unwrap(),
        }
    }
    write(&dir.path().join("n.ndjson"), &ndjson);
    write(&dir.path().join("l.lp"), &lines);
    let arguments = ["--chunk-bytes", "500", "n.ndjson", "l.lp"];
    let output = import(&server, dir.path(), &arguments);
    expect_status(&output, 4);
    let said = stdout(&output);
    assert!(said.contains("  n.ndjson:251: invalid_json: "), "{said}");
    assert!(said.contains("  l.lp:503: invalid_line (x): "), "{said}");
    assert!(said.starts_with("accepted: 598\nrejected: 2\n"), "{said}");
}

#[tokio::test]
async fn a_stray_quote_costs_its_line_and_stalls_nothing() {
    let (dir, server) = started();
    let mut text = "sensor,ts,temp,note\n".to_owned();
    for n in 0..5000 {
        let note = if n == 1234 { "\"open" } else { "" };
        writeln!(text, "S1,{},1,{note}", 1_777_000_000 + n).unwrap();
    }
    write(&dir.path().join("t.csv"), &text);
    let output = import(&server, dir.path(), &["--chunk-bytes", "4KiB", "t.csv"]);
    expect_status(&output, 4);
    let said = stdout(&output);
    assert!(said.starts_with("accepted: 4999\nrejected: 1\n"), "{said}");
    assert!(said.contains("t.csv:1236: invalid_row: "), "{said}");
    assert_eq!(readings(&server, "S1").await.len(), 4999);
}

#[tokio::test]
async fn a_chunk_that_is_too_large_for_the_server_is_sent_in_parts() {
    let dir = tempfile::tempdir().unwrap();
    let start = Start::on(&dir.path().join("data")).set("SERVER__BODY_BYTES_MAX", "4KiB");
    let server = start.start();
    let (text, bad) = table();
    let long = format!("S1,1776000000,1,{}\n", "x".repeat(5000));
    let text = text.replacen("S1,1777000500,", &(long + "S1,1777000500,"), 1);
    write(&dir.path().join("t.csv"), &text);
    let output = import(&server, dir.path(), &["--rejects", "r", "t.csv"]);
    expect_status(&output, 4);
    let said = stdout(&output);
    assert!(
        said.starts_with("accepted: 1980\nrejected: 21\n  body_too_large: 1\n"),
        "{said}"
    );
    let rejects = lines_of(&dir.path().join("r"));
    let at = 2 + 500 + 50;
    assert!(
        rejects
            .iter()
            .any(|r| r["line"] == at && r["code"] == "body_too_large"),
        "{rejects:?}"
    );
    let lines = rejects.iter().filter(|r| r["code"] == "not_finite");
    let lines: Vec<u64> = lines.map(|r| r["line"].as_u64().unwrap()).collect();
    let expected: Vec<u64> = bad
        .iter()
        .map(|line| line + u64::from(*line > at))
        .collect();
    assert_eq!(lines, expected);
    assert_eq!(readings(&server, "S1").await.len(), 1980);
}
