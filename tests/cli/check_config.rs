//! `check-config` prints the effective settings.

use super::{hourglass, run, stderr, stdout, write};

fn printed(output: &std::process::Output) -> toml::Table {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
    stdout(output).parse().unwrap()
}

#[test]
fn prints_what_file_variables_and_flags_give_together() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("h.toml");
    write(
        &file,
        "[server]\nlisten = '127.0.0.1:1'\n[flush]\nage_max = '1s'\nreadings_max = 1\n[data]\ndir = 'f'",
    );
    let output = run(hourglass()
        .arg("check-config")
        .arg("--config")
        .arg(&file)
        .args(["--listen", "127.0.0.1:3"])
        .env("HOURGLASS__SERVER__LISTEN", "127.0.0.1:2")
        .env("HOURGLASS__FLUSH__READINGS_MAX", "2"));
    let settings = printed(&output);
    assert_eq!(settings["server"]["listen"].as_str(), Some("127.0.0.1:3"));
    assert_eq!(settings["flush"]["readings_max"].as_integer(), Some(2));
    assert_eq!(settings["flush"]["age_max"].as_str(), Some("1s"));
    assert_eq!(settings["data"]["dir"].as_str(), Some("f"));
    assert_eq!(settings["query"]["sensors_max"].as_integer(), Some(1000));
}

#[test]
fn the_file_may_be_named_by_a_variable_and_the_flag_wins() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (dir.path().join("one.toml"), dir.path().join("two.toml"));
    write(&one, "[data]\ndir = 'one'");
    write(&two, "[data]\ndir = 'two'");

    let mut command = hourglass();
    command.arg("check-config").env("HOURGLASS_CONFIG", &one);
    let settings = printed(&run(&mut command));
    assert_eq!(settings["data"]["dir"].as_str(), Some("one"));

    let settings = printed(&run(command.arg("--config").arg(&two)));
    assert_eq!(settings["data"]["dir"].as_str(), Some("two"));
}

#[test]
fn a_file_in_the_working_directory_is_not_read_unasked() {
    let dir = tempfile::tempdir().unwrap();
    write(&dir.path().join("hourglass.toml"), "[data]\ndir = 'trap'");
    let output = run(hourglass().arg("check-config").current_dir(dir.path()));
    assert_eq!(printed(&output)["data"]["dir"].as_str(), Some("data"));
}

#[test]
fn flags_count_before_and_after_the_command() {
    let before = run(hourglass().args(["--listen", "[::1]:7", "--data-dir", "d", "check-config"]));
    let after = run(hourglass().args(["check-config", "--listen", "[::1]:7", "--data-dir", "d"]));
    assert_eq!(printed(&before), printed(&after));
    assert_eq!(
        printed(&after)["server"]["listen"].as_str(),
        Some("[::1]:7")
    );
}

#[test]
fn a_password_shows_neither_in_the_settings_nor_in_errors() {
    let uri = "mongodb://u:hid%40den@a:1,b:2/db?authMechanismProperties=AWS_SESSION_TOKEN:hidden";
    let output = run(hourglass().args(["check-config", "--store", uri]));
    assert_eq!(
        printed(&output)["store"]["url"].as_str(),
        Some("mongodb://u:***@a:1,b:2/db?authMechanismProperties=***")
    );
    for arguments in [
        vec!["check-config", uri],
        vec![uri],
        vec!["check-config", "--stor", uri],
        vec!["check-config", "--listen", uri],
        vec!["check-config", "--store", uri, "--listen", "0.0.0.0:1"],
    ] {
        let output = run(hourglass().args(&arguments));
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(!stderr(&output).contains("hid"), "{}", stderr(&output));
    }
}

#[test]
fn a_connection_string_that_serve_would_refuse_is_refused() {
    for uri in [
        "mongodb://h/x?foo=1",
        "mongodb://u:p@h/x?foo=1",
        "mongodb://u:secret@@h/x",
    ] {
        let output = run(hourglass().args(["check-config", "--store", uri]));
        assert_eq!(output.status.code(), Some(1), "{uri}");
        let said = stderr(&output);
        assert!(said.contains("connection string cannot be read"), "{said}");
        assert!(!said.contains("secret"), "{said}");
    }
}
