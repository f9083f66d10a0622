//! How files look: a head, a bearable length, a name that says something.

use super::sources::{Source, all};

/// Beyond this many lines the head says why.
const LINES_MAX: usize = 500;

/// How a head says it.
const REASON: &str = "//! Long because ";

fn rust() -> Vec<Source> {
    all("").into_iter().filter(Source::is_rust).collect()
}

#[test]
fn every_source_has_a_head() {
    for source in rust() {
        assert!(
            source.head().len() > "//! ".len(),
            "{}: no `//!` on the first line says what the file is for",
            source.path
        );
    }
}

#[test]
fn a_long_source_says_why() {
    for source in rust() {
        let lines = source.text.lines().count();
        let may = lines <= LINES_MAX || source.head().contains(REASON);
        assert!(may, "{} has {lines} lines and no reason", source.path);
    }
}

#[test]
fn no_file_or_folder_is_a_bag() {
    for source in all("") {
        let names = source.path.split('/');
        for name in names.map(|name| name.split('.').next().unwrap()) {
            for bag in ["util", "utils", "common", "helper", "helpers", "misc"] {
                assert_ne!(name, bag, "{}", source.path);
            }
        }
    }
}
