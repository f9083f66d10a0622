//! The codes that programs match are described, all of them.

use std::collections::BTreeSet;

use hourglass::model::RejectCode;
use serde_json::Value;

use super::{document, sources};

fn texts(list: &Value) -> BTreeSet<String> {
    let list = list.as_array().unwrap().iter();
    list.map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// The first text in each call of `call` in `source` that follows `before`.
fn after<'a>(source: &'a str, call: &str, before: &str) -> Vec<&'a str> {
    let calls = source.split(call).skip(1);
    calls
        .filter_map(|rest| {
            let rest = rest.trim_start();
            let rest = rest.strip_prefix(before)?;
            let rest = rest.trim_start_matches(|c: char| c.is_ascii_uppercase() || c == '_');
            let rest = rest.trim_start_matches(|c: char| c == ',' || c.is_whitespace());
            rest.strip_prefix('"')?.split('"').next()
        })
        .collect()
}

/// The second argument of each call of `call` in `source`, where it is a text.
fn second<'a>(source: &'a str, call: &str) -> Vec<&'a str> {
    let calls = source.split(call).skip(1);
    let texts = calls.filter_map(|rest| {
        let (_, second) = rest.split_once(',')?;
        second.trim_start().strip_prefix('"')?.split('"').next()
    });
    texts.collect()
}

/// Every problem code in the sources of the interface.
fn problem_codes() -> BTreeSet<String> {
    let mut codes = BTreeSet::new();
    for (path, text) in sources() {
        let mut found = second(&text, "Problem::new(");
        found.extend(second(&text, "Self::new("));
        found.extend(after(&text, "unavailable(", ""));
        if path.ends_with("problem.rs") {
            found.extend(after(&text, "=>", ""));
            found.extend(after(&text, "=> (", "StatusCode::"));
            found.extend(after(&text, "=> {", "(StatusCode::"));
        }
        codes.extend(found.into_iter().map(str::to_owned));
    }
    codes
}

#[test]
fn every_problem_code_is_described_and_no_other() {
    let document = document();
    let described = texts(&document["components"]["schemas"]["ProblemCode"]["enum"]);
    assert_eq!(described, problem_codes());
}

#[test]
fn every_rejection_code_is_described_and_no_other() {
    let document = document();
    let described = texts(&document["components"]["schemas"]["RejectCode"]["enum"]);
    let in_code: BTreeSet<_> = RejectCode::ALL.map(|code| code.as_str().to_owned()).into();
    assert_eq!(described, in_code);
}

/// All but those of no operation: a path or a method that is not there.
#[test]
fn every_problem_code_stands_at_an_operation() {
    fn collect(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(fields) => {
                if let Some(code) = fields.get("code").and_then(|code| code.get("enum")) {
                    found.extend(texts(code));
                }
                fields.values().for_each(|value| collect(value, found));
            }
            Value::Array(values) => values.iter().for_each(|value| collect(value, found)),
            _ => {}
        }
    }
    let mut found = BTreeSet::from(["not_found", "method_not_allowed"].map(str::to_owned));
    collect(&document()["paths"], &mut found);
    assert_eq!(found, problem_codes());
}
