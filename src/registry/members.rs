//! Members of a form's JSON object, checked. Pure.

use serde_json::{Map, Value};

use super::error::FieldError;
use crate::config::nearest;

/// Longest short text, in bytes of UTF-8.
pub(super) const TEXT_BYTES_MAX: usize = 256;

/// An object whose members are known, or an error that names one that is not.
pub(super) fn object<'v>(
    value: &'v Value,
    field: &str,
    known: &[&str],
) -> Result<&'v Map<String, Value>, FieldError> {
    let Value::Object(members) = value else {
        return Err(FieldError::new(field, "must be an object"));
    };
    if let Some(unknown) = members.keys().find(|key| !known.contains(&key.as_str())) {
        let meant = match nearest(unknown, known.iter().copied()) {
            Some(nearest) => format!(", did you mean `{nearest}`?"),
            None => format!("; known are {}", known.join(", ")),
        };
        let reason = format!("is unknown here{meant}");
        return Err(FieldError::new(unknown.as_str(), reason));
    }
    Ok(members)
}

/// A text without control characters, not blank, of at most `bytes_max`; `None`
/// where it is absent or `null`.
pub(super) fn text(
    members: &Map<String, Value>,
    key: &str,
    field: &str,
    bytes_max: usize,
) -> Result<Option<Box<str>>, FieldError> {
    text_with(members, key, field, bytes_max, &[])
}

/// The same where the control characters `allowed` may stand.
pub(super) fn text_with(
    members: &Map<String, Value>,
    key: &str,
    field: &str,
    bytes_max: usize,
    allowed: &[char],
) -> Result<Option<Box<str>>, FieldError> {
    match members.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => {
            checked_text(text, field, bytes_max, allowed)?;
            Ok(Some(text.as_str().into()))
        }
        Some(_) => Err(FieldError::new(field, "must be a text")),
    }
}

/// Checks a text.
pub(super) fn checked_text(
    text: &str,
    field: &str,
    bytes_max: usize,
    allowed: &[char],
) -> Result<(), FieldError> {
    if text.len() > bytes_max {
        let reason = format!("has {} bytes, at most {bytes_max} are taken", text.len());
        return Err(FieldError::new(field, reason));
    }
    if text
        .chars()
        .any(|c| c.is_control() && !allowed.contains(&c))
    {
        return Err(FieldError::new(field, "holds a control character"));
    }
    if text.trim().is_empty() {
        let reason = "is blank; leave it out, or say null";
        return Err(FieldError::new(field, reason));
    }
    Ok(())
}

/// How long something is kept.
pub(super) fn keep(
    members: &Map<String, Value>,
    key: &str,
) -> Result<Option<crate::model::Keep>, FieldError> {
    let reason = "must be a whole number with a unit, from an hour on, as \"400d\" or \"36h\", \
                  or \"forever\"";
    match members.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => crate::model::read_keep(text)
            .map(Some)
            .ok_or_else(|| FieldError::new(key, reason)),
        Some(_) => Err(FieldError::new(key, reason)),
    }
}

/// Puts a member in where there is one.
pub(super) fn put(members: &mut Map<String, Value>, key: &str, text: Option<&str>) {
    if let Some(text) = text {
        members.insert(key.to_owned(), text.into());
    }
}

/// Puts how long things are kept in, where it is said.
pub(super) fn put_retention(members: &mut Map<String, Value>, retention: crate::model::Retention) {
    let text = |keep: Option<crate::model::Keep>| keep.map(crate::model::keep_text);
    put(members, "retention", text(retention.hours).as_deref());
    put(members, "rawRetention", text(retention.readings).as_deref());
}
