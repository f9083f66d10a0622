//! The counters of datagrams.

use std::collections::BTreeMap;

use crate::support::eventually::eventually;
use crate::support::hourglass::Hourglass;

/// What became of datagrams since the process started.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Counts {
    pub(super) received: u64,
    pub(super) bytes: u64,
    pub(super) decoded: u64,
    pub(super) empty: u64,
    /// By reason.
    pub(super) dropped: BTreeMap<String, u64>,
    samples: BTreeMap<String, f64>,
}

impl Counts {
    pub(super) async fn of(server: &Hourglass) -> Self {
        let samples = server.samples().await;
        let one = |name: &str| samples[&format!("hourglass_udp_{name}_total")] as u64;
        let dropped = samples.iter().filter_map(|(name, count)| {
            let reason = name.strip_prefix("hourglass_udp_datagrams_dropped_total{reason=\"")?;
            Some((
                reason.strip_suffix("\"}").unwrap().to_owned(),
                *count as u64,
            ))
        });
        Self {
            received: one("datagrams_received"),
            bytes: one("bytes_received"),
            decoded: one("datagrams_decoded"),
            empty: one("datagrams_empty"),
            dropped: dropped.collect(),
            samples,
        }
    }

    /// Datagrams that were dropped for `reason`.
    pub(super) fn dropped(&self, reason: &str) -> u64 {
        self.dropped[reason]
    }

    /// Datagrams that we dropped, not the kernel.
    pub(super) fn dropped_by_us(&self) -> u64 {
        let all: u64 = self.dropped.values().sum();
        all - self.dropped("kernel")
    }

    /// Any sample of the same page.
    pub(super) fn sample(&self, name: &str) -> f64 {
        self.samples[name]
    }

    /// The counts once all of `sent` datagrams were read or dropped, and all that
    /// were read are decoded or dropped; both equations hold exactly.
    pub(super) async fn at_rest(server: &Hourglass, sent: u64) -> Self {
        let rest = async || {
            let counts = Self::of(server).await;
            let is_read = counts.received + counts.dropped("kernel") >= sent;
            let is_done = counts.decoded + counts.dropped_by_us() >= counts.received;
            (is_read && is_done).then_some(counts)
        };
        let counts = eventually("all datagrams are accounted for", rest).await;
        assert_eq!(
            counts.received + counts.dropped("kernel"),
            sent,
            "{counts:?}"
        );
        let done = counts.decoded + counts.dropped_by_us();
        assert_eq!(counts.received, done, "{counts:?}");
        counts
    }

    /// As [`Counts::at_rest`], and none was dropped.
    pub(super) async fn all_decoded(server: &Hourglass, sent: u64) -> Self {
        let counts = Self::at_rest(server, sent).await;
        assert_eq!(counts.decoded, sent, "{counts:?}");
        counts
    }
}
