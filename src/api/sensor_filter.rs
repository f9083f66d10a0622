//! Conditions on sensors, from parameters: `site`, `attr.K`, `attr_prefix.K`,
//! `attr_min.K`, `attr_max.K`, `silent_for`.

use super::Problem;
use super::params::{Params, sensor};
use super::registry::site;
use crate::model::{Micros, attribute_number};
use crate::store::{AttributeFilter, SensorCursor, SensorFilter};

/// Most conditions on attributes.
const ATTRIBUTE_CONDITIONS_MAX: usize = 16;

/// Parameters that are no conditions on attributes.
const PLAIN: [&str; 4] = ["site", "silent_for", "limit", "cursor"];

/// Between time and id of a cursor of silent sensors.
const CURSOR_MARK: char = '~';

/// The conditions of a request.
pub(super) fn filter(params: &Params, now: Micros) -> Result<SensorFilter, Problem> {
    let mut filter = SensorFilter {
        site: params.one("site")?.map(site).transpose()?,
        silent_since: silent_since(params, now)?,
        attributes: Vec::new(),
    };
    for (name, value) in params.pairs() {
        if PLAIN.contains(&name) {
            continue;
        }
        filter.attributes.push(condition(name, value)?);
    }
    if filter.attributes.len() > ATTRIBUTE_CONDITIONS_MAX {
        return Err(Problem::parameter(format!(
            "{} conditions on attributes are more than the {ATTRIBUTE_CONDITIONS_MAX} that one \
             request may make",
            filter.attributes.len()
        )));
    }
    Ok(filter)
}

fn condition(name: &str, value: &str) -> Result<AttributeFilter, Problem> {
    let unknown = || {
        Problem::parameter(format!(
            "the parameter `{name}` is unknown; known here are {}, attr.K, attr_prefix.K, \
             attr_min.K and attr_max.K, where K is the key of an attribute",
            PLAIN.join(", ")
        ))
    };
    let (kind, key) = name.split_once('.').ok_or_else(unknown)?;
    if key.is_empty() {
        return Err(unknown());
    }
    let number = || {
        let number = attribute_number(value);
        number.ok_or_else(|| Problem::parameter(format!("`{name}` is a number, not `{value}`")))
    };
    let key = Box::from(key);
    Ok(match kind {
        "attr" => AttributeFilter::Equals {
            key,
            text: value.into(),
        },
        "attr_prefix" if value.is_empty() => {
            return Err(Problem::parameter(format!("`{name}` must not be empty")));
        }
        "attr_prefix" => AttributeFilter::Prefix {
            key,
            prefix: value.into(),
        },
        "attr_min" => AttributeFilter::Between {
            key,
            min: Some(number()?),
            max: None,
        },
        "attr_max" => AttributeFilter::Between {
            key,
            min: None,
            max: Some(number()?),
        },
        _ => return Err(unknown()),
    })
}

fn silent_since(params: &Params, now: Micros) -> Result<Option<Micros>, Problem> {
    let Some(text) = params.one("silent_for")? else {
        return Ok(None);
    };
    let silent_for = crate::config::span(text).filter(|span| !span.is_zero());
    let micros = silent_for.and_then(|span| i64::try_from(span.as_micros()).ok());
    let micros = micros.ok_or_else(|| {
        Problem::parameter(format!(
            "`silent_for` is a duration with its unit, as 15m or 2h, not `{text}`"
        ))
    })?;
    Ok(Some(now.saturating_add(-micros)))
}

/// Where the page begins.
pub(super) fn cursor(
    params: &Params,
    filter: &SensorFilter,
) -> Result<Option<SensorCursor>, Problem> {
    let Some(text) = params.one("cursor")? else {
        return Ok(None);
    };
    let wrong = |what: &str| {
        Problem::parameter(format!(
            "`cursor` is what `next` of the page before says: {what}"
        ))
    };
    let (last_seen, id) = match filter.silent_since {
        None => (None, text),
        Some(_) => {
            let (time, id) = text
                .split_once(CURSOR_MARK)
                .ok_or_else(|| wrong("it is of a list in another order"))?;
            let time = time.parse().ok().and_then(|time| Micros::new(time).ok());
            (Some(time.ok_or_else(|| wrong("it names no time"))?), id)
        }
    };
    let id = sensor(id).map_err(|problem| wrong(&problem.detail))?;
    Ok(Some(SensorCursor { id, last_seen }))
}

/// The text of a cursor.
pub(super) fn cursor_text(cursor: &SensorCursor) -> String {
    match cursor.last_seen {
        None => cursor.id.to_string(),
        Some(seen) => format!("{}{CURSOR_MARK}{}", seen.get(), cursor.id),
    }
}
