//! The commands of MongoDB's own shell in `docs/patterns.md` do what the page says,
//! over the data of these tests: each `> …` is run by `mongosh`, in the order of
//! the page, and what stands below it is what it prints.

use std::path::Path;
use std::process::Command;

use hourglass::store::mongodb::{MongoSettings, MongoStore};

use super::fleet::fill;
use crate::support::mongod::TestDatabase;
use crate::support::node::installed;

/// Where the shell's version is pinned.
const FOLDER: &str = "tests/reads/shell";

/// The language of blocks that hold commands of the shell.
const LANGUAGE: &str = "```mongosh";

/// A command and what the page shows below it.
#[derive(Debug, PartialEq)]
struct Step {
    command: String,
    output: String,
}

fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        if line.starts_with("```") {
            inside = line == LANGUAGE;
        } else if !inside {
        } else if let Some(command) = line.strip_prefix("> ") {
            steps.push(Step {
                command: command.to_owned(),
                output: String::new(),
            });
        } else if let Some(more) = line.strip_prefix("… ") {
            let step = steps.last_mut().unwrap();
            step.command.push('\n');
            step.command.push_str(more);
        } else {
            let step = steps.last_mut().unwrap();
            step.output.push_str(line);
            step.output.push('\n');
        }
    }
    steps
}

#[test]
fn commands_and_what_is_shown_below_them_are_told_apart() {
    let page = "```js\n> no\n```\n```mongosh\n> db.a.find({\n…   x: 1 })\n[]\n> 1\n```\n> quoted\n";
    let step = |command: &str, output: &str| Step {
        command: command.to_owned(),
        output: output.to_owned(),
    };
    let expected = [step("db.a.find({\n  x: 1 })", "[]\n"), step("1", "")];
    assert_eq!(steps(page), expected);
}

/// What `mongosh` prints for one command.
fn run(uri: &str, command: &str) -> String {
    let script = installed(FOLDER).join("node_modules/@mongosh/cli-repl/bin/mongosh.js");
    let output = Command::new("node")
        .arg(script)
        .args(["--quiet", "--norc", uri, "--eval", command])
        // It keeps logs and history at home.
        .env("HOME", installed(FOLDER))
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    // What it complains of is not what the page shows.
    text(&output.stdout) + &text(&output.stderr)
}

/// Without spaces at the ends of lines and empty lines at the end.
fn trimmed(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
    lines.join("\n")
}

#[tokio::test]
async fn the_shell_commands_of_the_page_give_what_it_says() {
    let test = TestDatabase::new().await;
    let store = MongoStore::connect(&test.uri(), MongoSettings::default()).unwrap();
    fill(&store).await;
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/patterns.md");
    let steps = steps(&std::fs::read_to_string(page).unwrap());
    let names = ["find", "updateOne", "createIndex", "explain"];
    for name in names {
        let is_shown = steps
            .iter()
            .any(|s| s.command.contains(&format!(".{name}(")));
        assert!(is_shown, "the page shows no {name}");
    }
    let uri = test.uri();
    let wrong = tokio::task::spawn_blocking(move || {
        let mut wrong = Vec::new();
        for step in steps {
            let said = trimmed(&run(&uri, &step.command));
            if said != trimmed(&step.output) {
                wrong.push(format!("> {}\n{said}", step.command));
            }
        }
        wrong
    });
    let wrong = wrong.await.unwrap();
    assert!(
        wrong.is_empty(),
        "docs/patterns.md shows otherwise:\n{}",
        wrong.join("\n")
    );
}
