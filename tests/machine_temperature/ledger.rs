//! The ledger of invariant I7, read from `/metrics` at rest.

use std::collections::BTreeMap;

use crate::support::eventually::eventually;
use crate::support::hourglass::Hourglass;

/// The terms of both equations since the process started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Ledger {
    pub(crate) received: u64,
    pub(crate) accepted: u64,
    pub(crate) rejected: u64,
    pub(crate) refused: u64,
    pub(crate) values_accepted: u64,
    pub(crate) values_recovered: u64,
    pub(crate) values_stored: u64,
    pub(crate) values_duplicate: u64,
    pub(crate) values_conflict: u64,
    pub(crate) values_pending: u64,
}

/// The samples of the page, by name with labels as printed.
pub(crate) async fn samples(server: &Hourglass) -> BTreeMap<String, f64> {
    server.samples().await
}

impl Ledger {
    fn of(samples: &BTreeMap<String, f64>) -> Self {
        let one = |name: &str| samples[&format!("hourglass_{name}")] as u64;
        let by_code = "hourglass_items_rejected_total{";
        let rejected = samples.iter().filter(|(name, _)| name.starts_with(by_code));
        Self {
            received: one("items_received_total"),
            accepted: one("items_accepted_total"),
            rejected: rejected.map(|(_, items)| *items as u64).sum(),
            refused: one("items_refused_total"),
            values_accepted: one("values_accepted_total"),
            values_recovered: one("values_recovered_total"),
            values_stored: one("values_stored_total"),
            values_duplicate: one("values_duplicate_total"),
            values_conflict: one("values_conflict_total"),
            values_pending: one("values_pending"),
        }
    }

    /// Checks both equations.
    pub(crate) fn assert_balanced(&self) {
        let items = self.accepted + self.rejected + self.refused;
        assert_eq!(self.received, items, "{self:?}");
        let came = self.values_accepted + self.values_recovered;
        let went =
            self.values_stored + self.values_duplicate + self.values_conflict + self.values_pending;
        assert_eq!(came, went, "{self:?}");
    }
}

/// The ledger once all requests are answered, all that was accepted is in the
/// store and nothing is under way. It balances.
pub(crate) async fn at_rest(server: &Hourglass) -> Ledger {
    let at_rest = async || {
        let samples = samples(server).await;
        let busy = [
            "hourglass_values_pending",
            "hourglass_applier_lag_records",
            "hourglass_flushes_in_flight",
            "hourglass_http_body_bytes",
        ];
        let quiet = busy.iter().all(|name| samples[*name] == 0.0);
        quiet.then(|| Ledger::of(&samples))
    };
    let ledger = eventually("nothing is under way", at_rest).await;
    ledger.assert_balanced();
    ledger
}
