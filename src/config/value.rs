//! Values as people write them: durations and byte counts.

use std::fmt;
use std::time::Duration;

use bytesize::ByteSize;
use jiff::SignedDuration;
use serde::de::{Error, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serializer};

/// A duration as written: `"60s"`, `"1m 30s"`, `"100ms"`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span(pub(super) Duration);

/// A count of bytes as written: `"64MiB"`, `"1GB"`, or a plain integer of bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct ByteCount(pub(super) i64);

/// A list of texts; in a variable separated by commas.
#[derive(Debug, Clone)]
pub(super) struct TextList(pub(super) Vec<String>);

/// The duration that `text` is: `"60s"`, `"1m 30s"`, `"100ms"`.
#[must_use]
pub fn span(text: &str) -> Option<Duration> {
    let signed = text.parse::<SignedDuration>().ok()?;
    Duration::try_from(signed).ok()
}

/// The count of bytes that `text` is: `"64MiB"`, `"1GB"`, `"1000"`.
#[must_use]
pub fn byte_count(text: &str) -> Option<i64> {
    let size = text.parse::<ByteSize>().ok()?;
    i64::try_from(size.as_u64()).ok()
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SpanVisitor;
        impl Visitor<'_> for SpanVisitor {
            type Value = Span;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(r#"a duration with its unit such as "100ms", "60s" or "5m""#)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Span, E> {
                span(text)
                    .map(Span)
                    .ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_any(SpanVisitor)
    }
}

impl<'de> Deserialize<'de> for ByteCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ByteCountVisitor;
        impl Visitor<'_> for ByteCountVisitor {
            type Value = ByteCount;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(r#"a count of bytes such as "64MiB" or 67108864"#)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<ByteCount, E> {
                byte_count(text)
                    .map(ByteCount)
                    .ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
            }

            fn visit_i64<E: Error>(self, bytes: i64) -> Result<ByteCount, E> {
                Ok(ByteCount(bytes))
            }

            fn visit_u64<E: Error>(self, bytes: u64) -> Result<ByteCount, E> {
                i64::try_from(bytes)
                    .map(ByteCount)
                    .map_err(|_| E::invalid_value(Unexpected::Unsigned(bytes), &self))
            }
        }
        deserializer.deserialize_any(ByteCountVisitor)
    }
}

impl<'de> Deserialize<'de> for TextList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextListVisitor;
        impl<'de> Visitor<'de> for TextListVisitor {
            type Value = TextList;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of texts")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<TextList, E> {
                let texts = text.split(',').map(str::trim);
                let texts = texts.filter(|text| !text.is_empty());
                Ok(TextList(texts.map(str::to_owned).collect()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<TextList, A::Error> {
                let mut texts = Vec::new();
                while let Some(text) = seq.next_element()? {
                    texts.push(text);
                }
                Ok(TextList(texts))
            }
        }
        deserializer.deserialize_any(TextListVisitor)
    }
}

/// The duration in the form that [`Span`] reads.
pub(super) fn show_span(span: Duration) -> String {
    match SignedDuration::try_from(span) {
        Ok(signed) => format!("{signed:#}"),
        Err(_) => format!("{}s", span.as_secs()),
    }
}

/// The bytes in the largest unit that is exact, in the form that [`ByteCount`]
/// reads.
pub(super) fn show_bytes(bytes: i64) -> String {
    for (unit, factor) in [
        ("TiB", 1_i64 << 40),
        ("GiB", 1 << 30),
        ("MiB", 1 << 20),
        ("KiB", 1 << 10),
    ] {
        if bytes >= factor && bytes % factor == 0 {
            return format!("{}{unit}", bytes / factor);
        }
    }
    format!("{bytes}B")
}

/// For `#[serde(serialize_with)]`.
pub(super) fn write_span<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&show_span(*span))
}

/// For `#[serde(serialize_with)]`.
pub(super) fn write_bytes<T, S>(bytes: &T, serializer: S) -> Result<S::Ok, S::Error>
where
    T: Copy + TryInto<i64>,
    S: Serializer,
{
    let bytes = (*bytes).try_into().map_err(|_| {
        serde::ser::Error::custom("a count of bytes beyond 2^63 has no written form")
    })?;
    serializer.serialize_str(&show_bytes(bytes))
}

/// For `#[serde(serialize_with)]`.
pub(super) fn write_text<T: fmt::Display, S: Serializer>(
    value: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

#[cfg(test)]
mod tests {
    use serde::de::IntoDeserializer;
    use serde::de::value::{Error as DeError, StrDeserializer};

    use super::*;

    fn text(text: &str) -> StrDeserializer<'_, DeError> {
        text.into_deserializer()
    }

    #[test]
    fn durations_read_as_written() {
        for (written, millis) in [
            ("100ms", 100),
            ("60s", 60_000),
            ("5m", 300_000),
            ("1h 30m", 5_400_000),
        ] {
            let span = Span::deserialize(text(written)).unwrap();
            assert_eq!(span.0, Duration::from_millis(millis), "{written}");
        }
        for wrong in ["60", "-5s", "", "5 parsecs"] {
            assert!(Span::deserialize(text(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn byte_counts_read_as_written() {
        for (written, bytes) in [
            ("64MiB", 64 << 20),
            ("1 GiB", 1 << 30),
            ("1kB", 1000),
            ("1000", 1000),
        ] {
            let count = ByteCount::deserialize(text(written)).unwrap();
            assert_eq!(count.0, bytes, "{written}");
        }
        for wrong in ["", "64 apples", "-1MiB"] {
            assert!(ByteCount::deserialize(text(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_shown_reads_back_the_same() {
        for bytes in [
            0,
            1,
            1023,
            1024,
            1025,
            64 << 20,
            4 << 30,
            1 << 40,
            (1 << 40) + 1,
        ] {
            let count = ByteCount::deserialize(text(&show_bytes(bytes))).unwrap();
            assert_eq!(count.0, bytes);
        }
        for millis in [0, 1, 100, 60_000, 90_061_001] {
            let span = Duration::from_millis(millis);
            assert_eq!(Span::deserialize(text(&show_span(span))).unwrap().0, span);
        }
    }

    #[test]
    fn lists_in_variables_are_separated_by_commas() {
        let list = TextList::deserialize(text("https://a, https://b,")).unwrap();
        assert_eq!(list.0, ["https://a", "https://b"]);
    }
}
