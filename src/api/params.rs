//! Query parameters: known ones read, unknown ones refused by name.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use form_urlencoded::parse;

use super::Problem;
use crate::decode::{TimeFault, TimeText, parse_time};
use crate::model::{MeasureName, Micros, Order, SensorId, TimeRange};

/// The parameters of one request, each as often as it was given.
#[derive(Debug)]
pub(super) struct Params {
    pairs: Vec<(String, String)>,
}

impl Params {
    /// Reads a query string that may only hold `known` keys.
    pub(super) fn read(query: Option<&str>, known: &[&str]) -> Result<Self, Problem> {
        let params = Self::read_any(query)?;
        params.expect_known(known)?;
        Ok(params)
    }

    /// Reads a query string that may hold any keys.
    pub(super) fn read_any(query: Option<&str>) -> Result<Self, Problem> {
        let query = query.unwrap_or_default();
        if !decodes_to_utf8(query) {
            return Err(Problem::parameter(
                "the query string is not UTF-8 once decoded",
            ));
        }
        let pairs = parse(query.as_bytes())
            .map(|(key, value)| (key.into_owned(), value.into_owned()))
            .collect();
        Ok(Self { pairs })
    }

    /// Refuses keys that are not among `known`, by name.
    pub(super) fn expect_known(&self, known: &[&str]) -> Result<(), Problem> {
        let mut pairs = self.pairs.iter();
        if let Some((key, _)) = pairs.find(|(key, _)| !known.contains(&key.as_str())) {
            let known = match known {
                [] => "none is taken here".to_owned(),
                known => format!("known here are {}", known.join(", ")),
            };
            return Err(Problem::parameter(format!(
                "the parameter `{key}` is unknown; {known}"
            )));
        }
        Ok(())
    }

    /// All keys with their values, in the order of the query.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|(key, value)| (&**key, &**value))
    }

    /// All values of `key`.
    pub(super) fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.pairs
            .iter()
            .filter(move |(k, _)| k == key)
            .map(|(_, value)| value.as_str())
    }

    /// The value of `key`, which may be given once.
    pub(super) fn one<'a>(&'a self, key: &'a str) -> Result<Option<&'a str>, Problem> {
        let mut values = self.all(key);
        let first = values.next();
        if values.next().is_some() {
            return Err(Problem::parameter(format!(
                "the parameter `{key}` may be given once"
            )));
        }
        Ok(first)
    }

    /// `from` and `to` as a half-open range; absent ends are open.
    pub(super) fn range(&self, now: Micros) -> Result<TimeRange, Problem> {
        let end = |key, default| -> Result<Micros, Problem> {
            match self.one(key)? {
                Some(text) => instant(key, text, now),
                None => Ok(default),
            }
        };
        let range = TimeRange {
            from: end("from", TimeRange::ALL.from)?,
            to: end("to", TimeRange::ALL.to)?,
        };
        if range.from > range.to {
            return Err(Problem::parameter(format!(
                "`from` ({}) is after `to` ({})",
                range.from, range.to
            )));
        }
        Ok(range)
    }

    /// The distinct values of `sensor`, between one and `sensors_max`.
    pub(super) fn sensors(&self, sensors_max: usize) -> Result<Vec<SensorId>, Problem> {
        let mut sensors: Vec<SensorId> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for text in self.all("sensor") {
            let id = sensor(text)?;
            if seen.insert(id.clone()) {
                sensors.push(id);
            }
        }
        if sensors.is_empty() {
            return Err(Problem::parameter(
                "name the sensors: ?sensor=S1&sensor=S2, one parameter each",
            ));
        }
        if sensors.len() > sensors_max {
            return Err(Problem::parameter(format!(
                "{} sensors are more than the {sensors_max} that one request may name \
                 (query.sensors_max); ask in several requests",
                sensors.len()
            )));
        }
        Ok(sensors)
    }

    /// The distinct values of `measure`.
    pub(super) fn measures(&self) -> Result<Vec<MeasureName>, Problem> {
        let mut measures = Vec::new();
        for text in self.all("measure") {
            let name = MeasureName::new(text)
                .map_err(|error| Problem::parameter(format!("`measure`: {error}")))?;
            if !measures.contains(&name) {
                measures.push(name);
            }
        }
        Ok(measures)
    }

    /// `order`, oldest first by default.
    pub(super) fn order(&self) -> Result<Order, Problem> {
        match self.one("order")? {
            None | Some("asc") => Ok(Order::Ascending),
            Some("desc") => Ok(Order::Descending),
            Some(other) => Err(Problem::parameter(format!(
                "`order` is asc or desc, not `{other}`"
            ))),
        }
    }

    /// `limit`, at least 1.
    pub(super) fn limit(&self) -> Result<Option<usize>, Problem> {
        let Some(text) = self.one("limit")? else {
            return Ok(None);
        };
        match text.parse::<usize>() {
            Ok(limit) if limit > 0 => Ok(Some(limit)),
            _ => Err(Problem::parameter(format!(
                "`limit` is a whole number from 1 on, not `{text}`"
            ))),
        }
    }
}

/// Whether the percent escapes of `query` make whole characters: what does not
/// would be replaced by a mark, and so name something else.
fn decodes_to_utf8(query: &str) -> bool {
    let mut decoded = Vec::with_capacity(query.len());
    let mut rest = query.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let hex = |at: usize| char::from(*after.get(at)?).to_digit(16);
        let escaped = (byte == b'%')
            .then(|| Some(hex(0)? * 16 + hex(1)?))
            .flatten();
        match escaped.and_then(|escaped| u8::try_from(escaped).ok()) {
            Some(escaped) => {
                decoded.push(escaped);
                rest = &after[2..];
            }
            None => {
                decoded.push(byte);
                rest = after;
            }
        }
    }
    std::str::from_utf8(&decoded).is_ok()
}

/// The sensor that `{id}` of a path names.
#[derive(Debug)]
pub(super) struct SensorPath(pub(super) SensorId);

impl<S: Send + Sync> FromRequestParts<S> for SensorPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        // The routes give it one segment; what is left to fail is its decoding.
        let Path(id) = Path::<String>::from_request_parts(parts, state)
            .await
            .map_err(|_| Problem::parameter("the sensor in the path is not UTF-8 once decoded"))?;
        sensor(&id).map(Self)
    }
}

/// A sensor id from a path or a parameter.
pub(super) fn sensor(text: &str) -> Result<SensorId, Problem> {
    SensorId::new(text).map_err(|error| Problem::parameter(format!("sensor `{text}`: {error}")))
}

/// An instant: RFC 3339, epoch number (unit by size), `now`, or `-24h` and its
/// like (s, m, h, d, w) before now.
pub(super) fn instant(key: &str, text: &str, now: Micros) -> Result<Micros, Problem> {
    if text == "now" {
        return Ok(now);
    }
    if let Some(micros) = relative(text) {
        return Ok(now.saturating_add(-micros));
    }
    let is_number = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'-' || byte == b'.');
    let read = if is_number {
        parse_time(TimeText::Number(text), None)
    } else {
        // The `+` of an offset that was not percent-encoded arrives as a space.
        let text = match text.split_at_checked("2026-05-01T10:00:00".len()) {
            Some((time, offset)) => format!("{time}{}", offset.replace(' ', "+")),
            None => text.to_owned(),
        };
        parse_time(TimeText::Rfc3339(&text), None)
    };
    let read = match read {
        // The ends of the calendar are what people write for an open end.
        Err(TimeFault::AfterCalendar) if !is_number => Ok(Micros::MAX),
        Err(TimeFault::BeforeCalendar) if !is_number => Ok(Micros::MIN),
        read => read,
    };
    read.map_err(|fault| {
        Problem::parameter(format!(
            "`{key}` is RFC 3339 (2026-05-01T10:00:00Z), an epoch number, now, or -24h; `{text}` \
             {fault}"
        ))
    })
}

/// Microseconds of `-24h` and its like.
fn relative(text: &str) -> Option<i64> {
    micros_of_span(text.strip_prefix('-')?)
}

/// Microseconds of a whole number with its unit (s, m, h, d, w), as `15m`.
pub(super) fn micros_of_span(text: &str) -> Option<i64> {
    let digits = text.get(..text.len().checked_sub(1)?)?;
    let seconds: i64 = match text.bytes().last()? {
        b's' => 1,
        b'm' => 60,
        b'h' => 3600,
        b'd' => 86_400,
        b'w' => 604_800,
        _ => return None,
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits
        .parse::<i64>()
        .ok()?
        .checked_mul(seconds)?
        .checked_mul(1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Micros {
        Micros::new(1_777_629_600_000_000).unwrap()
    }

    #[test]
    fn instants_come_in_every_form() {
        for (text, micros) in [
            ("now", 1_777_629_600_000_000),
            ("-24h", 1_777_543_200_000_000),
            ("-1w", 1_777_024_800_000_000),
            ("1777629600", 1_777_629_600_000_000),
            ("1777629600123", 1_777_629_600_123_000),
            ("2026-05-01T10:00:00Z", 1_777_629_600_000_000),
            ("2026-05-01T12:00:00+02:00", 1_777_629_600_000_000),
            ("2026-05-01T12:00:00 02:00", 1_777_629_600_000_000),
            ("-60", -60_000_000),
            ("9999-12-31T23:59:59Z", Micros::MAX.get()),
            ("0000-01-01T00:00:00Z", Micros::MIN.get()),
        ] {
            assert_eq!(
                instant("from", text, now()).unwrap().get(),
                micros,
                "{text}"
            );
        }
        for text in ["", "yesterday", "-h", "-1y", "2026-05-01", "1e400"] {
            assert!(instant("from", text, now()).is_err(), "{text}");
        }
    }

    #[test]
    fn an_unknown_parameter_is_named() {
        let problem = Params::read(Some("form=1"), &["from", "to"]).unwrap_err();
        assert!(format!("{problem:?}").contains("`form` is unknown"));
    }
}
