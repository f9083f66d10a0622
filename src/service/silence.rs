//! Counts the sensors that fell silent, for the metric.

use std::sync::Arc;
use std::time::Duration;

use metrics::gauge;

use crate::apply::Progress;
use crate::clock::Clock;
use crate::metrics::names;
use crate::query::Query;

/// How often it counts.
const EVERY: Duration = Duration::from_secs(60);

/// Counts those not heard of for `silent_after` once the journal of an earlier
/// run is in the buffer, and every minute from then on. Runs until it is dropped.
pub(super) async fn count_silent(
    query: Query,
    progress: Arc<Progress>,
    clock: Arc<dyn Clock>,
    silent_after: Duration,
) {
    progress.caught_up().await;
    loop {
        let since = clock.now().earlier_by(silent_after);
        match query.count_silent(since).await {
            Ok(Some(silent)) => gauge!(names::SENSORS_SILENT).set(silent as f64),
            Ok(None) => tracing::debug!("silent sensors are not counted: a backlog waits"),
            Err(error) => tracing::debug!(%error, "silent sensors are not counted"),
        }
        tokio::time::sleep(EVERY).await;
    }
}
