//! Instants in microseconds, hours, and half-open ranges of both.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;

const MICROS_PER_HOUR: i64 = 3_600_000_000;

/// An instant: microseconds since 1970-01-01T00:00:00Z, within the years that
/// RFC 3339 can write (0001 to 9999).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Micros(i64);

/// The instant lies outside the years 0001 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the time is outside the years 0001 to 9999")]
pub struct TimeError;

impl Micros {
    /// 0001-01-01T00:00:00Z.
    pub const MIN: Self = Self(-62_135_596_800_000_000);
    /// 9999-12-30T22:00:00Z less a microsecond: the last full hour that the
    /// time library can write.
    pub const MAX: Self = Self(253_402_207_199_999_999);

    /// Checks the range of the type.
    pub fn new(epoch_micros: i64) -> Result<Self, TimeError> {
        let instant = Self(epoch_micros);
        if (Self::MIN..=Self::MAX).contains(&instant) {
            Ok(instant)
        } else {
            Err(TimeError)
        }
    }

    /// Microseconds since the epoch.
    #[must_use]
    pub fn get(self) -> i64 {
        self.0
    }

    /// The hour this instant falls into.
    #[must_use]
    pub fn hour(self) -> HourStart {
        let hours = self.0.div_euclid(MICROS_PER_HOUR);
        HourStart(i32::try_from(hours).expect("the years 0001 to 9999 have fewer than 2^31 hours"))
    }

    /// Microseconds into its hour, 0 to 3,599,999,999.
    #[must_use]
    pub fn offset(self) -> u32 {
        let offset = self.0.rem_euclid(MICROS_PER_HOUR);
        u32::try_from(offset).expect("an hour has fewer than 2^32 microseconds")
    }

    /// This instant moved by `micros` (may be negative), kept inside the range.
    #[must_use]
    pub fn saturating_add(self, micros: i64) -> Self {
        Self(self.0.saturating_add(micros)).clamp(Self::MIN, Self::MAX)
    }

    /// This instant moved by `span` into the future, kept inside the range. What
    /// exceeds whole microseconds does not count.
    #[must_use]
    pub fn later_by(self, span: Duration) -> Self {
        self.saturating_add(whole_micros(span))
    }

    /// This instant moved by `span` into the past, kept inside the range. What
    /// exceeds whole microseconds does not count.
    #[must_use]
    pub fn earlier_by(self, span: Duration) -> Self {
        self.saturating_add(-whole_micros(span))
    }

    /// This instant without what exceeds whole milliseconds.
    #[must_use]
    pub fn whole_millis(self) -> Self {
        Self(self.0 - self.0.rem_euclid(1000))
    }

    /// Microseconds from `earlier` to this instant.
    #[must_use]
    pub fn since(self, earlier: Self) -> i64 {
        self.0 - earlier.0
    }
}

/// At most [`i64::MAX`], which is beyond the range of instants.
fn whole_micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

/// RFC 3339 in UTC, with as many decimals as needed.
impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Timestamp::from_microsecond(self.0) {
            Ok(timestamp) => fmt::Display::fmt(&timestamp, f),
            Err(_) => write!(f, "{}us", self.0),
        }
    }
}

/// The start of a UTC hour, counted in hours since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HourStart(i32);

impl HourStart {
    /// The first hour of the year 1.
    pub const MIN: Self = Self((Micros::MIN.0 / MICROS_PER_HOUR) as i32);

    /// The hour that starts `hours` after the epoch, kept inside the years
    /// 0001 to 9999.
    #[must_use]
    pub fn from_hours(hours: i32) -> Self {
        Self(hours).clamp(Micros::MIN.hour(), Micros::MAX.hour())
    }

    /// Hours since the epoch.
    #[must_use]
    pub fn hours(self) -> i32 {
        self.0
    }

    /// Milliseconds since the epoch.
    #[must_use]
    pub fn millis(self) -> i64 {
        i64::from(self.0) * (MICROS_PER_HOUR / 1000)
    }

    /// The first instant of the hour.
    #[must_use]
    pub fn start(self) -> Micros {
        Micros(i64::from(self.0) * MICROS_PER_HOUR)
    }

    /// The instant `offset` microseconds into the hour.
    #[must_use]
    pub fn at(self, offset: u32) -> Micros {
        Micros(self.start().0 + i64::from(offset))
    }

    /// The hour after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self::from_hours(self.0.saturating_add(1))
    }
}

/// `2026-05-01T10`, as in a bucket's `_id`.
impl fmt::Display for HourStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.start().to_string();
        f.write_str(text.get(..13).unwrap_or(&text))
    }
}

/// A half-open range of instants, `[from, to)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeRange {
    /// First instant inside.
    pub from: Micros,
    /// First instant outside.
    pub to: Micros,
}

impl TimeRange {
    /// Everything there is.
    pub const ALL: Self = Self {
        from: Micros::MIN,
        to: Micros::MAX,
    };

    /// Whether `at` lies inside.
    #[must_use]
    pub fn contains(self, at: Micros) -> bool {
        self.from <= at && at < self.to
    }

    /// The hours that have an instant inside.
    #[must_use]
    pub fn hours(self) -> HourRange {
        let from = self.from.hour();
        let to = if self.to <= self.from {
            from
        } else {
            HourStart(Micros(self.to.0 - 1).hour().0 + 1)
        };
        HourRange { from, to }
    }
}

/// A half-open range of hours, `[from, to)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HourRange {
    /// First hour inside.
    pub from: HourStart,
    /// First hour outside.
    pub to: HourStart,
}

impl HourRange {
    /// Whether `hour` lies inside.
    #[must_use]
    pub fn contains(self, hour: HourStart) -> bool {
        self.from <= hour && hour < self.to
    }

    /// Whether no hour lies inside.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.from >= self.to
    }
}

/// Direction of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Oldest first.
    #[default]
    Ascending,
    /// Newest first.
    Descending,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_moves_by_spans_and_stays_in_the_range() {
        let at = Micros(7_000_000);
        let span = Duration::from_nanos(1_500_001_999);
        assert_eq!(at.later_by(span), Micros(8_500_001));
        assert_eq!(at.earlier_by(span), Micros(5_499_999));
        assert_eq!(at.later_by(Duration::MAX), Micros::MAX);
        assert_eq!(at.earlier_by(Duration::MAX), Micros::MIN);
    }

    #[test]
    fn an_instant_splits_into_hour_and_offset() {
        for micros in [
            0,
            -1,
            1,
            1_386_018_900_000_000,
            Micros::MIN.0,
            Micros::MAX.0,
        ] {
            let at = Micros::new(micros).unwrap();
            assert_eq!(at.hour().at(at.offset()), at);
        }
        let before_epoch = Micros::new(-1).unwrap();
        assert_eq!(before_epoch.offset(), 3_599_999_999);
        assert_eq!(before_epoch.hour().to_string(), "1969-12-31T23");
    }

    #[test]
    fn instants_are_written_as_rfc_3339() {
        let at = Micros::new(1_386_018_900_000_001).unwrap();
        assert_eq!(at.to_string(), "2013-12-02T21:15:00.000001Z");
        assert_eq!(at.hour().to_string(), "2013-12-02T21");
        assert_eq!(Micros::MIN.to_string(), "0001-01-01T00:00:00Z");
        assert!(Micros::MAX.to_string().starts_with("9999-12-30T21:59:59"));
    }

    #[test]
    fn years_nobody_can_write_are_refused() {
        assert_eq!(Micros::new(i64::MAX), Err(TimeError));
        assert_eq!(Micros::new(i64::MIN), Err(TimeError));
    }

    #[test]
    fn a_range_names_exactly_the_hours_it_touches() {
        let hour = HourStart::from_hours(10);
        let range = |from: i64, to: i64| TimeRange {
            from: hour.start().saturating_add(from),
            to: hour.start().saturating_add(to),
        };
        assert!(range(0, 0).hours().is_empty());
        assert_eq!(range(0, 1).hours().to, hour.next());
        assert_eq!(range(0, MICROS_PER_HOUR).hours().to, hour.next());
        assert_eq!(range(0, MICROS_PER_HOUR + 1).hours().to, hour.next().next());
        assert_eq!(range(-1, 1).hours().from.hours(), 9);
    }
}
