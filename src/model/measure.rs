//! The name of a measure.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

/// A measure's name: 1 to 64 bytes of UTF-8, no control characters, not blank.
/// Any other name is legal (`sec`, `a.b`, `$x`, `__proto__`); a store escapes
/// what its documents cannot hold. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MeasureName(Arc<str>);

/// Why a text is not a measure's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MeasureNameError {
    /// Empty, or white space only.
    #[error("a measure name must not be blank")]
    Blank,
    /// More than [`MeasureName::BYTES_MAX`] bytes.
    #[error("a measure name has at most 64 bytes, this one has {0}")]
    TooLong(usize),
    /// Holds a character of Unicode category Cc.
    #[error("a measure name must not contain control characters")]
    ControlCharacter,
}

impl MeasureName {
    /// Longest name, in bytes of UTF-8.
    pub const BYTES_MAX: usize = 64;

    /// Checks `text` against the rules of the type.
    pub fn new(text: &str) -> Result<Self, MeasureNameError> {
        if text.len() > Self::BYTES_MAX {
            return Err(MeasureNameError::TooLong(text.len()));
        }
        if text.chars().any(char::is_control) {
            return Err(MeasureNameError::ControlCharacter);
        }
        if text.trim().is_empty() {
            return Err(MeasureNameError::Blank);
        }
        Ok(Self(Arc::from(text)))
    }

    /// The name as it came.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for MeasureName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for MeasureName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl fmt::Display for MeasureName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_trouble_documents_are_legal() {
        for name in ["sec", "a.b", "$x", "50%", "__proto__", "Temp", "é"] {
            assert_eq!(MeasureName::new(name).unwrap().as_str(), name);
        }
    }

    #[test]
    fn blank_long_and_control_names_are_refused() {
        assert_eq!(MeasureName::new(""), Err(MeasureNameError::Blank));
        assert_eq!(MeasureName::new("  "), Err(MeasureNameError::Blank));
        assert_eq!(
            MeasureName::new(&"x".repeat(65)),
            Err(MeasureNameError::TooLong(65))
        );
        assert_eq!(
            MeasureName::new("a\tb"),
            Err(MeasureNameError::ControlCharacter)
        );
    }
}
