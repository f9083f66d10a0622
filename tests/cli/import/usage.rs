//! Wrong usage is told before anything is sent.

use super::{expect_status, hourglass, run, stderr, stdout, write};

#[test]
fn wrong_usage_ends_with_2() {
    for (arguments, part) in [
        (&[][..], "<FILE>"),
        (&["-"], "--format csv, tsv, ndjson or line"),
        (&["a.txt"], "a.txt does not say what it holds"),
        (&["a.gz"], "--format"),
        (&["--format", "xml", "a"], "csv, tsv, ndjson, line"),
        (&["--ts", "t", "a.lp"], "no file is CSV"),
        (&["--column", "temp", "a.csv"], "MEASURE=COLUMN"),
        (&["--delimiter", "x", "a.csv"], "tab"),
        (&["--unit", "d", "a.csv"], "ms"),
        (&["--retry-for", "5", "a.csv"], "30s or 5m"),
        (&["--chunk-bytes", "0", "a.csv"], "at most 8MiB"),
        (&["--chunk-bytes", "9MiB", "a.csv"], "at most 8MiB"),
        (
            &["--to", "https://example.org", "a.csv"],
            "does not speak TLS",
        ),
        (&["--listen", "127.0.0.1:1", "a.csv"], "--listen"),
    ] {
        let output = run(hourglass().arg("import").args(arguments));
        expect_status(&output, 2);
        assert!(
            stderr(&output).contains(part),
            "{arguments:?}: {}",
            stderr(&output)
        );
        assert_eq!(stdout(&output), "");
    }
}

#[test]
fn a_file_that_is_not_there_is_a_failure_before_anything_is_sent() {
    let dir = tempfile::tempdir().unwrap();
    write(&dir.path().join("a.lp"), "m x=1\n");
    // Nobody listens there: the first file would be tried for minutes.
    let arguments = ["import", "--to", "http://127.0.0.1:9", "a.lp", "b.lp"];
    let output = run(hourglass().current_dir(dir.path()).args(arguments));
    expect_status(&output, 1);
    assert!(stderr(&output).contains("b.lp"), "{}", stderr(&output));
}

#[test]
fn help_tells_the_flags_and_the_exit_codes() {
    let help = stdout(&run(hourglass().args(["import", "--help"])));
    for part in [
        "--column <MEASURE=COLUMN>",
        "--retry-for <TIME>",
        "stored once",
        "Exit codes:",
        "4  some items were rejected",
    ] {
        assert!(help.contains(part), "{part}: {help}");
    }
    let help = stdout(&run(hourglass().arg("--help")));
    assert!(
        help.contains("4  import: the server rejected some items"),
        "{help}"
    );
}

#[test]
fn settings_of_a_server_are_not_asked_for() {
    let mut command = hourglass();
    command.env("HOURGLASS__SERVER__LISEN", "x");
    let output = run(command.args(["import", "no/such.csv"]));
    expect_status(&output, 1);
    assert!(
        stderr(&output).contains("no/such.csv"),
        "{}",
        stderr(&output)
    );
}
