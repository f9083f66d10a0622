//! Counts the sensors that fell silent, for the metric.

use std::sync::Arc;
use std::time::Duration;

use metrics::gauge;

use crate::buffer::Buffer;
use crate::clock::Clock;
use crate::metrics::names;
use crate::model::SensorId;
use crate::store::{Store, StoreError};

/// How often it counts.
const EVERY: Duration = Duration::from_secs(60);

/// Counts every minute those not heard of for `silent_after`. Runs until it is
/// dropped.
pub(super) async fn count_silent(
    store: Arc<dyn Store>,
    buffer: Arc<Buffer>,
    clock: Arc<dyn Clock>,
    silent_after: Duration,
) {
    let micros = i64::try_from(silent_after.as_micros()).unwrap_or(i64::MAX);
    loop {
        let since = clock.now().saturating_add(-micros);
        // Those whose readings the store was not told of are not silent.
        let heard = buffer.seen(None).into_iter();
        let heard = heard.filter(|seen| seen.last_seen >= since);
        let heard: Vec<SensorId> = heard.map(|seen| seen.sensor).collect();
        let count = async {
            let all = store.count_silent(since, None).await?;
            let of_heard = store.count_silent(since, Some(&heard)).await?;
            Ok::<_, StoreError>(all.saturating_sub(of_heard))
        };
        match count.await {
            Ok(silent) => gauge!(names::SENSORS_SILENT).set(silent as f64),
            Err(error) => tracing::debug!(%error, "silent sensors are not counted"),
        }
        tokio::time::sleep(EVERY).await;
    }
}
