//! Links between documents lead somewhere, to a heading where they name one.

use std::path::Path;

use super::read;

const DOCUMENTS: [&str; 8] = [
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "docs/formats.md",
    "docs/influxdb.md",
    "docs/limits.md",
    "docs/operations.md",
    "docs/patterns.md",
];

/// Headings as links name them.
fn anchors(text: &str) -> Vec<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let title = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = title
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.collect::<String>().replace(' ', "-")
    };
    headings.map(anchor).collect()
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for document in DOCUMENTS {
        let text = read(document);
        let links = text.split("](").skip(1);
        for link in links.map(|rest| rest.split(')').next().unwrap()) {
            if link.starts_with("https://") {
                continue;
            }
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => document.to_owned(),
                file => {
                    let folder = Path::new(document).parent().unwrap();
                    folder.join(file).to_string_lossy().into_owned()
                }
            };
            assert!(root.join(&target).exists(), "{document}: {link}");
            if !heading.is_empty() {
                let anchors = anchors(&read(&target));
                let is_there = anchors.iter().any(|anchor| anchor == heading);
                assert!(is_there, "{document}: {link} of {anchors:?}");
            }
        }
    }
}

/// The map and the table of invariants name tests and sources that are there.
#[test]
fn every_test_named_in_the_architecture_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for name in super::quoted(&read("ARCHITECTURE.md")) {
        let is_path = name.starts_with("tests/") || name.ends_with(".rs");
        let there = [root.join(&name), root.join("src").join(&name)];
        assert!(!is_path || there.iter().any(|path| path.exists()), "{name}");
    }
}
