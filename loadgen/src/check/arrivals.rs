//! What became of datagrams, by the server's own count.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::{CheckError, LOOK_AGAIN, Pages, ledger};
use crate::exposition::Exposition;
use crate::http::{Connection, Target};

/// The server's counts at one moment, all since it started.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DatagramCounts {
    received: u64,
    decoded: u64,
    dropped: BTreeMap<String, u64>,
    items_accepted: u64,
}

/// What became of the datagrams of a run. Counts of the server between two moments:
/// what others sent meanwhile is in them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Arrivals {
    /// Read from the sockets.
    pub datagrams_received: u64,
    /// Decoded: their readings are durable or rejected.
    pub datagrams_decoded: u64,
    /// Dropped, by reason; `kernel` was never read.
    pub datagrams_dropped: BTreeMap<String, u64>,
    /// Readings accepted, over HTTP too.
    pub readings_accepted: u64,
    /// Whether every datagram sent is received or dropped by the kernel, and every
    /// one received is decoded or dropped.
    pub at_rest: bool,
}

impl DatagramCounts {
    /// Now.
    ///
    /// # Errors
    /// The server has no page of metrics.
    pub async fn now(target: &Target) -> Result<Self, CheckError> {
        let mut pages = Pages {
            connection: Connection::new(target),
            patience: Duration::ZERO,
        };
        Ok(Self::of(&ledger::read(&mut pages).await?))
    }

    fn of(page: &Exposition) -> Self {
        // Counters are whole numbers below 2^53.
        let one = |name| page.total(name).unwrap_or(0.0) as u64;
        let dropped = page.by_label("hourglass_udp_datagrams_dropped_total", "reason");
        let dropped = dropped.into_iter();
        Self {
            received: one("hourglass_udp_datagrams_received_total"),
            decoded: one("hourglass_udp_datagrams_decoded_total"),
            dropped: dropped
                .map(|(reason, count)| (reason.to_owned(), count as u64))
                .collect(),
            items_accepted: one("hourglass_items_accepted_total"),
        }
    }
}

impl Arrivals {
    /// Waits until so many datagrams that were sent since `before` are accounted
    /// for, or `patience` is over.
    ///
    /// # Errors
    /// The server has no page of metrics.
    pub async fn since(
        before: &DatagramCounts,
        target: &Target,
        sent: u64,
        patience: Duration,
    ) -> Result<Self, CheckError> {
        let begun = Instant::now();
        loop {
            let arrivals = Self::between(before, &DatagramCounts::now(target).await?, sent);
            if arrivals.at_rest || begun.elapsed() >= patience {
                return Ok(arrivals);
            }
            // Another process: there is no event to wait for.
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    fn between(before: &DatagramCounts, after: &DatagramCounts, sent: u64) -> Self {
        let dropped: BTreeMap<String, u64> = after
            .dropped
            .iter()
            .map(|(reason, count)| {
                let old = before.dropped.get(reason).copied().unwrap_or(0);
                (reason.clone(), count.saturating_sub(old))
            })
            .filter(|(_, count)| *count > 0)
            .collect();
        let received = after.received.saturating_sub(before.received);
        let decoded = after.decoded.saturating_sub(before.decoded);
        let kernel = dropped.get("kernel").copied().unwrap_or(0);
        let dropped_later = dropped.values().sum::<u64>() - kernel;
        Self {
            datagrams_received: received,
            datagrams_decoded: decoded,
            readings_accepted: after.items_accepted.saturating_sub(before.items_accepted),
            at_rest: received + kernel >= sent && decoded + dropped_later >= received,
            datagrams_dropped: dropped,
        }
    }

    /// Whether all datagrams that were sent are decoded, and the readings in them
    /// accepted: then every one of them must be there.
    #[must_use]
    pub fn are_all(&self, datagrams_sent: u64, readings_sent: u64) -> bool {
        self.datagrams_decoded == datagrams_sent
            && self.readings_accepted == readings_sent
            && self.datagrams_dropped.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(received: u64, decoded: u64, kernel: u64, queue: u64) -> DatagramCounts {
        let page = format!(
            "hourglass_udp_datagrams_received_total {received}\n\
             hourglass_udp_datagrams_decoded_total {decoded}\n\
             hourglass_udp_datagrams_dropped_total{{reason=\"kernel\"}} {kernel}\n\
             hourglass_udp_datagrams_dropped_total{{reason=\"queue_full\"}} {queue}\n\
             hourglass_items_accepted_total {}\n",
            decoded * 10
        );
        DatagramCounts::of(&Exposition::parse(&page).unwrap())
    }

    #[test]
    fn datagrams_are_at_rest_when_each_is_decoded_or_dropped() {
        let before = counts(100, 90, 5, 10);
        let rest = |after: &DatagramCounts| Arrivals::between(&before, after, 20).at_rest;
        assert!(!rest(&before));
        assert!(!rest(&counts(115, 105, 5, 10)));
        assert!(!rest(&counts(120, 100, 5, 10)));
        assert!(rest(&counts(120, 110, 5, 10)));
        assert!(rest(&counts(115, 103, 10, 12)));
    }

    #[test]
    fn all_are_there_only_where_none_was_dropped() {
        let before = counts(100, 90, 5, 10);
        let all = Arrivals::between(&before, &counts(120, 110, 5, 10), 20);
        assert!(all.are_all(20, 200) && !all.are_all(20, 201));
        let less = Arrivals::between(&before, &counts(115, 103, 10, 12), 20);
        assert!(!less.are_all(20, 200));
        let dropped = [("kernel".to_owned(), 5), ("queue_full".to_owned(), 2)];
        assert_eq!(less.datagrams_dropped, BTreeMap::from(dropped));
        assert_eq!(less.readings_accepted, 130);
    }
}
