//! The identifier of a sensor.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

/// A sensor's identifier: 1 to 128 bytes of UTF-8, no control characters, not
/// blank, not `.` or `..` (no URL can name those). Cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SensorId(Arc<str>);

/// Why a text is not a sensor id. The message names the rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SensorIdError {
    /// Empty, or white space only.
    #[error("a sensor id must not be blank")]
    Blank,
    /// More than [`SensorId::BYTES_MAX`] bytes.
    #[error("a sensor id has at most 128 bytes, this one has {0}")]
    TooLong(usize),
    /// Holds a character of Unicode category Cc.
    #[error("a sensor id must not contain control characters")]
    ControlCharacter,
    /// `.` or `..`, which URLs resolve away.
    #[error("the sensor ids `.` and `..` cannot be named in a URL; choose another")]
    DotSegment,
}

impl SensorId {
    /// Longest id, in bytes of UTF-8.
    pub const BYTES_MAX: usize = 128;

    /// Checks `text` against the rules of the type.
    pub fn new(text: &str) -> Result<Self, SensorIdError> {
        if text.len() > Self::BYTES_MAX {
            return Err(SensorIdError::TooLong(text.len()));
        }
        if text.chars().any(char::is_control) {
            return Err(SensorIdError::ControlCharacter);
        }
        if text.trim().is_empty() {
            return Err(SensorIdError::Blank);
        }
        if text == "." || text == ".." {
            return Err(SensorIdError::DotSegment);
        }
        Ok(Self(Arc::from(text)))
    }

    /// The id as it came.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for SensorId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SensorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl fmt::Display for SensorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_printable_text_is_an_id() {
        for id in [
            "S1", "a|b", "a/b", "a#b", "50%", "a b", "$x", "🌡", "...", "é",
        ] {
            assert_eq!(SensorId::new(id).unwrap().as_str(), id);
        }
        assert!(SensorId::new(&"x".repeat(128)).is_ok());
    }

    #[test]
    fn what_no_url_or_key_could_name_is_refused() {
        assert_eq!(SensorId::new(""), Err(SensorIdError::Blank));
        assert_eq!(SensorId::new(" \u{a0}"), Err(SensorIdError::Blank));
        assert_eq!(SensorId::new("."), Err(SensorIdError::DotSegment));
        assert_eq!(SensorId::new(".."), Err(SensorIdError::DotSegment));
        assert_eq!(
            SensorId::new(&"é".repeat(65)),
            Err(SensorIdError::TooLong(130))
        );
        for id in ["a\nb", "\0", "a\u{7f}", "\u{85}x"] {
            assert_eq!(SensorId::new(id), Err(SensorIdError::ControlCharacter));
        }
    }
}
