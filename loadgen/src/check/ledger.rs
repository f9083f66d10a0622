//! The ledger on the page of metrics: nothing is lost between two counters.

use std::time::Instant;

use serde::Serialize;

use super::{CheckError, LOOK_AGAIN, Outcome, Pages};
use crate::exposition::Exposition;

/// What the server counted since it started.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Ledger {
    /// Items received.
    pub received: f64,
    /// Items accepted.
    pub accepted: f64,
    /// Items rejected, all codes.
    pub rejected: f64,
    /// Values in accepted items.
    pub values_accepted: f64,
    /// Values found in the journal at the start.
    pub values_recovered: f64,
    /// Values in the store.
    pub values_stored: f64,
    /// Values that were there already.
    pub values_duplicate: f64,
    /// Values refused because another was there.
    pub values_conflict: f64,
    /// Values that passed retention while they waited.
    pub values_expired: f64,
    /// Values deleted while they waited.
    pub values_deleted: f64,
    /// Values not in the store yet.
    pub values_pending: f64,
    /// Names that are not on the page.
    #[serde(skip)]
    missing: Vec<&'static str>,
}

impl Ledger {
    /// From a page of metrics.
    #[must_use]
    pub fn of(page: &Exposition) -> Self {
        let mut missing = Vec::new();
        let mut must = |name| {
            page.total(name).unwrap_or_else(|| {
                missing.push(name);
                0.0
            })
        };
        // A code, expiry or deletion that never happened need not be on the page.
        let may = |name| page.total(name).unwrap_or(0.0);
        Self {
            received: must("hourglass_items_received_total"),
            accepted: must("hourglass_items_accepted_total"),
            rejected: may("hourglass_items_rejected_total"),
            values_accepted: must("hourglass_values_accepted_total"),
            values_recovered: must("hourglass_values_recovered_total"),
            values_stored: must("hourglass_values_stored_total"),
            values_duplicate: must("hourglass_values_duplicate_total"),
            values_conflict: must("hourglass_values_conflict_total"),
            values_expired: may("hourglass_values_expired_total"),
            values_deleted: may("hourglass_values_deleted_total"),
            values_pending: must("hourglass_values_pending"),
            missing,
        }
    }

    /// What does not balance, in words.
    #[must_use]
    pub fn differences(&self) -> Vec<String> {
        let absent = |name| format!("the metric {name} is not on the page");
        let mut differences: Vec<String> = self.missing.iter().map(absent).collect();
        let came = self.values_accepted + self.values_recovered;
        let went = self.values_stored
            + self.values_duplicate
            + self.values_conflict
            + self.values_expired
            + self.values_deleted
            + self.values_pending;
        let items = self.accepted + self.rejected;
        // Counters are whole numbers below 2^53: equal or not. A NaN is not.
        if self.received != items {
            differences.push(format!(
                "items: {} received, but {} accepted + {} rejected = {items}",
                self.received, self.accepted, self.rejected
            ));
        }
        if came != went {
            differences.push(format!(
                "values: {} accepted + {} recovered = {came}, but {} stored + {} duplicate + \
                 {} conflict + {} expired + {} deleted + {} pending = {went}",
                self.values_accepted,
                self.values_recovered,
                self.values_stored,
                self.values_duplicate,
                self.values_conflict,
                self.values_expired,
                self.values_deleted,
                self.values_pending
            ));
        }
        differences
    }
}

/// Reads the page of metrics.
pub(super) async fn read(pages: &mut Pages) -> Result<Exposition, CheckError> {
    let path = "/metrics";
    let failed = |why| CheckError {
        path: path.to_owned(),
        why,
    };
    let answer = pages.get(path, "text/plain").await?;
    let page = str::from_utf8(&answer.body).map_err(|error| failed(error.to_string()))?;
    Exposition::parse(page).map_err(|error| failed(error.to_string()))
}

pub(super) async fn compare(pages: &mut Pages, outcome: &mut Outcome) -> Result<(), CheckError> {
    let begun = Instant::now();
    let (ledger, differences) = loop {
        let ledger = Ledger::of(&read(pages).await?);
        let differences = ledger.differences();
        if differences.is_empty() || begun.elapsed() >= pages.patience {
            break (ledger, differences);
        }
        // Another process: there is no event to wait for.
        tokio::time::sleep(LOOK_AGAIN).await;
    };
    for what in differences {
        outcome.differ(None, None, what);
    }
    outcome.ledger = Some(ledger);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "hourglass_items_received_total 12\nhourglass_items_accepted_total 10\n\
        hourglass_items_rejected_total{code=\"a\"} 1\nhourglass_items_rejected_total{code=\"b\"} 1\n\
        hourglass_values_accepted_total 20\nhourglass_values_recovered_total 5\n\
        hourglass_values_stored_total 10\nhourglass_values_duplicate_total 4\n\
        hourglass_values_conflict_total 1\nhourglass_values_pending 10\n";

    fn ledger(page: &str) -> Ledger {
        Ledger::of(&Exposition::parse(page).unwrap())
    }

    #[test]
    fn a_ledger_that_balances_has_no_difference() {
        assert_eq!(ledger(PAGE).differences(), Vec::<String>::new());
    }

    #[test]
    fn a_value_that_is_lost_is_a_difference() {
        let page = PAGE.replace("stored_total 10", "stored_total 9");
        let differences = ledger(&page).differences();
        assert_eq!(differences.len(), 1);
        assert!(differences[0].starts_with("values: 20 accepted + 5 recovered = 25, but 9"));
    }

    #[test]
    fn a_counter_that_is_not_on_the_page_is_a_difference() {
        let page = PAGE.replace("hourglass_values_recovered_total 5\n", "");
        let differences = ledger(&page).differences();
        assert!(differences[0].contains("hourglass_values_recovered_total"));
    }
}
