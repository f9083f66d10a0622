//! The files of the repository.

use std::path::{Path, PathBuf};

/// A file of text.
pub(super) struct Source {
    /// From the root of the repository, with `/`.
    pub(super) path: String,
    pub(super) text: String,
}

impl Source {
    /// The text without whole-line comments.
    pub(super) fn code(&self) -> String {
        let lines = self.text.lines();
        let code = lines.filter(|line| !line.trim_start().starts_with("//"));
        code.collect::<Vec<_>>().join("\n")
    }

    /// The comment that opens a Rust file.
    pub(super) fn head(&self) -> String {
        let lines = self.text.lines();
        let head = lines.take_while(|line| line.starts_with("//!"));
        head.collect::<Vec<_>>().join("\n")
    }

    pub(super) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }
}

/// What holds no sources of ours.
const SKIPPED: [&str; 5] = [".git", "target", "data", "node_modules", "__pycache__"];

pub(super) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

pub(super) fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every text below `folder` (`""` for all), ordered by path.
pub(super) fn all(folder: &str) -> Vec<Source> {
    let mut found = Vec::new();
    walk(&root().join(folder), &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(!found.is_empty(), "nothing in {folder:?}");
    found
}

fn walk(folder: &Path, found: &mut Vec<Source>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if SKIPPED.contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() {
            walk(&path, found);
        } else if let Ok(text) = std::fs::read_to_string(&path) {
            // What is no text (fixtures) has no rules here.
            let path = path.strip_prefix(root()).unwrap();
            let path = path.to_string_lossy().replace('\\', "/");
            found.push(Source { path, text });
        }
    }
}

/// Every place in `code` where the path `name::` begins as a path of its own,
/// `::name::` included: what follows it.
pub(super) fn paths_of<'a>(code: &'a str, name: &str) -> Vec<&'a str> {
    let pattern = format!("{name}::");
    let is_own = |at: &usize| {
        let before = &code[..*at];
        let before = before.strip_suffix("::").unwrap_or(before);
        !before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':')
    };
    let places = code.match_indices(&pattern).map(|(at, _)| at);
    let own = places.filter(is_own);
    own.map(|at| &code[at + pattern.len()..]).collect()
}

#[test]
fn a_path_is_found_where_it_begins_and_nowhere_else() {
    let code = "use metrics::a; use crate::metrics::b; ::metrics::c; (metrics::d); my_metrics::e";
    let found: Vec<_> = paths_of(code, "metrics").iter().map(|t| &t[..1]).collect();
    assert_eq!(found, ["a", "c", "d"]);
}
