//! How ids and names are written where a key or a document cannot hold them
//! as they are.
//!
//! - A bucket's `_id` is `<escaped sensor id>|<hour>` with `#<part>` behind it
//!   from the second part on, so an id escapes `%`, `|` and `#`.
//! - A document's field cannot hold `.` or a leading `$` (MongoDB manual,
//!   "Field Names"), and `sec` is taken; so a name escapes `.`, `%`, a leading
//!   `$`, and the whole name `sec`.

use std::borrow::Cow;
use std::fmt;

use super::{HourStart, MeasureName, SensorId};

/// One sensor's hour: what a bucket holds.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BucketKey {
    /// Whose readings.
    pub sensor: SensorId,
    /// Of which hour.
    pub hour: HourStart,
}

impl fmt::Display for BucketKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}|{}", escape_id(&self.sensor), self.hour)
    }
}

/// `id` with `%`, `|` and `#` as percent escapes.
#[must_use]
pub fn escape_id(id: &SensorId) -> Cow<'_, str> {
    percent_encode(id.as_str(), |_, c| matches!(c, '%' | '|' | '#'))
}

/// The text that [`escape_id`] wrote, read back; `None` where it is no such text.
#[must_use]
pub fn unescape_id(text: &str) -> Option<SensorId> {
    SensorId::new(&percent_decode(text)?).ok()
}

/// `name` as a field of a document.
#[must_use]
pub fn escape_field(name: &MeasureName) -> Cow<'_, str> {
    if name.as_str() == "sec" {
        return Cow::Borrowed("%73ec");
    }
    percent_encode(name.as_str(), |at, c| {
        matches!(c, '%' | '.') || (c == '$' && at == 0)
    })
}

/// The field that [`escape_field`] wrote, read back.
#[must_use]
pub fn unescape_field(field: &str) -> Option<MeasureName> {
    MeasureName::new(&percent_decode(field)?).ok()
}

/// The top-level field of a measure's sum: `sum` and the name with its first
/// letter raised; a name that does not begin with a lower-case ASCII letter
/// stays as it is behind an underscore, so that no two names share a field.
#[must_use]
pub fn sum_field(name: &MeasureName) -> String {
    let field = escape_field(name);
    match name.as_str().chars().next() {
        // `sec` itself is escaped to `%73ec`: its letter is raised before.
        Some(first) if first.is_ascii_lowercase() => {
            let rest = if name.as_str() == "sec" {
                "ec"
            } else {
                field.get(1..).unwrap_or_default()
            };
            format!("sum{}{rest}", first.to_ascii_uppercase())
        }
        _ => format!("sum_{field}"),
    }
}

/// Whether [`sum_field`] gives some measure this field.
#[must_use]
pub fn is_sum_field(field: &str) -> bool {
    let name = |text: &str| unescape_field(text).filter(|name| sum_field(name) == field);
    let Some(rest) = field.strip_prefix("sum") else {
        return false;
    };
    if let Some(kept) = rest.strip_prefix('_') {
        return name(kept).is_some();
    }
    let mut letters = rest.chars();
    let Some(first) = letters.next().filter(char::is_ascii_uppercase) else {
        return false;
    };
    let lowered = format!("{}{}", first.to_ascii_lowercase(), letters.as_str());
    name(&lowered).is_some()
}

fn percent_encode(text: &str, must: impl Fn(usize, char) -> bool) -> Cow<'_, str> {
    if !text.char_indices().any(|(at, c)| must(at, c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for (at, c) in text.char_indices() {
        if must(at, c) {
            out.push_str(&format!("%{:02X}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

fn percent_decode(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        let code = u8::from_str_radix(after.get(..2)?, 16).ok()?;
        if !code.is_ascii() {
            return None;
        }
        out.push(char::from(code));
        rest = after.get(2..)?;
    }
    out.push_str(rest);
    Some(Cow::Owned(out))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn name(text: &str) -> MeasureName {
        MeasureName::new(text).unwrap()
    }

    #[test]
    fn fields_hold_what_a_document_can_hold() {
        for (text, field, sum) in [
            ("temp", "temp", "sumTemp"),
            ("Temp", "Temp", "sum_Temp"),
            ("sec", "%73ec", "sumSec"),
            ("a.b", "a%2Eb", "sumA%2Eb"),
            ("$x", "%24x", "sum_%24x"),
            ("50%", "50%25", "sum_50%25"),
            ("__proto__", "__proto__", "sum___proto__"),
            ("x$", "x$", "sumX$"),
        ] {
            assert_eq!(escape_field(&name(text)), field);
            assert_eq!(sum_field(&name(text)), sum);
            assert!(is_sum_field(sum), "{sum}");
            assert_eq!(unescape_field(field), Some(name(text)));
        }
    }

    #[test]
    fn what_only_begins_as_a_sum_is_none() {
        for field in [
            "sum", "sum_", "summary", "sum_temp", "sum%54", "sum.x", "sumT.x",
        ] {
            assert!(!is_sum_field(field), "{field}");
        }
    }

    #[test]
    fn a_bucket_key_is_readable() {
        let key = BucketKey {
            sensor: SensorId::new("S1").unwrap(),
            hour: HourStart::from_hours(384_992),
        };
        assert_eq!(key.to_string(), "S1|2013-12-02T08");
    }

    /// C02: ids that contain the separators never share a key.
    #[test]
    fn c02_keys_of_separator_ids_never_collide() {
        let alphabet = ['a', '|', '#', '%', '/', '.', '$', '7', 'C', '1'];
        let mut seen: HashMap<String, String> = HashMap::new();
        for a in alphabet {
            for b in alphabet {
                for c in alphabet {
                    let text: String = [a, b, c].iter().collect();
                    let Ok(id) = SensorId::new(&text) else {
                        continue;
                    };
                    let escaped = escape_id(&id).into_owned();
                    assert!(!escaped.contains(['|', '#']));
                    assert_eq!(unescape_id(&escaped), Some(id));
                    assert_eq!(seen.insert(escaped, text), None);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn escaping_is_reversed_for_any_name(text in "[^\\p{Cc}]{1,16}") {
            if let Ok(name) = MeasureName::new(&text) {
                let field = escape_field(&name).into_owned();
                prop_assert!(!field.contains('.') && !field.starts_with('$') && field != "sec");
                prop_assert!(is_sum_field(&sum_field(&name)));
                prop_assert_eq!(unescape_field(&field), Some(name));
            }
            if let Ok(id) = SensorId::new(&text) {
                let escaped = escape_id(&id).into_owned();
                prop_assert_eq!(unescape_id(&escaped), Some(id));
            }
        }

        #[test]
        fn two_measures_never_share_a_sum(a in "[a-zA-Z_%.$]{1,4}", b in "[a-zA-Z_%.$]{1,4}") {
            if a != b {
                prop_assert_ne!(sum_field(&name(&a)), sum_field(&name(&b)));
            }
        }
    }
}
