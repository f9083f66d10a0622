//! The import table of `ARCHITECTURE.md` is what the sources do.

use std::collections::{BTreeMap, BTreeSet};

use super::sources::{Source, all, paths_of, read};
use super::tables::{names, rows};

/// Module to what it may import, in the order of the table.
fn table() -> Vec<(String, BTreeSet<String>)> {
    let text = read("ARCHITECTURE.md");
    let rows = rows(&text, &["module", "owns", "may import"]);
    let row = |row: &Vec<String>| {
        let module = names(&row[0]).remove(0);
        (module, names(&row[2]).into_iter().collect())
    };
    rows.iter().map(row).collect()
}

/// `src/api/router.rs` is of `api`, `src/main.rs` of `main`.
fn module_of(path: &str) -> String {
    let inside = path.strip_prefix("src/").unwrap();
    let first = inside.split('/').next().unwrap();
    first.trim_end_matches(".rs").to_owned()
}

/// The modules that `code` names after `crate::`, braces included; `root` is
/// `crate` in the library, `hourglass` in the binary.
fn imported(code: &str, root: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for rest in paths_of(code, root) {
        match rest.strip_prefix('{') {
            None => {
                found.insert(first_name(rest));
            }
            Some(group) => {
                let mut depth = 1;
                let mut start = true;
                for (at, c) in group.char_indices() {
                    match c {
                        '{' => depth += 1,
                        '}' => depth -= 1,
                        ',' if depth == 1 => start = true,
                        c if start && !c.is_whitespace() => {
                            found.insert(first_name(&group[at..]));
                            start = false;
                        }
                        _ => {}
                    }
                    if depth == 0 {
                        break;
                    }
                }
            }
        }
    }
    found
}

fn first_name(text: &str) -> String {
    let name = text
        .chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_');
    name.collect()
}

fn sources() -> Vec<Source> {
    all("src").into_iter().filter(Source::is_rust).collect()
}

/// What each module of `src` imports.
fn edges() -> BTreeMap<String, BTreeSet<String>> {
    let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for source in sources() {
        let module = module_of(&source.path);
        let root = if module == "main" {
            "hourglass"
        } else {
            "crate"
        };
        let mut imported = imported(&source.code(), root);
        imported.remove(&module);
        edges.entry(module).or_default().extend(imported);
    }
    edges.remove("lib");
    edges
}

#[test]
fn every_import_is_in_the_table_and_the_table_holds_nothing_else() {
    let table: BTreeMap<_, _> = table().into_iter().collect();
    assert_eq!(
        edges(),
        table,
        "left: what src imports; right: the table of ARCHITECTURE.md"
    );
}

#[test]
fn no_module_imports_one_that_stands_below_it() {
    let mut above = BTreeSet::new();
    for (module, imports) in table() {
        for import in imports {
            assert!(above.contains(&import), "{module} imports {import}");
        }
        above.insert(module);
    }
}

/// So that `crate::` is the only way out of a module, and none is overlooked.
#[test]
fn no_module_reaches_another_through_super() {
    let modules: Vec<_> = table().into_iter().map(|(module, _)| module).collect();
    for source in sources() {
        let depth = source.path.matches('/').count();
        let depth = depth - usize::from(source.path.ends_with("/mod.rs"));
        let way_out = "super::".repeat(depth.max(1));
        for rest in source.code().split(&way_out).skip(1) {
            let name = first_name(rest);
            assert!(!modules.contains(&name), "{}: {way_out}{name}", source.path);
        }
    }
}

#[test]
fn the_bans_hold_whatever_the_table_says() {
    let edges = edges();
    let banned = [
        ("journal", "buffer"),
        ("journal", "store"),
        ("store", "buffer"),
        ("store", "query"),
        ("receive", "decode"),
    ];
    for (module, import) in banned {
        assert!(!edges[module].contains(import), "{module} imports {import}");
    }
    for (module, imports) in &edges {
        let may = module == "service";
        assert!(may || !imports.contains("api"), "{module} imports api");
    }
}

#[test]
fn groups_of_imports_are_read() {
    let code = "use crate::{a::{b, c}, d, e::f};\nuse crate::g::{h, i};";
    let expected = ["a", "d", "e", "g"].map(str::to_owned);
    assert_eq!(imported(code, "crate"), BTreeSet::from(expected));
}
