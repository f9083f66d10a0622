//! Under which name and tags a reading came, where its protocol has them.

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
    tags: Box<[(Box<str>, Box<str>)]>,
}

impl Origin {
    /// An origin whose tags are sorted by key. What is beyond the bounds is left
    /// out: a label never costs a reading. Answers also how many tags were.
    #[must_use]
    pub fn new<'a>(
        measurement: &str,
        tags: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> (Self, usize) {
        let mut kept: Vec<(Box<str>, Box<str>)> = Vec::new();
        let mut left_out = 0;
        for (key, value) in tags {
            let fits = key.len() <= TAG_KEY_BYTES_MAX
                && value.len() <= TAG_VALUE_BYTES_MAX
                && kept.len() < ORIGIN_TAGS_MAX;
            if fits {
                kept.push((key.into(), value.into()));
            } else {
                left_out += 1;
            }
        }
        kept.sort();
        let end = measurement.floor_char_boundary(TAG_VALUE_BYTES_MAX);
        let origin = Self {
            measurement: measurement[..end].into(),
            tags: kept.into(),
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
        self.tags.iter().map(|(key, value)| (&**key, &**value))
    }

    /// Bytes of its texts.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let tags: usize = self.tags.iter().map(|(k, v)| k.len() + v.len() + 32).sum();
        self.measurement.len() + tags
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
}
