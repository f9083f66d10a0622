//! Where the parts of a line end, and what their escapes stand for.
//!
//! A backslash escapes only what would end the part it stands in; before
//! anything else it is itself (InfluxDB v1 reference, "Special characters and
//! syntax"). So the end of a part is the first of its ends that no backslash
//! precedes, and two backslashes in a tag are two.

use std::borrow::Cow;

/// Ends of a measurement. The line's own end is an end of everything.
pub(super) const MEASUREMENT: &[u8] = b", ";
/// Ends of a tag key, a tag value or a field key.
pub(super) const KEY: &[u8] = b",= ";

/// Offset of the first byte of `text` from `from` on that is in `ends` and not
/// escaped, or of the line's end; the text's length where there is none.
pub(super) fn end_of(text: &[u8], from: usize, ends: &[u8]) -> usize {
    let mut at = from;
    while let Some(byte) = text.get(at) {
        match byte {
            b'\n' => return at,
            b'\\' if text.get(at + 1).is_some_and(|next| ends.contains(next)) => at += 2,
            byte if ends.contains(byte) => return at,
            _ => at += 1,
        }
    }
    text.len()
}

/// The end of the series key: measurement and tags, up to a space. A comma may
/// be escaped before it, so both count as escapable; a backslash before an
/// equals sign is the tag's own affair.
pub(super) fn end_of_series(text: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(found) = memchr::memchr3(b' ', b'\n', b'\\', text.get(at..).unwrap_or_default())
    {
        at += found;
        match text[at] {
            b'\\' if text.get(at + 1).is_some_and(|next| *next == b' ') => at += 2,
            b'\\' => at += 1,
            _ => return at,
        }
    }
    text.len()
}

/// Offset of the quote that ends a text field which begins behind the quote at
/// `from - 1`; `None` where there is none. Inside, `\"` is a quote and `\\` a
/// backslash; line ends are text.
pub(super) fn end_of_string(text: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at);
        }
        // What the backslash stands before, an escaped quote too.
        at += 2;
    }
}

/// `part` without the backslashes that escape one of `ends`.
pub(super) fn unescape<'a>(part: &'a str, ends: &[u8]) -> Cow<'a, str> {
    if memchr::memchr(b'\\', part.as_bytes()).is_none() {
        return Cow::Borrowed(part);
    }
    let mut plain = String::with_capacity(part.len());
    let mut rest = part;
    while let Some(at) = rest.find('\\') {
        plain.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        match after.bytes().next() {
            Some(next) if ends.contains(&next) => {
                plain.push(char::from(next));
                rest = &after[1..];
            }
            _ => {
                plain.push('\\');
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// Appends `part` with a backslash before each of `ends`.
pub(super) fn escape_into(out: &mut String, part: &str, ends: &[u8]) {
    for c in part.chars() {
        if c.is_ascii() && ends.contains(&(c as u8)) {
            out.push('\\');
        }
        out.push(c);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_counts_unless_it_is_escaped() {
        for (text, end) in [
            (&b"cpu,host=a"[..], 3),
            (br"c\,pu x", 5),
            (br"c\\,pu", 6),
            (br"cpu\", 4),
            (b"cpu\nx", 3),
            (b"", 0),
        ] {
            assert_eq!(end_of(text, 0, MEASUREMENT), end, "{text:?}");
        }
    }

    #[test]
    fn a_series_key_ends_at_a_free_space() {
        for (text, end) in [
            (&br"a\ b,c=d e"[..], 8),
            (br"a,b=c\= d", 7),
            (br"a,b=c\", 6),
            (b"a\n", 1),
        ] {
            assert_eq!(end_of_series(text, 0), end, "{text:?}");
        }
    }

    #[test]
    fn a_string_ends_at_a_free_quote() {
        for (text, end) in [
            (&br#"a"b"#[..], Some(1)),
            (br#"a\"b""#, Some(4)),
            (br#"a\\""#, Some(3)),
            (b"a\nb\"", Some(3)),
            (br#"a\""#, None),
            (br"a\", None),
            (b"", None),
        ] {
            assert_eq!(end_of_string(text, 0), end, "{text:?}");
        }
    }

    #[test]
    fn a_backslash_that_escapes_nothing_stays() {
        for (part, plain) in [
            ("plain", "plain"),
            (r"a\ b\,c\=d", "a b,c=d"),
            (r"a\b", r"a\b"),
            (r"a\\b", r"a\\b"),
            (r"a\\ b", r"a\ b"),
            (r"a\", r"a\"),
            (r"é\ é", "é é"),
        ] {
            assert_eq!(unescape(part, KEY), plain);
        }
        let mut out = String::new();
        escape_into(&mut out, "a b,c=é", KEY);
        assert_eq!(out, r"a\ b\,c\=é");
    }
}
