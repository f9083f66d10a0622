//! Words that no file holds: what is left to do, and where it was made.

use super::sources::all;

/// Written in two pieces, so that this file does not hold them.
const WORDS: [&str; 9] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("to", "do!("),
    concat!("unimple", "mented!("),
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/Use", "rs/"),
];

/// Places that only tests may name.
const TEMPORARY: &str = concat!("/t", "mp");

/// What others wrote, or a tool.
fn is_foreign(path: &str) -> bool {
    path == "Cargo.lock"
        || path.ends_with("/package-lock.json")
        || path.starts_with("tests/fixtures/")
}

#[test]
fn nothing_is_left_to_do_and_no_machine_is_named() {
    for source in all("") {
        if is_foreign(&source.path) {
            continue;
        }
        for word in WORDS {
            assert!(!source.text.contains(word), "{word} in {}", source.path);
        }
    }
}

#[test]
fn temporary_folders_are_named_by_tests_only() {
    for source in all("") {
        let may = source.path.starts_with("tests/") || source.path.starts_with("loadgen/tests/");
        if may || is_foreign(&source.path) {
            continue;
        }
        let holds = source.text.contains(TEMPORARY);
        assert!(!holds, "{TEMPORARY} in {}", source.path);
    }
}
