//! A script that runs while its test goes on, and is listened to line by line.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;

/// How long a script may take for its next line.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running script; killed when dropped.
#[derive(Debug)]
pub(crate) struct Script {
    child: Child,
    lines: Receiver<String>,
    errors: Option<JoinHandle<String>>,
}

impl Script {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let (sender, lines) = channel();
        let output = child.stdout.take().unwrap();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                // The test may be past waiting for lines.
                drop(sender.send(line));
            }
        });
        let mut errors = child.stderr.take().unwrap();
        let errors = std::thread::spawn(move || {
            let mut text = String::new();
            drop(errors.read_to_string(&mut text));
            text
        });
        Self {
            child,
            lines,
            errors: Some(errors),
        }
    }

    /// The next line, which must be `expected`.
    pub(crate) fn expect_line(&mut self, expected: &str) {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => assert_eq!(line, expected),
            Err(_) => panic!("no line `{expected}`: {}", self.fail()),
        }
    }

    /// The next line, which must be this JSON.
    pub(crate) fn expect_json(&mut self, expected: &Value) {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => assert_eq!(&serde_json::from_str::<Value>(&line).unwrap(), expected),
            Err(_) => panic!("no line `{expected}`: {}", self.fail()),
        }
    }

    /// Writes a line to its standard input.
    pub(crate) fn say(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
    }

    /// Waits for its end, which must be one without a fault: the lines that are
    /// left.
    pub(crate) fn end(mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            lines.push(line);
        }
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{lines:#?}\n{}", self.fail());
        lines
    }

    /// What it wrote to standard error.
    fn fail(&mut self) -> String {
        drop(self.child.kill());
        let errors = self.errors.take().map(JoinHandle::join);
        errors.and_then(Result::ok).unwrap_or_default()
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
