//! Times as devices send them: RFC 3339 texts, and numbers since the epoch.
//!
//! Anything finer than a microsecond is cut off, towards the past, so that an
//! instant never moves into the next hour. Every conversion is checked: what
//! does not fit is a fault, never another date.

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};

use super::DecodeContext;
use super::decimal::Decimal;
use super::decoded::excerpt;
use crate::model::{Micros, RejectCode};

/// The unit of a number that is a time since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimeUnit {
    /// `h`
    Hours,
    /// `m`
    Minutes,
    /// `s`
    Seconds,
    /// `ms`
    Millis,
    /// `us`
    Micros,
    /// `ns`
    Nanos,
}

impl TimeUnit {
    /// Every unit, coarse to fine.
    pub const ALL: [Self; 6] = [
        Self::Hours,
        Self::Minutes,
        Self::Seconds,
        Self::Millis,
        Self::Micros,
        Self::Nanos,
    ];

    /// As `?unit=` has it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hours => "h",
            Self::Minutes => "m",
            Self::Seconds => "s",
            Self::Millis => "ms",
            Self::Micros => "us",
            Self::Nanos => "ns",
        }
    }

    /// The unit that `?unit=` names.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| unit.as_str() == text)
    }

    /// The unit in which `number` is a time of our age: below 1e11 seconds (the
    /// year 5138), below 1e14 milliseconds, below 1e17 microseconds, else
    /// nanoseconds.
    fn of(number: Decimal<'_>) -> Self {
        match number.whole_digits() {
            ..=11 => Self::Seconds,
            12..=14 => Self::Millis,
            15..=17 => Self::Micros,
            _ => Self::Nanos,
        }
    }

    /// Microseconds in the unit as a power of ten and a factor.
    fn scale(self) -> (i64, i64) {
        match self {
            Self::Hours => (6, 3600),
            Self::Minutes => (6, 60),
            Self::Seconds => (6, 1),
            Self::Millis => (3, 1),
            Self::Micros => (0, 1),
            Self::Nanos => (-3, 1),
        }
    }
}

/// A time as it stands in a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeText<'a> {
    /// RFC 3339, unquoted: any offset; `t`, `z` and a space for the `T` pass.
    Rfc3339(&'a str),
    /// The same, but without an offset it is a time of this zone: of two that are
    /// so called the earlier one.
    InZone(&'a str, &'a TimeZone),
    /// The digits of a number.
    Number(&'a str),
}

/// Why a time cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TimeFault {
    /// No form of RFC 3339.
    #[error(
        "is not an RFC 3339 time such as 2026-05-01T10:00:00Z; times since 1970 must be numbers"
    )]
    NotRfc3339,
    /// A local time of nobody knows where.
    #[error("has no offset from UTC; add Z or an offset such as +02:00")]
    NoOffset,
    /// A local time that the clocks of its zone skip.
    #[error("is a time that the clocks of the zone skip; add its offset from UTC")]
    Skipped,
    /// A 30th of February, a 25th hour.
    #[error("names a date or a time of day that does not exist")]
    NoSuchTime,
    /// Second 60.
    #[error("is a leap second, which has no time since 1970 of its own; send second 59")]
    LeapSecond,
    /// No decimal number.
    #[error("is not a decimal number")]
    NotANumber,
    /// Before the year 1.
    #[error("is before the year 1")]
    BeforeCalendar,
    /// After the year 9999.
    #[error("is after the year 9999")]
    AfterCalendar,
}

/// Reads a time. A number is in `unit`, or in the unit its size suggests.
///
/// # Errors
/// See [`TimeFault`]; whether an instant is accepted is not asked here.
pub fn parse_time(raw: TimeText<'_>, unit: Option<TimeUnit>) -> Result<Micros, TimeFault> {
    match raw {
        TimeText::Rfc3339(text) => parse_date_time(text, None),
        TimeText::InZone(text, zone) => parse_date_time(text, Some(zone)),
        TimeText::Number(text) => {
            let number = Decimal::parse(text).ok_or(TimeFault::NotANumber)?;
            instant(number, unit.unwrap_or_else(|| TimeUnit::of(number)))
        }
    }
}

/// Reads a time and checks that it lies in the accepted range.
///
/// # Errors
/// The code, and a detail that names what was read, the bound, and the unit
/// that was probably meant.
pub(super) fn read_time(
    raw: TimeText<'_>,
    context: &DecodeContext,
) -> Result<Micros, (RejectCode, String)> {
    let fault = match parse_time(raw, context.unit) {
        Ok(at) if at < context.min_time => Misplaced::Early(Some(at)),
        Ok(at) if at > context.max_time => Misplaced::Late(Some(at)),
        Ok(at) => return Ok(at),
        Err(TimeFault::BeforeCalendar) => Misplaced::Early(None),
        Err(TimeFault::AfterCalendar) => Misplaced::Late(None),
        Err(fault) => {
            let (TimeText::Rfc3339(text) | TimeText::InZone(text, _) | TimeText::Number(text)) =
                raw;
            let detail = format!("\"{}\" {fault}", excerpt(text));
            return Err((RejectCode::InvalidTime, detail));
        }
    };
    Err(misplaced(fault, raw, context))
}

/// Reads a whole number as [`read_time`] does, without the way through decimals.
pub(super) fn read_integer_time(
    text: &str,
    context: &DecodeContext,
) -> Result<Micros, (RejectCode, String)> {
    let micros = text.parse::<i64>().ok().and_then(|number| {
        let unit = context.unit.unwrap_or(match number.unsigned_abs() {
            0..=99_999_999_999 => TimeUnit::Seconds,
            100_000_000_000..=99_999_999_999_999 => TimeUnit::Millis,
            100_000_000_000_000..=99_999_999_999_999_999 => TimeUnit::Micros,
            _ => TimeUnit::Nanos,
        });
        match unit {
            TimeUnit::Hours => number.checked_mul(3_600_000_000),
            TimeUnit::Minutes => number.checked_mul(60_000_000),
            TimeUnit::Seconds => number.checked_mul(1_000_000),
            TimeUnit::Millis => number.checked_mul(1000),
            TimeUnit::Micros => Some(number),
            TimeUnit::Nanos => Some(number.div_euclid(1000)),
        }
    });
    let at = micros.and_then(|micros| Micros::new(micros).ok());
    match at.filter(|at| context.min_time <= *at && *at <= context.max_time) {
        Some(at) => Ok(at),
        // It fails there too, and says why.
        None => read_time(TimeText::Number(text), context),
    }
}

/// Reads a number, or a date and time, which is one of `zone` where it has no
/// offset, as [`read_time`] does.
pub(super) fn read_time_in(
    text: &str,
    zone: &TimeZone,
    context: &DecodeContext,
) -> Result<Micros, (RejectCode, String)> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return read_integer_time(text, context);
    }
    let raw = match Decimal::parse(text) {
        Some(_) => TimeText::Number(text),
        None => TimeText::InZone(text, zone),
    };
    read_time(raw, context)
}

/// Whether `text` is a date and time, with an offset or without.
pub(super) fn looks_like_a_time(text: &str) -> bool {
    parse_date_time(text, Some(&TimeZone::UTC)).is_ok()
}

/// Outside the accepted range, at the instant if the calendar has it.
enum Misplaced {
    Early(Option<Micros>),
    Late(Option<Micros>),
}

fn misplaced(fault: Misplaced, raw: TimeText<'_>, context: &DecodeContext) -> (RejectCode, String) {
    // What the calendar does not have is told as it came, or by its side.
    let told = |at: Option<Micros>, side: &str| match (at, raw) {
        (Some(at), _) => at.to_string(),
        (None, TimeText::Rfc3339(text) | TimeText::InZone(text, _)) => {
            format!("\"{}\"", excerpt(text))
        }
        (None, TimeText::Number(_)) => side.to_owned(),
    };
    let (code, at, bound) = match fault {
        Misplaced::Early(at) => {
            let bound = format!("before {} (ingest.min_time)", context.min_time);
            (RejectCode::TooOld, told(at, "before the year 1"), bound)
        }
        Misplaced::Late(at) => {
            let bound = format!(
                "after {} (ingest.max_future beyond {})",
                context.max_time, context.received_at
            );
            let at = told(at, "after the year 9999");
            (RejectCode::TooFarInFuture, at, bound)
        }
    };
    let TimeText::Number(text) = raw else {
        return (code, format!("{at} is {bound}; check the device's clock"));
    };
    let Some(number) = Decimal::parse(text) else {
        return (code, format!("{at} is {bound}"));
    };
    let parameter = context.unit_parameter;
    let read_as = match context.unit {
        Some(unit) => format!("with {parameter}={}", unit.as_str()),
        None => format!("read as {parameter}={}", TimeUnit::of(number).as_str()),
    };
    let meant = TimeUnit::ALL.into_iter().find(|unit| {
        instant(number, *unit).is_ok_and(|at| context.min_time <= at && at <= context.max_time)
    });
    let advice = match meant {
        Some(unit) => format!("did you mean {parameter}={}?", unit.as_str()),
        None => "check the device's clock, or leave the time out".to_owned(),
    };
    let text = excerpt(text);
    (code, format!("{text} {read_as} is {at}, {bound}; {advice}"))
}

/// What to tell whoever sends a reading of `at` that is not kept any more.
pub(super) fn older_than_retention(at: Micros, oldest: Micros, context: &DecodeContext) -> String {
    let in_range = |factor: i64| {
        let micros = at.get().checked_mul(factor);
        let meant = micros.and_then(|micros| Micros::new(micros).ok());
        meant.filter(|meant| oldest <= *meant && *meant <= context.max_time)
    };
    let parameter = context.unit_parameter;
    // From each unit to a coarser one.
    let meant = [60, 1000, 3600, 1_000_000, 1_000_000_000]
        .into_iter()
        .find_map(|factor| Some((factor, in_range(factor)?)));
    let advice = match meant {
        Some((factor, meant)) => {
            format!("did you mean {meant}, {factor} times that? then set {parameter}")
        }
        None => "check the device's clock, or have it kept for longer".to_owned(),
    };
    format!(
        "{at} is before {oldest}, from which on readings of this sensor are kept (its retention, \
         its site's, or retention.hours and retention.readings); {advice}"
    )
}

fn instant(number: Decimal<'_>, unit: TimeUnit) -> Result<Micros, TimeFault> {
    let (shift, factor) = unit.scale();
    let micros = number.floor_scaled(shift);
    let negative = number.is_negative();
    micros
        .ok()
        .and_then(|micros| micros.checked_mul(factor))
        .and_then(|micros| Micros::new(micros).ok())
        .ok_or(if negative {
            TimeFault::BeforeCalendar
        } else {
            TimeFault::AfterCalendar
        })
}

/// `YYYY-MM-DDTHH:MM:SS[.fraction](Z|±HH:MM)`, the offset only where there is no
/// `zone` to know it from, and nothing looser: other forms
/// of ISO 8601 read differently from one program to the next.
fn parse_date_time(text: &str, zone: Option<&TimeZone>) -> Result<Micros, TimeFault> {
    const FORM: &[u8; 19] = b"dddd-dd-ddTdd:dd:dd";
    let bytes = text.as_bytes();
    let Some((date_time, mut rest)) = bytes.split_at_checked(FORM.len()) else {
        return Err(TimeFault::NotRfc3339);
    };
    let in_form = date_time.iter().zip(FORM).all(|(byte, form)| match form {
        b'd' => byte.is_ascii_digit(),
        b'T' => matches!(byte, b'T' | b't' | b' '),
        _ => byte == form,
    });
    if !in_form {
        return Err(TimeFault::NotRfc3339);
    }
    let number = |from: usize, to: usize| {
        date_time[from..to]
            .iter()
            .fold(0_i16, |number, digit| number * 10 + i16::from(digit - b'0'))
    };
    // Two digits fit, and so do four.
    let part = |from: usize| i8::try_from(number(from, from + 2)).unwrap_or(i8::MAX);

    let mut nanos: i32 = 0;
    if let Some(fraction) = rest.strip_prefix(b".") {
        let digits = fraction
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if digits == 0 {
            return Err(TimeFault::NotRfc3339);
        }
        let mut weight = 100_000_000;
        for digit in fraction[..digits].iter().take(6) {
            nanos += i32::from(digit - b'0') * weight;
            weight /= 10;
        }
        rest = &fraction[digits..];
    }
    let zone = zone.filter(|_| rest.is_empty());
    let offset_seconds = match zone {
        Some(_) => 0,
        None => parse_offset(rest)?,
    };

    if part(17) == 60 {
        return Err(TimeFault::LeapSecond);
    }
    let civil = DateTime::new(
        number(0, 4),
        part(5),
        part(8),
        part(11),
        part(14),
        part(17),
        nanos,
    )
    .map_err(|_| TimeFault::NoSuchTime)?;
    let beyond = if civil.year() > 5000 {
        TimeFault::AfterCalendar
    } else {
        TimeFault::BeforeCalendar
    };
    let timestamp = match zone {
        Some(zone) => {
            let meant = zone.to_ambiguous_timestamp(civil);
            if matches!(meant.offset(), AmbiguousOffset::Gap { .. }) {
                return Err(TimeFault::Skipped);
            }
            meant.earlier()
        }
        None => Offset::from_seconds(offset_seconds).and_then(|offset| offset.to_timestamp(civil)),
    };
    let timestamp = timestamp.map_err(|_| beyond)?;
    Micros::new(timestamp.as_microsecond()).map_err(|_| beyond)
}

/// Seconds east of UTC.
fn parse_offset(text: &[u8]) -> Result<i32, TimeFault> {
    let digit = |byte: u8| byte.is_ascii_digit().then(|| i32::from(byte - b'0'));
    match *text {
        [] => Err(TimeFault::NoOffset),
        [b'Z' | b'z'] => Ok(0),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let (Some(h1), Some(h2), Some(m1), Some(m2)) =
                (digit(h1), digit(h2), digit(m1), digit(m2))
            else {
                return Err(TimeFault::NotRfc3339);
            };
            let (hours, minutes) = (h1 * 10 + h2, m1 * 10 + m2);
            if hours > 23 || minutes > 59 {
                return Err(TimeFault::NoSuchTime);
            }
            let seconds = hours * 3600 + minutes * 60;
            Ok(if sign == b'-' { -seconds } else { seconds })
        }
        _ => Err(TimeFault::NotRfc3339),
    }
}

#[cfg(test)]
mod tests;
