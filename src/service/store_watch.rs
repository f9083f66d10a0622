//! Asks the store every second whether it answers, so that `/readyz`, the metrics
//! and the queries know of an outage before a flush has failed.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use crate::flush::StoreHealth;
use crate::store::Store;

/// How often it asks.
const EVERY: Duration = Duration::from_secs(1);

/// Seconds without a good answer after which the store counts as down. A server
/// under load is quicker, and one failed question is no outage; what asks `/readyz`
/// mostly asks every 5 to 15 s.
const DOWN_AFTER: u32 = 3;

/// How long a start waits for the store's first answer before it takes requests.
const FIRST_ANSWER_MAX: Duration = Duration::from_secs(1);

/// Tells `health` how the store is before anybody asks: a service that has just
/// started is not to say that a store is up of which it has not heard.
pub(super) async fn first_look(store: &dyn Store, health: &StoreHealth) {
    match tokio::time::timeout(FIRST_ANSWER_MAX, store.ping()).await {
        Ok(Ok(())) => health.answered(store),
        Ok(Err(error)) => health.unanswered(&error),
        Err(_) => health.unanswered(&format_args!("no answer within {FIRST_ANSWER_MAX:?}")),
    }
}

/// Tells `health` how the store answers. It asks again once it was answered: what
/// is given up would leave a connection behind each time, and a store that goes
/// on after it was frozen answers what was asked before. Runs until it is dropped.
pub(super) async fn watch_store(store: Arc<dyn Store>, health: Arc<StoreHealth>) {
    let mut tick = tokio::time::interval(EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // Counted, not measured: this process may have been stopped itself.
    let mut bad_seconds = 0;
    let mut others = health.answers();
    loop {
        tick.tick().await;
        let ping = store.ping();
        tokio::pin!(ping);
        let answer = loop {
            tokio::select! {
                biased;
                answer = &mut ping => break answer,
                () = tokio::time::sleep(EVERY) => {}
            }
            let now = health.answers();
            // Whoever waits for a connection behind calls that are answered asks no
            // silent store.
            bad_seconds = if now == others { bad_seconds + 1 } else { 0 };
            others = now;
            if bad_seconds >= DOWN_AFTER {
                health.unanswered(&format_args!("no answer for {DOWN_AFTER} s"));
            }
        };
        match answer {
            Ok(()) => {
                bad_seconds = 0;
                health.answered(&*store);
            }
            Err(error) => {
                bad_seconds += 1;
                if bad_seconds >= DOWN_AFTER {
                    health.unanswered(&error);
                }
            }
        }
        others = health.answers();
    }
}
