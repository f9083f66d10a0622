//! Newest readings of records that passed retention are cut before the buckets
//! go that hold them.

use crate::model::{Micros, SensorId};
use crate::retention::RetentionTable;
use crate::store::{RecentWrite, SensorTold, StoredSensor, WriterId};

/// What the record of `stored` is told so that it holds no reading before its
/// cutoff; `None` where it holds none.
pub(super) fn cut(
    stored: &StoredSensor,
    table: &RetentionTable,
    writer: &WriterId,
) -> Option<SensorTold> {
    let oldest = table.oldest_kept(&stored.id).start();
    let is_kept = |at: Micros| at >= oldest;
    let version = stored.recent.version?;
    let readings = &stored.recent.readings;
    if readings.iter().all(|reading| is_kept(reading.at)) {
        return None;
    }
    let kept = readings.iter().filter(|reading| is_kept(reading.at));
    let write = RecentWrite::after(Some(version), writer, kept.cloned().collect());
    Some(SensorTold::recent(stored.id.clone(), write))
}

/// A sensor whose record is to be looked at, and how often somebody else was
/// there.
#[derive(Debug, Clone)]
pub(super) struct ToCut {
    pub(super) sensor: SensorId,
    pub(super) fenced: u32,
}
