//! Waits for a condition of another process, which has no event to wait for.

use std::time::Duration;

/// How long a condition may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Looks again and again until `look` finds something; panics with `what`.
pub(crate) async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let looking = async {
        let mut tick = tokio::time::interval(LOOK_EVERY);
        loop {
            tick.tick().await;
            if let Some(found) = look().await {
                return found;
            }
        }
    };
    let found = tokio::time::timeout(PATIENCE, looking).await;
    found.unwrap_or_else(|_| panic!("it did not come true within {PATIENCE:?}: {what}"))
}
