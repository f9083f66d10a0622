//! Fenced blocks of Markdown, as commands with what they print.

/// A command of a document.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// Where it stands, from 1.
    pub(super) line: usize,
    pub(super) command: String,
    /// What the document shows below it.
    pub(super) output: Option<String>,
}

/// Languages of blocks that hold no commands.
const OTHERS: [&str; 9] = [
    "json", "js", "python", "toml", "text", "hex", "rust", "promql", "mongosh",
];

/// The commands of `text` in order.
pub(super) fn steps(text: &str) -> Vec<Step> {
    let mut found: Vec<Step> = Vec::new();
    let mut language: Option<&str> = None;
    let mut continues = false;
    for (at, line) in (1..).zip(text.lines()) {
        if let Some(fence) = line.strip_prefix("```") {
            language = match language {
                Some(_) => None,
                None => Some(fence.split(' ').next().unwrap()),
            };
            let known = language
                .is_none_or(|name| ["sh", "console"].contains(&name) || OTHERS.contains(&name));
            assert!(
                known,
                "line {at}: a block of {language:?} may hide a command"
            );
            continues = false;
            continue;
        }
        let start = match language {
            Some("console") => line.strip_prefix("$ "),
            Some("sh") if line.is_empty() || line.starts_with('#') => continue,
            Some("sh") => Some(line),
            _ => continue,
        };
        match (start, found.last_mut()) {
            _ if continues => {
                let last = found.last_mut().unwrap();
                last.command.push('\n');
                last.command.push_str(line);
            }
            (Some(command), _) => found.push(Step {
                line: at,
                command: command.to_owned(),
                output: None,
            }),
            (None, Some(last)) => {
                let output = last.output.get_or_insert_default();
                output.push_str(line);
                output.push('\n');
            }
            (None, None) => panic!("line {at}: output of no command"),
        }
        let command = &found.last().unwrap().command;
        let is_command = start.is_some() || continues;
        let is_open = command.matches('\'').count() % 2 == 1;
        continues = is_command && (is_open || command.ends_with('\\'));
    }
    found
}

#[test]
fn commands_and_their_output_are_told_apart() {
    let text = "\
```sh
# a remark
one \\
  two

three
```
```json
{}
```
```console
$ four
shown
more
$ five '5
6'
```";
    let step = |line, command: &str, output: Option<&str>| Step {
        line,
        command: command.to_owned(),
        output: output.map(str::to_owned),
    };
    let expected = [
        step(3, "one \\\n  two", None),
        step(6, "three", None),
        step(12, "four", Some("shown\nmore\n")),
        step(15, "five '5\n6'", None),
    ];
    assert_eq!(steps(text), expected);
}
