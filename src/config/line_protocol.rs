//! `[line_protocol]`: which sensor a line is about.

use serde::{Deserialize, Serialize};

use super::bounds::Bounds;
use super::value::TextList;
use crate::model::TAG_KEY_BYTES_MAX;

/// How lines of line protocol become readings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LineProtocolSettings {
    /// Tags whose value is the sensor's id; the first one that a line has
    /// decides. `host` is none of them: an agent sends many series under it.
    pub sensor_tags: Vec<String>,
    /// Tags that become part of the id where a line has them.
    pub dimension_tags: Vec<String>,
    /// Whether measures are named measurement, `_`, field.
    pub measurement_prefix: bool,
}

impl Default for LineProtocolSettings {
    fn default() -> Self {
        let sensor_tags = ["sensor_id", "sensorId", "sensor", "device_id", "device"];
        Self {
            sensor_tags: sensor_tags.map(str::to_owned).to_vec(),
            dimension_tags: Vec::new(),
            measurement_prefix: false,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLineProtocol {
    sensor_tags: TextList,
    dimension_tags: TextList,
    measurement_prefix: bool,
}

/// Most tags in one of the lists.
const TAGS_MAX: usize = 64;

impl RawLineProtocol {
    pub(super) fn check(self, bounds: &mut Bounds<'_>) -> LineProtocolSettings {
        let mut tags = |key: &str, tags: TextList| {
            if tags.0.len() > TAGS_MAX {
                bounds.refuse(key, tags.0.len(), format_args!("at most {TAGS_MAX} tags"));
            }
            for tag in &tags.0 {
                if tag.is_empty() || tag.len() > TAG_KEY_BYTES_MAX {
                    bounds.refuse_text(
                        key,
                        tag,
                        format_args!("tag keys of 1 to {TAG_KEY_BYTES_MAX} bytes"),
                    );
                }
            }
            tags.0
        };
        LineProtocolSettings {
            sensor_tags: tags("line_protocol.sensor_tags", self.sensor_tags),
            dimension_tags: tags("line_protocol.dimension_tags", self.dimension_tags),
            measurement_prefix: self.measurement_prefix,
        }
    }
}
