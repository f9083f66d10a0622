//! What a document shows against what came: equal, but for times of day, and
//! for a line `…`, which stands for any lines.

use hourglass::decode::{TimeText, parse_time};
use serde_json::Value;

/// Where `printed` is not as `shown`.
pub(super) fn fault(shown: &str, printed: &str) -> Option<String> {
    // An object over several lines is easier to read; it came on one.
    if let (Ok(shown), Ok(printed)) = (serde_json::from_str(shown), serde_json::from_str(printed)) {
        return json_fault("$", &shown, &printed);
    }
    let mut printed = printed.lines().peekable();
    let mut skips = false;
    for line in shown.lines() {
        if line == "…" {
            skips = true;
            continue;
        }
        let found = match skips {
            true => printed.find(|printed| is_line(line, printed)).is_some(),
            false => printed.next().is_some_and(|printed| is_line(line, printed)),
        };
        if !found {
            return Some(format!("`{line}` did not come"));
        }
        skips = false;
    }
    match printed.next() {
        Some(line) if !skips => Some(format!("`{line}` came too")),
        _ => None,
    }
}

fn is_line(shown: &str, printed: &str) -> bool {
    match (serde_json::from_str(shown), serde_json::from_str(printed)) {
        (Ok(shown), Ok(printed)) => json_fault("$", &shown, &printed).is_none(),
        _ => shown == printed,
    }
}

fn is_time(text: &str) -> bool {
    parse_time(TimeText::Rfc3339(text), None).is_ok()
}

fn json_fault(at: &str, shown: &Value, came: &Value) -> Option<String> {
    match (shown, came) {
        (Value::Object(shown), Value::Object(came)) => {
            if !shown.keys().eq(came.keys()) {
                return Some(format!("{at} has other fields"));
            }
            let fields = shown.iter().map(|(name, value)| (name, value, &came[name]));
            let mut faults = fields.filter_map(|(n, s, c)| json_fault(&format!("{at}.{n}"), s, c));
            faults.next()
        }
        (Value::Array(shown), Value::Array(came)) => {
            if shown.len() != came.len() {
                return Some(format!("{at} has {} items", came.len()));
            }
            let mut items = shown.iter().zip(came);
            items.find_map(|(s, c)| json_fault(&format!("{at}[]"), s, c))
        }
        (Value::String(shown), Value::String(came)) if is_time(shown) && is_time(came) => None,
        (shown, came) if shown == came => None,
        (_, came) => Some(format!("{at} is {came}")),
    }
}

#[test]
fn what_differs_is_found_and_times_do_not_differ() {
    let shown = r#"{"a":[{"t":"2025-05-01T10:00:00Z","n":1}]}"#;
    for (printed, is_same) in [
        (r#"{"a":[{"t":"2026-01-02T03:04:05.6Z","n":1}]}"#, true),
        (r#"{"a":[{"t":"yesterday","n":1}]}"#, false),
        (r#"{"a":[{"t":"2025-05-01T10:00:00Z","n":2}]}"#, false),
        (r#"{"a":[]}"#, false),
        (r#"{"a":[{"t":"2025-05-01T10:00:00Z"}]}"#, false),
    ] {
        assert_eq!(fault(shown, printed).is_none(), is_same, "{printed}");
    }
    assert_eq!(fault("a\n…\nc\n", "a\nb\nb\nc\n"), None);
    assert_eq!(fault("a\n…\n", "a\nb\n"), None);
    assert!(fault("a\n", "a\nb\n").is_some());
    assert!(fault("a\nb\n", "a\n").is_some());
}
