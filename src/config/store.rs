//! `[store]`: where buckets are kept.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::bounds::{Bounds, KIB, MIB, TIB, ms, secs};
use super::mask::mask;
use super::value::{ByteCount, Span, write_bytes, write_span, write_text};

/// Where buckets are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoreSettings {
    /// Which store.
    #[serde(serialize_with = "write_text")]
    pub url: StoreUrl,
    /// Largest size of a bucket's part in bytes (MongoDB), 64 KiB to 8 MiB: well
    /// below the 16 MB that a document may have.
    #[serde(serialize_with = "write_bytes")]
    pub part_bytes_max: usize,
    /// Longest wait for a connection and for a server to be found (MongoDB), from
    /// 100 ms to 10 min.
    #[serde(serialize_with = "write_span")]
    pub connect_timeout: Duration,
    /// Bytes of read cache of the embedded store, 1 MiB to 1 TiB.
    #[serde(serialize_with = "write_bytes")]
    pub embedded_cache_bytes: u64,
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self {
            url: StoreUrl::Embedded,
            part_bytes_max: 1 << 20,
            connect_timeout: secs(5),
            embedded_cache_bytes: 64 << 20,
        }
    }
}

/// Which store. Printing it masks secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreUrl {
    /// The one inside this process, under the data directory.
    Embedded,
    /// A MongoDB deployment.
    Mongodb(MongodbUri),
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embedded => f.write_str("embedded"),
            Self::Mongodb(uri) => fmt::Display::fmt(uri, f),
        }
    }
}

/// A connection string that begins with `mongodb://` or `mongodb+srv://`. Its
/// password shows only through [`MongodbUri::reveal`].
#[derive(Clone, PartialEq, Eq)]
pub struct MongodbUri(String);

impl MongodbUri {
    /// `None` where `text` is no connection string.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        ["mongodb://", "mongodb+srv://"]
            .iter()
            .any(|scheme| text.len() > scheme.len() && text.starts_with(scheme))
            .then(|| Self(text.to_owned()))
    }

    /// The whole connection string, secrets included: for the driver alone.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// Secrets masked.
impl fmt::Display for MongodbUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&mask(&self.0))
    }
}

/// Secrets masked.
impl fmt::Debug for MongodbUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MongodbUri({self})")
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawStore {
    url: String,
    part_bytes_max: ByteCount,
    connect_timeout: Span,
    embedded_cache_bytes: ByteCount,
}

impl RawStore {
    pub(super) fn check(self, bounds: &mut Bounds<'_>) -> StoreSettings {
        let url = if let Some(uri) = MongodbUri::parse(&self.url) {
            StoreUrl::Mongodb(uri)
        } else {
            if self.url != "embedded" {
                bounds.refuse_text(
                    "store.url",
                    &self.url,
                    "\"embedded\", or the URI of a MongoDB deployment: mongodb:// or mongodb+srv:// and its hosts",
                );
            }
            StoreUrl::Embedded
        };
        StoreSettings {
            url,
            part_bytes_max: bounds.bytes(
                "store.part_bytes_max",
                self.part_bytes_max,
                64 * KIB..=8 * MIB,
            ),
            connect_timeout: bounds.span(
                "store.connect_timeout",
                self.connect_timeout,
                ms(100)..=secs(600),
            ),
            embedded_cache_bytes: bounds.bytes(
                "store.embedded_cache_bytes",
                self.embedded_cache_bytes,
                MIB..=TIB,
            ),
        }
    }
}
