//! Under which name and tags a reading came, where its protocol has them.

use super::Tags;

/// Most tags of one origin that are kept.
pub const ORIGIN_TAGS_MAX: usize = 64;

/// Longest tag key that is kept, in bytes of UTF-8.
pub const TAG_KEY_BYTES_MAX: usize = 128;

/// Longest tag value (and measurement) that is kept, in bytes of UTF-8.
pub const TAG_VALUE_BYTES_MAX: usize = 256;

/// Measurement and tags of a line of line protocol, but for the tag that names
/// the sensor. The tags become the sensor's attributes; a refused value is kept
/// with the origins of both.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    measurement: Box<str>,
    tags: Tags,
}

impl Origin {
    /// An origin whose tags are sorted by key. What is beyond the bounds is left
    /// out: a label never costs a reading. Answers also how many tags were.
    #[must_use]
    pub fn new<'a>(
        measurement: &str,
        tags: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> (Self, usize) {
        let mut kept: Vec<(&str, &str)> = Vec::new();
        let mut left_out = 0;
        for (key, value) in tags {
            let fits = key.len() <= TAG_KEY_BYTES_MAX
                && value.len() <= TAG_VALUE_BYTES_MAX
                && kept.len() < ORIGIN_TAGS_MAX;
            if fits {
                kept.push((key, value));
            } else {
                left_out += 1;
            }
        }
        let end = measurement.floor_char_boundary(TAG_VALUE_BYTES_MAX);
        let origin = Self {
            measurement: measurement[..end].into(),
            tags: Tags::new(kept),
        };
        (origin, left_out)
    }

    /// The measurement, cut where it is longer than [`TAG_VALUE_BYTES_MAX`].
    #[must_use]
    pub fn measurement(&self) -> &str {
        &self.measurement
    }

    /// The tags, sorted by key.
    pub fn tags(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.tags.iter()
    }

    /// The same as one value.
    #[must_use]
    pub fn tag_set(&self) -> &Tags {
        &self.tags
    }

    /// Keys of the tags that differ from those of `other`, or that only one of
    /// the two has, sorted.
    #[must_use]
    pub fn differing_tags<'a>(&'a self, other: &'a Self) -> Vec<&'a str> {
        let differs = |(key, value): &(&str, &str)| other.tags.get(key) != Some(*value);
        let missing = |(key, _): &(&str, &str)| self.tags.get(key).is_none();
        let here = self.tags().filter(differs);
        let mut keys: Vec<&str> = here
            .chain(other.tags().filter(missing))
            .map(|(key, _)| key)
            .collect();
        keys.sort_unstable();
        keys
    }

    /// Bytes of its texts.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.measurement.len() + self.tags.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_sorted_and_bounded() {
        let long = "x".repeat(300);
        let (origin, left_out) = Origin::new(&long, [("b", "2"), ("a", "1"), ("c", long.as_str())]);
        assert_eq!(origin.measurement().len(), TAG_VALUE_BYTES_MAX);
        assert_eq!(origin.tags().collect::<Vec<_>>(), [("a", "1"), ("b", "2")]);
        assert_eq!(left_out, 1);
        let many: Vec<String> = (0..100).map(|n| n.to_string()).collect();
        let (origin, left_out) = Origin::new("m", many.iter().map(|n| (n.as_str(), "v")));
        assert_eq!((origin.tags().len(), left_out), (ORIGIN_TAGS_MAX, 36));
    }

    #[test]
    fn tags_that_differ_are_named_whichever_side_has_them() {
        let origin = |tags: &[(&str, &str)]| Origin::new("m", tags.iter().copied()).0;
        let a = origin(&[("core", "0"), ("host", "h"), ("room", "4b")]);
        let b = origin(&[("arch", "x"), ("core", "1"), ("host", "h")]);
        assert_eq!(a.differing_tags(&b), ["arch", "core", "room"]);
        assert_eq!(b.differing_tags(&a), ["arch", "core", "room"]);
        assert_eq!(a.differing_tags(&a), [""; 0]);
    }
}
