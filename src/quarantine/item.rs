//! One refused item.

use std::fmt;
use std::net::SocketAddr;

use serde::{Serialize, Serializer};

use crate::model::{Micros, RejectCode};

/// Bytes of an item's text that are kept at most.
const ITEM_BYTES_MAX: usize = 4096;

/// Which way an item came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusedSource {
    /// `POST /v1/readings`.
    Readings,
    /// `POST /write` or `POST /api/v2/write`.
    Write,
    /// A datagram, and its sender where that is known.
    Udp(Option<SocketAddr>),
}

impl fmt::Display for RefusedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Readings => f.write_str("readings"),
            Self::Write => f.write_str("write"),
            Self::Udp(None) => f.write_str("udp"),
            Self::Udp(Some(sender)) => write!(f, "udp {sender}"),
        }
    }
}

/// An item that was refused.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RefusedItem {
    /// When it was received.
    #[serde(serialize_with = "text")]
    pub received_at: Micros,
    /// Which way it came.
    #[serde(serialize_with = "text")]
    pub source: RefusedSource,
    /// `json`, `csv` or `line-protocol`: how [`Self::item`] is to be read.
    pub format: &'static str,
    /// Why it was refused.
    #[serde(serialize_with = "code")]
    pub reason: RejectCode,
    /// The same for people.
    pub detail: String,
    /// Of which field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Its place in the body, from 0.
    pub index: u64,
    /// Its line in the body, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The header of a CSV body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// Its text as it came, on one line.
    pub item: String,
    /// Whether only the beginning of it is kept.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

impl RefusedItem {
    /// Puts in the text of the item; of a long one the beginning.
    #[must_use]
    pub fn with_text(mut self, bytes: &[u8]) -> Self {
        let kept = &bytes[..bytes.len().min(ITEM_BYTES_MAX)];
        self.cut = kept.len() < bytes.len();
        // Line breaks in JSON stand between its tokens only.
        self.item = String::from_utf8_lossy(kept)
            .trim()
            .replace(['\r', '\n'], " ");
        self
    }

    /// Whether it may be sent again, line by line.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        !self.cut
    }
}

fn text<T: fmt::Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

fn code<S: Serializer>(code: &RejectCode, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(code.as_str())
}
