//! The key, and what a request is told apart by.

use std::fmt;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::journal::record::DIGEST_BYTES;

/// What a sender calls a request, so that it may send it again: 1 to 255
/// characters of printable ASCII.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IdempotencyKey(Arc<str>);

/// Why a text is no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidKey {
    /// It is empty.
    #[error("an idempotency key has 1 to 255 characters, this one has none")]
    Empty,
    /// It is longer than [`IdempotencyKey::CHARACTERS_MAX`].
    #[error("an idempotency key has 1 to 255 characters, this one has {0}")]
    TooLong(usize),
    /// It holds something else than printable ASCII.
    #[error("an idempotency key is printable ASCII; send a UUID, or a number that you count up")]
    NotPrintable,
}

impl IdempotencyKey {
    /// Characters, and bytes, of a key at most.
    pub const CHARACTERS_MAX: usize = 255;

    /// Checks a key.
    ///
    /// # Errors
    /// [`InvalidKey`].
    pub fn new(text: &[u8]) -> Result<Self, InvalidKey> {
        if text.is_empty() {
            return Err(InvalidKey::Empty);
        }
        if text.len() > Self::CHARACTERS_MAX {
            return Err(InvalidKey::TooLong(text.len()));
        }
        let is_printable = text.iter().all(|byte| matches!(byte, b' '..=b'~'));
        match std::str::from_utf8(text) {
            Ok(text) if is_printable => Ok(Self(text.into())),
            _ => Err(InvalidKey::NotPrintable),
        }
    }

    /// The key as it came.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// SHA-256 over `parts`, each behind its length, so that no two lists of parts
/// give the same bytes.
#[must_use]
pub fn digest(parts: &[&[u8]]) -> [u8; DIGEST_BYTES] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_1_to_255_printable_characters() {
        for key in ["a", "0b7c-42", "\"quoted\"", "two words", &"k".repeat(255)] {
            assert_eq!(IdempotencyKey::new(key.as_bytes()).unwrap().as_str(), key);
        }
        for (key, why) in [
            ("".to_owned(), InvalidKey::Empty),
            ("k".repeat(256), InvalidKey::TooLong(256)),
            ("a\tb".to_owned(), InvalidKey::NotPrintable),
            ("schlüssel".to_owned(), InvalidKey::NotPrintable),
            ("\u{7f}".to_owned(), InvalidKey::NotPrintable),
        ] {
            assert_eq!(IdempotencyKey::new(key.as_bytes()), Err(why));
        }
        let no_text = IdempotencyKey::new(&[0xff]);
        assert_eq!(no_text, Err(InvalidKey::NotPrintable));
    }

    #[test]
    fn a_digest_knows_where_its_parts_end() {
        assert_eq!(digest(&[b"ab", b"c"]), digest(&[b"ab", b"c"]));
        assert_ne!(digest(&[b"ab", b"c"]), digest(&[b"a", b"bc"]));
        assert_ne!(digest(&[b"ab"]), digest(&[b"ab", b""]));
    }
}
