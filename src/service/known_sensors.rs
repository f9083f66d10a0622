//! Teaches the cap on sensors which ones there are.

use std::sync::Arc;
use std::time::Duration;

use crate::apply::Progress;
use crate::buffer::Buffer;
use crate::ingest::SensorCap;
use crate::store::{Store, StoreError, StoredSensor, UnreadSensor};

/// Sensors that one call reads.
const PAGE: usize = 10_000;

/// Pause after the store failed, and between looks for sensors that another
/// process made once the cap is reached.
const PAUSE: Duration = Duration::from_secs(30);

/// Learns the sensors of the journal and the store, then lets the cap hold.
/// While it is reached it looks again now and then: another process on the same
/// database may have made sensors, and those are known ones. Runs until it is
/// dropped.
pub(super) async fn learn_known_sensors(
    cap: Arc<SensorCap>,
    store: Arc<dyn Store>,
    buffer: Arc<Buffer>,
    progress: Arc<Progress>,
) {
    progress.caught_up().await;
    let mut learnt = false;
    loop {
        let buffered = buffer.seen(None);
        cap.learn(buffered.iter().map(|seen| &seen.sensor));
        match learn_stored(&cap, &*store).await {
            Ok(()) => {
                cap.all_known();
                learnt = true;
            }
            Err(error) => {
                tracing::debug!(%error, "the store's sensors are not known yet; none is refused");
            }
        }
        tokio::time::sleep(PAUSE).await;
        while learnt && !cap.is_reached() {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

async fn learn_stored(cap: &SensorCap, store: &dyn Store) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let page = store.each_sensor(after.as_ref(), PAGE).await?;
        let id = |one| match one {
            Ok(StoredSensor { id, .. }) => Some(id),
            Err(UnreadSensor { id, .. }) => id,
        };
        let ids: Vec<_> = page.into_iter().filter_map(id).collect();
        cap.learn(&ids);
        match ids.into_iter().next_back() {
            Some(last) => after = Some(last),
            None => return Ok(()),
        }
    }
}
