//! Proves values against their bounds and collects what does not do.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::error::Problem;
use super::mask::mask;
use super::value::{ByteCount, Span, show_bytes, show_span};

/// Collects the problems of one configuration. A value that does not do is
/// replaced by a bound, so that all problems are found in one go; it is never
/// used, as any problem means that there are no settings.
pub(super) struct Bounds<'a> {
    source_of: &'a dyn Fn(&str) -> String,
    problems: Vec<Problem>,
}

impl<'a> Bounds<'a> {
    /// `source_of` says where the value of a key stands.
    pub(super) fn new(source_of: &'a dyn Fn(&str) -> String) -> Self {
        Self {
            source_of,
            problems: Vec::new(),
        }
    }

    pub(super) fn into_problems(self) -> Vec<Problem> {
        self.problems
    }

    /// Notes that `key` has a value that does not do.
    pub(super) fn refuse(&mut self, key: &str, value: impl Display, expected: impl Display) {
        self.problems.push(Problem::BadValue {
            key: key.to_owned(),
            source: (self.source_of)(key),
            value: value.to_string(),
            expected: expected.to_string(),
        });
    }

    /// Notes that `key` has a text that does not do. A secret may have come under
    /// the wrong key, so the text is masked.
    pub(super) fn refuse_text(&mut self, key: &str, text: &str, expected: impl Display) {
        self.refuse(key, format_args!("{:?}", mask(text)), expected);
    }

    /// A whole number within `range`.
    pub(super) fn count<T>(&mut self, key: &str, value: i64, range: RangeInclusive<T>) -> T
    where
        T: Copy + PartialOrd + Display + TryFrom<i64>,
    {
        match T::try_from(value) {
            Ok(count) if range.contains(&count) => count,
            _ => {
                let (min, max) = range.into_inner();
                self.refuse(key, value, format_args!("{min} to {max}"));
                min
            }
        }
    }

    /// A count of bytes within `range`.
    pub(super) fn bytes<T>(&mut self, key: &str, value: ByteCount, range: RangeInclusive<i64>) -> T
    where
        T: TryFrom<i64> + Default,
    {
        let bytes = Some(value.0).filter(|bytes| range.contains(bytes));
        if let Some(bytes) = bytes.and_then(|bytes| T::try_from(bytes).ok()) {
            return bytes;
        }
        let (min, max) = range.into_inner();
        self.refuse(
            key,
            show_bytes(value.0),
            format_args!("{} to {}", show_bytes(min), show_bytes(max)),
        );
        T::default()
    }

    /// A duration within `range`.
    pub(super) fn span(
        &mut self,
        key: &str,
        value: Span,
        range: RangeInclusive<Duration>,
    ) -> Duration {
        if range.contains(&value.0) {
            return value.0;
        }
        let (min, max) = range.into_inner();
        self.refuse(
            key,
            show_span(value.0),
            format_args!("{} to {}", show_span(min), show_span(max)),
        );
        min
    }
}

/// Milliseconds, for bounds.
pub(super) const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Seconds, for bounds and defaults.
pub(super) const fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// Bytes, for bounds.
pub(super) const KIB: i64 = 1 << 10;
/// Bytes, for bounds.
pub(super) const MIB: i64 = 1 << 20;
/// Bytes, for bounds.
pub(super) const GIB: i64 = 1 << 30;
/// Bytes, for bounds.
pub(super) const TIB: i64 = 1 << 40;
