//! Exit codes are stable, and what went wrong is said on standard error.

use super::{hourglass, run, stderr, stdout};

/// Runs with wrong arguments and returns what is said.
fn refusal(arguments: &[&str]) -> String {
    let output = run(hourglass().args(arguments));
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert_eq!(stdout(&output), "", "{arguments:?}");
    stderr(&output)
}

#[test]
fn help_and_version_end_with_0_on_standard_output() {
    for arguments in [["--help"], ["--version"]] {
        let output = run(hourglass().args(arguments));
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert!(stdout(&output).contains("hourglass"), "{arguments:?}");
        assert_eq!(stderr(&output), "", "{arguments:?}");
    }
}

#[test]
fn help_teaches_a_first_reading_and_where_settings_come_from() {
    let help = stdout(&run(hourglass().arg("--help")));
    for part in [
        "curl http://127.0.0.1:8080/v1/readings",
        "HOURGLASS__SECTION__KEY",
        "HOURGLASS_CONFIG",
        "config/hourglass.toml",
        "Exit codes",
        "verify",
        "--insecure",
    ] {
        assert!(help.contains(part), "{part}");
    }
}

#[test]
fn help_of_verify_names_its_exit_codes() {
    let help = stdout(&run(hourglass().args(["verify", "--help"])));
    for part in ["0  everything is right", "3  something differs", "--repair"] {
        assert!(help.contains(part), "{part}: {help}");
    }
}

#[test]
fn wrong_arguments_end_with_2() {
    assert!(refusal(&["--lisen", "x"]).contains("--listen"));
    assert!(refusal(&["serv"]).contains("serve"));
    refusal(&["verify", "--listen", "127.0.0.1:1"]);
    refusal(&["verify", "--store", "sqlite"]);
}

#[test]
fn wrong_configuration_ends_with_2() {
    assert!(refusal(&["--listen", "nowhere"]).contains("(from flag --listen)"));
    assert!(refusal(&["--store", "sqlite"]).contains("mongodb://"));
    assert!(refusal(&["check-config", "--config", "/no/such.toml"]).contains("/no/such.toml"));
    let output = run(hourglass().env("HOURGLASS__SERVER__LISEN", "x"));
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("did you mean server.listen?"));
}

#[test]
fn an_open_door_ends_with_2_and_names_the_flag_that_allows_it() {
    for command in [
        &["--listen", "0.0.0.0:0"][..],
        &["check-config", "--listen", "0.0.0.0:0"],
    ] {
        let message = refusal(command);
        assert!(message.contains("--insecure"), "{message}");
        assert!(message.contains("does not authenticate"), "{message}");
    }
    let output = run(hourglass().args(["check-config", "--listen", "0.0.0.0:0", "--insecure"]));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}
