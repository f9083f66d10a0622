//! What the buffer knows of sensors that the store was not told yet, laid over
//! the store's records: an answer is what it would be if all were told.

use crate::buffer::SensorSeen;
use crate::model::{ATTRIBUTES_MAX, Tags};
use crate::store::StoredSensor;

/// Makes of a record what it is once the store was told of `seen`.
pub(super) fn tell(record: &mut StoredSensor, seen: &SensorSeen) {
    record.last_seen = record.last_seen.max(Some(seen.last_seen));
    if seen.attributes_told {
        return;
    }
    // Keys that people set are not changed by tags.
    let set = &record.details.attributes;
    let tags = seen.attributes.iter();
    let tags = Tags::new(tags.filter(|(key, _)| set.get(key).is_none()));
    record.attributes.merge(&tags, ATTRIBUTES_MAX);
}
