//! Enough of JSON Schema for `docs/openapi.json`. A keyword it does not know is
//! an error, so that nothing passes unchecked.

use serde_json::Value;

/// Keywords that describe and do not bind, or that these tests leave to people.
const ANNOTATIONS: [&str; 4] = ["description", "default", "format", "pattern"];

/// What of `value` is not as `schema` says; `root` resolves references.
pub(super) fn faults(root: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(root, schema, value, "$", &mut found);
    found
}

pub(super) fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    match schema.get("$ref").and_then(Value::as_str) {
        None => schema,
        Some(reference) => {
            let pointer = reference.strip_prefix('#').unwrap();
            let target = root.pointer(pointer);
            target.unwrap_or_else(|| panic!("{reference} leads nowhere"))
        }
    }
}

fn check(root: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let schema = resolve(root, schema).as_object().unwrap();
    let empty = serde_json::Map::new();
    let fields = value.as_object().unwrap_or(&empty);
    let items = value.as_array().map_or(&[][..], Vec::as_slice);
    let mut fault = |what: String| found.push(format!("{at}: {what}, not {value}"));
    let number = |limit: &Value| limit.as_f64().unwrap();
    for (keyword, rule) in schema {
        match keyword.as_str() {
            "type" => {
                let types = rule
                    .as_array()
                    .map_or(std::slice::from_ref(rule), Vec::as_slice);
                if !types
                    .iter()
                    .any(|name| is_of(value, name.as_str().unwrap()))
                {
                    fault(format!("is {rule}"));
                }
            }
            "enum" if !rule.as_array().unwrap().contains(value) => fault(format!("is of {rule}")),
            "const" if rule != value => fault(format!("is {rule}")),
            "minimum" if value.as_f64().is_some_and(|v| v < number(rule)) => {
                fault(format!("is from {rule} on"));
            }
            "maxItems" if items.len() as f64 > number(rule) => fault(format!("has {rule} items")),
            "minItems" if value.is_array() && (items.len() as f64) < number(rule) => {
                fault(format!("has {rule} items"));
            }
            "maximum" if value.as_f64().is_some_and(|v| v > number(rule)) => {
                fault(format!("is up to {rule}"));
            }
            "maxLength"
                if value
                    .as_str()
                    .is_some_and(|v| v.len() as f64 > number(rule)) =>
            {
                fault(format!("has {rule} bytes"));
            }
            "maxProperties" if fields.len() as f64 > number(rule) => {
                fault(format!("has {rule} members"));
            }
            "required" => {
                for name in rule.as_array().unwrap() {
                    let has = fields.contains_key(name.as_str().unwrap());
                    if value.is_object() && !has {
                        fault(format!("has {name}"));
                    }
                }
            }
            "oneOf" => {
                let fitting = rule.as_array().unwrap().iter();
                let fitting = fitting.filter(|one| faults(root, one, value).is_empty());
                if fitting.count() != 1 {
                    fault("fits one of several".to_owned());
                }
            }
            "enum" | "const" | "minimum" | "maximum" | "maxItems" | "minItems" => {}
            "maxLength" | "maxProperties" => {}
            "allOf" | "properties" | "additionalProperties" | "items" | "propertyNames" => {}
            other => assert!(ANNOTATIONS.contains(&other), "{at}: keyword {other}"),
        }
    }
    for part in schema
        .get("allOf")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        check(root, part, value, at, found);
    }
    if let Some(rule) = schema.get("items") {
        for (place, item) in items.iter().enumerate() {
            check(root, rule, item, &format!("{at}[{place}]"), found);
        }
    }
    for (name, field) in fields {
        let at = format!("{at}.{name}");
        let property = schema.get("properties").and_then(|all| all.get(name));
        match (property, schema.get("additionalProperties")) {
            (Some(rule), _) => check(root, rule, field, &at, found),
            (None, Some(Value::Bool(false))) => found.push(format!("{at} is not described")),
            (None, Some(rule)) => check(root, rule, field, &at, found),
            (None, None) => {}
        }
        if let Some(rule) = schema.get("propertyNames") {
            check(root, rule, &Value::from(name.as_str()), &at, found);
        }
    }
}

fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("type {other}"),
    }
}

#[test]
fn faults_are_found_where_they_are() {
    let root = serde_json::json!({"s": {"type": "object", "required": ["a"],
        "properties": {"a": {"type": "integer", "minimum": 1}}, "additionalProperties": false}});
    let schema = serde_json::json!({"$ref": "#/s"});
    let ok = serde_json::json!({"a": 1});
    assert_eq!(faults(&root, &schema, &ok), Vec::<String>::new());
    for bad in [
        serde_json::json!({}),
        serde_json::json!({"a": 0}),
        serde_json::json!({"a": "1"}),
        serde_json::json!({"a": 1, "b": 1}),
        serde_json::json!(7),
    ] {
        assert_eq!(faults(&root, &schema, &bad).len(), 1, "{bad}");
    }
}
