//! `[retention]`: how long readings are kept.

use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer};

use super::bounds::{Bounds, secs};
use super::value::{Span, write_span};
use crate::model::{Keep, keep_text, read_keep};

/// How long readings are kept where neither the sensor nor its site says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RetentionSettings {
    /// Whole buckets, with their computed fields: an hour to 1,000 years, or for
    /// ever.
    #[serde(serialize_with = "write_keep")]
    pub hours: Keep,
    /// The readings in them: an hour to 1,000 years, or for ever. Beyond it the
    /// computed fields stay as long as `hours` says.
    #[serde(serialize_with = "write_keep")]
    pub readings: Keep,
    /// The pause between two passes over the store, from 1 s to 1 day.
    #[serde(serialize_with = "write_span")]
    pub every: Duration,
}

impl Default for RetentionSettings {
    fn default() -> Self {
        Self {
            hours: Keep::Forever,
            readings: Keep::Forever,
            every: secs(600),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRetention {
    hours: String,
    readings: String,
    every: Span,
}

impl RawRetention {
    pub(super) fn check(self, bounds: &mut Bounds<'_>) -> RetentionSettings {
        let mut keep = |key, text: &str| {
            read_keep(text).unwrap_or_else(|| {
                let expected = "\"forever\", or a whole number with w, d, h, m or s, an hour to \
                                1000 years, such as \"400d\"";
                bounds.refuse_text(key, text, expected);
                Keep::Forever
            })
        };
        RetentionSettings {
            hours: keep("retention.hours", &self.hours),
            readings: keep("retention.readings", &self.readings),
            every: bounds.span("retention.every", self.every, secs(1)..=secs(86_400)),
        }
    }
}

fn write_keep<S: Serializer>(keep: &Keep, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&keep_text(*keep))
}
