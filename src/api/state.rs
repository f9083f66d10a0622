//! What handlers share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use metrics_exporter_prometheus::PrometheusHandle;
use tokio_util::task::TaskTracker;

use crate::apply::Progress;
use crate::buffer::Buffer;
use crate::clock::Clock;
use crate::config::Settings;
use crate::deletion::Deletions;
use crate::flush::StoreHealth;
use crate::idempotency::Keys;
use crate::ingest::Ingest;
use crate::journal::Journal;
use crate::metrics::Ledger;
use crate::quarantine::Quarantine;
use crate::query::Query;
use crate::receive::{BodyBudget, OpenConnections, UdpWatch};
use crate::registry::Registry;
use crate::sweep::Sweep;

/// Whether the service takes readings, and who still is at it.
#[derive(Debug, Default)]
pub struct Phase {
    stopping: AtomicBool,
    ingests: TaskTracker,
}

impl Phase {
    /// Refuses further readings; resolves when those under way are answered.
    pub async fn stop_ingest(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.ingests.close();
        self.ingests.wait().await;
    }

    /// Whether readings are refused.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// A token that [`Phase::stop_ingest`] waits for; `None` once it was called.
    pub(super) fn enter(&self) -> Option<tokio_util::task::task_tracker::TaskTrackerToken> {
        // The token first: whoever stops in between waits for it.
        let token = self.ingests.token();
        (!self.is_stopping()).then_some(token)
    }
}

/// What the routes work with.
#[derive(Clone)]
#[expect(missing_docs, reason = "each field is the part its type names")]
pub struct ApiParts {
    pub settings: Settings,
    pub ingest: Ingest,
    pub keys: Arc<Keys>,
    pub query: Query,
    pub registry: Registry,
    pub deletions: Deletions,
    pub sweep: Sweep,
    pub quarantine: Arc<Quarantine>,
    pub buffer: Arc<Buffer>,
    pub journal: Journal,
    pub progress: Arc<Progress>,
    pub health: Arc<StoreHealth>,
    pub ledger: Arc<Ledger>,
    pub clock: Arc<dyn Clock>,
    pub phase: Arc<Phase>,
    pub bodies: Arc<BodyBudget>,
    pub connections: OpenConnections,
    pub udp: Option<UdpWatch>,
    pub prometheus: PrometheusHandle,
}

/// [`ApiParts`], shared by all handlers.
pub type ApiState = Arc<ApiParts>;

impl std::fmt::Debug for ApiParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiParts").finish_non_exhaustive()
    }
}
