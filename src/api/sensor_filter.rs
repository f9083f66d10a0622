//! Parameters that say which sensors are asked for, and where a page begins.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use super::Problem;
use super::params::{Params, micros_of_span};
use crate::model::{Micros, SensorId, attribute_number};
use crate::store::{AttributeFilter, SensorCursor, SensorFilter};

/// Most conditions on attributes of one request.
const CONDITIONS_MAX: usize = 16;

/// Parameters whose names say all.
const PLAIN: [&str; 4] = ["limit", "cursor", "site", "silent_for"];

/// Beginnings of the parameters that go on with the key of an attribute.
const EQUALS: &str = "attr.";
const PREFIX: &str = "attr_prefix.";
const MIN: &str = "attr_min.";
const MAX: &str = "attr_max.";

/// The filter that `params` say, which may hold nothing else but `limit` and
/// `cursor`.
pub(super) fn sensor_filter(params: &Params, now: Micros) -> Result<SensorFilter, Problem> {
    let mut filter = SensorFilter::default();
    if let Some(text) = params.one("site")? {
        filter.site = Some(super::registry::site(text)?);
    }
    if let Some(text) = params.one("silent_for")? {
        filter.silent_since = Some(silent_since(text, now)?);
    }
    let mut conditions = 0;
    for (parameter, text) in params.pairs() {
        if PLAIN.contains(&parameter) {
            continue;
        }
        conditions += 1;
        add_condition(&mut filter.attributes, parameter, text)?;
    }
    if conditions > CONDITIONS_MAX {
        return Err(Problem::parameter(format!(
            "{conditions} conditions on attributes are more than the {CONDITIONS_MAX} that one \
             request may have"
        )));
    }
    Ok(filter)
}

fn silent_since(text: &str, now: Micros) -> Result<Micros, Problem> {
    let micros = micros_of_span(text).filter(|micros| *micros > 0);
    let micros = micros.ok_or_else(|| {
        Problem::parameter(format!(
            "`silent_for` is a whole number above 0 with its unit (s, m, h, d, w), as 15m, not \
             `{text}`"
        ))
    })?;
    Ok(now.saturating_add(-micros))
}

fn add_condition(
    conditions: &mut Vec<AttributeFilter>,
    parameter: &str,
    text: &str,
) -> Result<(), Problem> {
    let split = [EQUALS, PREFIX, MIN, MAX]
        .into_iter()
        .find_map(|kind| Some((kind, parameter.strip_prefix(kind)?)));
    let Some((kind, key)) = split else {
        return Err(Problem::parameter(format!(
            "the parameter `{parameter}` is unknown; known here are {}, {EQUALS}KEY, {PREFIX}KEY, \
             {MIN}KEY, {MAX}KEY",
            PLAIN.join(", ")
        )));
    };
    if key.is_empty() || text.is_empty() {
        return Err(Problem::parameter(format!(
            "`{parameter}` says no attribute: a key stands behind the dot and a value behind the \
             equals sign, as {kind}room=4"
        )));
    }
    match kind {
        EQUALS => conditions.push(AttributeFilter::Equals {
            key: key.into(),
            text: text.into(),
        }),
        PREFIX => conditions.push(AttributeFilter::Prefix {
            key: key.into(),
            prefix: text.into(),
        }),
        _ => {
            let number = attribute_number(text).ok_or_else(|| {
                Problem::parameter(format!("`{parameter}` is a number, not `{text}`"))
            })?;
            add_bound(conditions, key, kind == MIN, number);
        }
    }
    Ok(())
}

/// One range of a key takes the first lower and the first upper bound, so that a
/// store looks between the two; each further one is a range of its own.
fn add_bound(conditions: &mut Vec<AttributeFilter>, key: &str, is_lower: bool, number: f64) {
    for condition in conditions.iter_mut() {
        let AttributeFilter::Between { key: of, min, max } = condition else {
            continue;
        };
        let bound = if is_lower { min } else { max };
        if **of == *key && bound.is_none() {
            *bound = Some(number);
            return;
        }
    }
    conditions.push(AttributeFilter::Between {
        key: key.into(),
        min: is_lower.then_some(number),
        max: (!is_lower).then_some(number),
    });
}

/// The text of a cursor: an id as it is, or time and id where lists are ordered
/// by both.
pub(super) fn cursor_text(cursor: &SensorCursor) -> String {
    match cursor.last_seen {
        None => cursor.id.to_string(),
        Some(seen) => BASE64_URL_SAFE_NO_PAD.encode(format!("{} {}", seen.get(), cursor.id)),
    }
}

/// The cursor that `params` say, as [`cursor_text`] of a list of `filter` wrote
/// it.
pub(super) fn cursor(
    params: &Params,
    filter: &SensorFilter,
) -> Result<Option<SensorCursor>, Problem> {
    const WHAT: &str = "`cursor` is what `next` of the page before says";
    let Some(text) = params.one("cursor")? else {
        return Ok(None);
    };
    if filter.silent_since.is_some() {
        return read_time_and_id(text).map(Some).ok_or_else(|| {
            Problem::parameter(format!("{WHAT}: `{text}` is of no list of silent sensors"))
        });
    }
    let id = SensorId::new(text).map_err(|error| Problem::parameter(format!("{WHAT}: {error}")))?;
    let last_seen = None;
    Ok(Some(SensorCursor { id, last_seen }))
}

fn read_time_and_id(text: &str) -> Option<SensorCursor> {
    let decoded = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
    let decoded = String::from_utf8(decoded).ok()?;
    let (seen, id) = decoded.split_once(' ')?;
    Some(SensorCursor {
        id: SensorId::new(id).ok()?,
        last_seen: Some(Micros::new(seen.parse().ok()?).ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Micros {
        Micros::new(1_777_629_600_000_000).unwrap()
    }

    fn read(query: &str) -> Result<SensorFilter, Problem> {
        sensor_filter(&Params::read_any(Some(query)).unwrap(), now())
    }

    #[test]
    fn every_condition_is_read() {
        let filter = read(
            "attr.a%20%3D.b=x%26y&site=plant%201&attr_prefix.fw=2.&attr_max.floor=3&\
             attr_min.floor=1&attr_min.floor=2&silent_for=15m&limit=5&attr.fw=2.1",
        )
        .unwrap();
        let (equals, between) = (
            |key: &str, text: &str| AttributeFilter::Equals {
                key: key.into(),
                text: text.into(),
            },
            |min, max| AttributeFilter::Between {
                key: "floor".into(),
                min,
                max,
            },
        );
        let prefix = AttributeFilter::Prefix {
            key: "fw".into(),
            prefix: "2.".into(),
        };
        assert_eq!(
            filter.attributes,
            [
                equals("a =.b", "x&y"),
                prefix,
                between(Some(1.0), Some(3.0)),
                between(Some(2.0), None),
                equals("fw", "2.1"),
            ]
        );
        assert_eq!(filter.site.unwrap().as_str(), "plant 1");
        let since = now().saturating_add(-900_000_000);
        assert_eq!(filter.silent_since, Some(since));
    }

    #[test]
    fn what_says_no_condition_is_named() {
        for (query, told) in [
            ("from=now", "the parameter `from` is unknown"),
            ("attr=4", "the parameter `attr` is unknown"),
            ("attr.=4", "`attr.` says no attribute"),
            ("attr_prefix.k=", "`attr_prefix.k` says no attribute"),
            ("attr_min.k=x", "`attr_min.k` is a number, not `x`"),
            ("attr_max.k=inf", "`attr_max.k` is a number, not `inf`"),
            ("silent_for=0s", "`silent_for` is a whole number above 0"),
            ("silent_for=soon", "`silent_for` is a whole number above 0"),
            ("silent_for=-1m", "`silent_for` is a whole number above 0"),
            ("silent_for=1m&silent_for=2m", "may be given once"),
            ("site=", "site ``"),
        ] {
            let problem = read(query).unwrap_err();
            assert!(problem.detail.contains(told), "{query}: {problem:?}");
        }
        let many = "attr.k=v&".repeat(17);
        let problem = read(&many).unwrap_err();
        assert!(problem.detail.contains("17 conditions"), "{problem:?}");
        assert!(read(&many[9..]).is_ok());
    }

    #[test]
    fn a_cursor_survives_as_text() {
        let silent = SensorFilter {
            silent_since: Some(now()),
            ..SensorFilter::default()
        };
        for id in ["S1", "a b & c=é", "%41+#🌡"] {
            let id = SensorId::new(id).unwrap();
            for (filter, last_seen) in [
                (SensorFilter::default(), None),
                (silent.clone(), Some(now())),
                (silent.clone(), Some(Micros::MIN)),
            ] {
                let id = id.clone();
                let written = SensorCursor { id, last_seen };
                let query = form_urlencoded::Serializer::new(String::new())
                    .append_pair("cursor", &cursor_text(&written))
                    .finish();
                let params = Params::read_any(Some(&query)).unwrap();
                assert_eq!(cursor(&params, &filter).unwrap(), Some(written));
            }
        }
        for text in ["S1", "", "MSA", "IFMx", "é"] {
            let params = Params::read_any(Some(&format!("cursor={text}"))).unwrap();
            assert!(cursor(&params, &silent).is_err(), "{text}");
        }
    }
}
