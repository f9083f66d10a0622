//! The log lines in `docs/operations.md` are said by the code, at the level
//! stated.

use super::{quoted, read};

/// All of `src`, texts over several lines joined.
fn sources() -> String {
    fn collect(folder: &std::path::Path, all: &mut String) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, all);
            } else {
                let text = std::fs::read_to_string(&path).unwrap();
                for line in text.lines() {
                    match line.strip_suffix('\\') {
                        Some(text) => all.push_str(text),
                        None => *all += &format!("{line}\n"),
                    }
                }
            }
        }
    }
    let mut all = String::new();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    collect(&root.join("src"), &mut all);
    all
}

#[test]
fn every_line_of_the_table_is_in_the_code_at_its_level() {
    let guide = read("docs/operations.md");
    let mut lines = guide.lines();
    lines
        .find(|line| *line == "| line | level | means |")
        .expect("the table of log lines");
    let sources = sources();
    let mut seen = 0;
    for row in lines.skip(1).take_while(|line| line.starts_with('|')) {
        let level = row.split('|').nth(2).unwrap().trim();
        for said in quoted(row.split('|').nth(1).unwrap()) {
            let said = said.trim_end_matches('…').trim_end();
            let at = sources.find(said);
            let at = at.unwrap_or_else(|| panic!("nobody says `{said}`"));
            let (_, call) = sources[..at].rsplit_once("tracing::").unwrap();
            let stated = call.split('!').next().unwrap();
            assert_eq!(stated, level, "{said}");
            seen += 1;
        }
    }
    assert!(seen > 10, "{seen} lines");
}
