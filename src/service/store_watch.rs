//! Asks the store every second whether it answers, so that `/readyz`, the metrics
//! and the queries know of an outage before a flush has failed.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use crate::flush::StoreHealth;
use crate::store::Store;

/// How often it asks.
const EVERY: Duration = Duration::from_secs(1);

/// Seconds without an answer to any call, of this task, the flusher or a query, after
/// which the store counts as down. A server under load is quicker; what asks
/// `/readyz` mostly asks every 5 to 15 s.
const SILENT_AFTER: u32 = 3;

/// Tells `health` how the store answers. It asks again once it was answered: what
/// is given up would leave a connection behind each time, and a store that goes
/// on after it was frozen answers what was asked before. Runs until it is dropped.
pub(super) async fn watch_store(store: Arc<dyn Store>, health: Arc<StoreHealth>) {
    let mut tick = tokio::time::interval(EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let ping = store.ping();
        tokio::pin!(ping);
        let mut others = health.answers();
        // Counted, not measured: this process may have been stopped itself.
        let mut unanswered = 0;
        let answer = loop {
            tokio::select! {
                biased;
                answer = &mut ping => break answer,
                () = tokio::time::sleep(EVERY) => {}
            }
            let now = health.answers();
            // Whoever waits for a connection behind other calls is no silent store.
            unanswered = if now == others { unanswered + 1 } else { 0 };
            others = now;
            if unanswered >= SILENT_AFTER {
                health.unanswered(&format_args!("no answer for {SILENT_AFTER} s"));
            }
        };
        match answer {
            Ok(()) => health.answered(&*store),
            Err(error) => health.unanswered(&error),
        }
    }
}
