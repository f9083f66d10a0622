//! Why a whole body was refused.

/// A body of which nothing was taken. `byte` counts from 0.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// Nothing, or white space only.
    #[error("the body is empty; send a JSON object, an array of objects or {{\"readings\":[…]}}")]
    Empty,
    /// Not JSON.
    #[error("the body is not JSON at byte {byte}: {reason}; nothing of it was taken")]
    InvalidJson {
        /// Where reading stopped: the byte at fault or the one before it; the
        /// body's length where the body ends too early.
        byte: usize,
        /// What was found or expected there.
        reason: String,
    },
    /// Not UTF-8.
    #[error("the body is not UTF-8 at byte {byte}; nothing of it was taken")]
    NotUtf8 {
        /// First byte that belongs to no character.
        byte: usize,
    },
    /// CSV without a header that fits what was said of the columns.
    #[error("{reason}; nothing of the body was taken")]
    CsvHeader {
        /// What is wrong, and what to do.
        reason: String,
    },
    /// JSON, but neither an item nor a list of items.
    #[error(
        "the body is {found} at byte {byte}; send an object, an array of objects or \
         {{\"readings\":[…]}}"
    )]
    WrongShape {
        /// Where it was found.
        byte: usize,
        /// What was found.
        found: String,
    },
}

impl BodyError {
    /// `error` of reading `text`, which begins `start` bytes into the body.
    pub(super) fn from_json(error: &serde_json::Error, text: &str, start: usize) -> Self {
        Self::InvalidJson {
            byte: start + error_byte(error, text),
            reason: error_reason(error),
        }
    }
}

/// Byte of `text` at which `error` was found.
pub(super) fn error_byte(error: &serde_json::Error, text: &str) -> usize {
    if error.is_eof() {
        return text.len();
    }
    // The library counts lines and, in bytes, columns from 1.
    let line_start: usize = text
        .split_inclusive('\n')
        .take(error.line().saturating_sub(1))
        .map(str::len)
        .sum();
    (line_start + error.column().saturating_sub(1)).min(text.len())
}

/// The message of `error` without the line and column at its end.
pub(super) fn error_reason(error: &serde_json::Error) -> String {
    let message = error.to_string();
    match message.rfind(" at line ") {
        Some(end) => message[..end].to_owned(),
        None => message,
    }
}
