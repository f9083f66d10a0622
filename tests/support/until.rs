//! Waiting for what another task or thread will do.

use std::time::Duration;

/// Waits until `condition` holds; at most a minute.
pub(crate) async fn until(condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::task::yield_now().await;
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(60), waiting).await;
    assert!(in_time.is_ok(), "it never came to that");
}
