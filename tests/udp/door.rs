//! Where datagrams are taken is asked for, and an open door is too.

use std::process::Command;

/// What `check-config` says: its exit code, and output or complaint.
fn check(arguments: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hourglass"));
    command.arg("check-config").args(arguments);
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

#[test]
fn it_is_off_unless_an_address_is_given() {
    for (arguments, listen) in [
        (&[][..], "off"),
        (&["--udp", "127.0.0.1:9"], "127.0.0.1:9"),
        (&["--udp", "127.0.0.1"], "127.0.0.1:8094"),
        (&["--udp", "::1"], "[::1]:8094"),
    ] {
        let (code, said) = check(arguments, &[]);
        assert_eq!(code, Some(0), "{said}");
        let section: toml::Table = said.parse().unwrap();
        assert_eq!(section["udp"]["listen"].as_str(), Some(listen));
    }
}

#[test]
fn an_address_beyond_this_machine_needs_insecure_or_the_names_of_the_senders() {
    let open = ["--udp", "0.0.0.0:8094"];
    let (code, said) = check(&open, &[]);
    assert_eq!(code, Some(2), "{said}");
    for part in ["0.0.0.0:8094", "--insecure", "udp.allow"] {
        assert!(said.contains(part), "{said}");
    }
    let insecure = [&open[..], &["--insecure"]].concat();
    assert_eq!(check(&insecure, &[]).0, Some(0));
    let allow = [("HOURGLASS__UDP__ALLOW", "10.0.0.0/8")];
    assert_eq!(check(&open, &allow).0, Some(0));
}

#[test]
fn what_is_no_address_no_network_or_no_unit_is_refused_by_name() {
    for (key, value) in [
        ("LISTEN", "somewhere"),
        ("ALLOW", "10.0.0.0/33"),
        ("UNIT", "weeks"),
        ("WORKERS", "65"),
        ("RECEIVE_BUFFER", "1GiB"),
        ("QUEUE_BYTES_MAX", "1KiB"),
    ] {
        let variable = format!("HOURGLASS__UDP__{key}");
        let (code, said) = check(&[], &[(&variable, value)]);
        assert_eq!(code, Some(2), "{said}");
        let named = format!("udp.{}", key.to_lowercase());
        assert!(said.contains(&named), "{said}");
    }
}
