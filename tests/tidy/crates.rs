//! Crates stay where `ARCHITECTURE.md` says: the database behind the store, the
//! web in front of everything, nothing of both in the pure modules.

use super::sources::{Source, all, paths_of, read};
use super::tables::{names, rows};

fn sources() -> Vec<Source> {
    all("src").into_iter().filter(Source::is_rust).collect()
}

/// The names of our dependencies, as paths begin with them.
fn dependencies() -> Vec<String> {
    let manifest: toml::Table = read("Cargo.toml").parse().unwrap();
    let table = manifest["dependencies"].as_table().unwrap();
    table.keys().map(|name| name.replace('-', "_")).collect()
}

fn is_in(path: &str, module: &str) -> bool {
    path.starts_with(&format!("src/{module}/")) || path == format!("src/{module}.rs")
}

#[test]
fn a_crate_with_a_place_is_used_there_only() {
    let architecture = read("ARCHITECTURE.md");
    for row in rows(&architecture, &["crate", "only in"]) {
        let places = names(&row[1]);
        for name in names(&row[0]) {
            let name = name.replace('-', "_");
            assert!(dependencies().contains(&name), "{name} is no dependency");
            let mut used = vec![false; places.len()];
            for source in sources() {
                if paths_of(&source.code(), &name).is_empty() {
                    continue;
                }
                let place = places.iter().position(|place| is_in(&source.path, place));
                let place = place.unwrap_or_else(|| panic!("{name} in {}", source.path));
                used[place] = true;
            }
            assert!(!used.contains(&false), "{name}: {places:?}, used {used:?}");
        }
    }
}

#[test]
fn pure_modules_use_the_crates_that_are_named_and_no_others() {
    let architecture = read("ARCHITECTURE.md");
    let rows = rows(&architecture, &["pure module", "its crates"]);
    let modules: Vec<String> = rows.iter().flat_map(|row| names(&row[0])).collect();
    for module in ["model", "bucket", "decode"] {
        assert!(modules.iter().any(|m| m == module), "{module} is not pure");
    }
    for row in rows {
        let module = names(&row[0]).remove(0);
        let allowed = names(&row[1]);
        for source in sources() {
            if !is_in(&source.path, &module) {
                continue;
            }
            for name in dependencies() {
                let used = !paths_of(&source.code(), &name).is_empty();
                let may = allowed.contains(&name);
                assert!(!used || may, "{name} in {}", source.path);
            }
        }
    }
}

/// Async, time and files are I/O however they are reached.
#[test]
fn pure_modules_do_no_io() {
    for module in ["model", "bucket", "decode"] {
        for source in sources() {
            if !is_in(&source.path, module) || source.path.contains("tests") {
                continue;
            }
            for what in [
                "async fn",
                ".await",
                "std::fs",
                "std::net",
                "SystemTime",
                "Instant::",
            ] {
                let code = source.code();
                assert!(!code.contains(what), "{what} in {}", source.path);
            }
        }
    }
}
