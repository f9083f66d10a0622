//! How long queries wait for the store.

use std::sync::Arc;
use std::time::Duration;

use crate::config::StoreUrl;
use crate::flush::StoreHealth;
use crate::store::Patience;

/// How long a query waits for a store that does not answer the watch. It is asked
/// all the same: one that only is behind with its answers, or is just back, is
/// mostly quicker, and then nothing is missing; where it is away, a page of
/// several queries is there within a second.
const WHILE_SILENT: Duration = Duration::from_millis(250);

/// The patience of queries.
pub(super) struct QueryPatience {
    health: Arc<StoreHealth>,
    limit: Duration,
    limit_while_silent: Duration,
}

impl QueryPatience {
    /// That of queries to the store at `url`, which wait `limit` at most.
    pub(super) fn new(health: Arc<StoreHealth>, limit: Duration, url: &StoreUrl) -> Arc<Self> {
        let limit_while_silent = match url {
            // On this machine: it is down when it takes no writes, and reads on.
            StoreUrl::Embedded => limit,
            StoreUrl::Mongodb(_) => WHILE_SILENT.min(limit),
        };
        Arc::new(Self {
            health,
            limit,
            limit_while_silent,
        })
    }
}

impl Patience for QueryPatience {
    fn limit(&self) -> Duration {
        if self.health.is_answering() {
            self.limit
        } else {
            self.limit_while_silent
        }
    }

    fn answered(&self) {
        self.health.heard();
    }
}
