//! JSON merge patch, RFC 7396 section 2. Pure.

use serde_json::{Map, Value};

/// `target` with `patch` merged in: objects member by member, `null` removes,
/// everything else replaces.
#[must_use]
pub fn merge_patch(target: Value, patch: &Value) -> Value {
    let Value::Object(patch) = patch else {
        return patch.clone();
    };
    let mut merged = match target {
        Value::Object(members) => members,
        _ => Map::new(),
    };
    for (name, value) in patch {
        if value.is_null() {
            merged.remove(name);
        } else {
            let member = merged.remove(name).unwrap_or(Value::Null);
            merged.insert(name.clone(), merge_patch(member, value));
        }
    }
    Value::Object(merged)
}

#[cfg(test)]
mod tests {
    use serde_json::{from_str, json};

    use super::*;

    /// The test cases of RFC 7396, appendix A.
    #[test]
    fn the_cases_of_the_rfc_come_out() {
        for (target, patch, result) in [
            (r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
            (r#"{"a":"b"}"#, r#"{"a":null}"#, r"{}"),
            (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#),
            (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#),
            (
                r#"{"a":{"b":"c"}}"#,
                r#"{"a":{"b":"d","c":null}}"#,
                r#"{"a":{"b":"d"}}"#,
            ),
            (r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
            (r#"["a","b"]"#, r#"["c","d"]"#, r#"["c","d"]"#),
            (r#"{"a":"b"}"#, r#"["c"]"#, r#"["c"]"#),
            (r#"{"a":"foo"}"#, "null", "null"),
            (r#"{"a":"foo"}"#, r#""bar""#, r#""bar""#),
            (r#"{"e":null}"#, r#"{"a":1}"#, r#"{"e":null,"a":1}"#),
            ("[1,2]", r#"{"a":"b","c":null}"#, r#"{"a":"b"}"#),
            ("{}", r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#),
        ] {
            let [target, patch, result]: [Value; 3] =
                [target, patch, result].map(|text| from_str(text).unwrap());
            assert_eq!(merge_patch(target, &patch), result, "{patch}");
        }
    }

    #[test]
    fn nothing_is_changed_by_an_empty_patch() {
        let value = json!({ "a": { "b": [1] } });
        assert_eq!(merge_patch(value.clone(), &json!({})), value);
    }
}
