//! A sensor as answers show it.

use serde_json::{Map, Value};

use crate::registry::shown;
use crate::store::StoredSensor;

/// What is known of `sensor` beside its readings. `lastSeen` is `null` for one
/// that was never heard of.
pub(super) fn sensor_body(sensor: &StoredSensor) -> Map<String, Value> {
    let mut members = shown(&sensor.details, &sensor.attributes);
    members.insert("sensorId".into(), sensor.id.as_str().into());
    let last_seen = sensor.last_seen.map(|seen| seen.to_string());
    members.insert("lastSeen".into(), last_seen.into());
    members
}
