//! How every fault test ends: the ledger balances (I7), everything acknowledged
//! is told once, `verify` finds nothing, and the store alone knows all of it.

use std::collections::{BTreeMap, HashSet};
use std::fs;

use super::fleet::{Fleet, assert_are_there};
use crate::support::eventually::eventually;
use crate::support::hourglass::{Hourglass, Start};

/// Acknowledged batches of fleets of the same sensors.
pub(super) type Sent<'a> = [(&'a Fleet, &'a HashSet<usize>)];

/// Whether the values of a page of samples balance: all that came went
/// somewhere.
fn is_balanced(samples: &BTreeMap<String, f64>) -> bool {
    let values = |name: &str| samples[&format!("hourglass_values_{name}")];
    let came = values("accepted_total") + values("recovered_total");
    let went = ["stored", "duplicate", "conflict", "expired", "deleted"];
    let went = went.map(|name| values(&format!("{name}_total")));
    came == went.iter().sum::<f64>() + values("pending")
}

/// Waits until nothing is under way in `server` and all it accepted is in the
/// store; checks the ledger, and returns it with everything else it counts.
pub(super) async fn at_rest(server: &Hourglass) -> BTreeMap<String, f64> {
    let samples = eventually("nothing is under way", async || {
        let samples = server.samples().await;
        let busy = [
            "values_pending",
            "applier_lag_records",
            "flushes_in_flight",
            "http_body_bytes",
        ];
        let is_quiet = |name: &&str| samples[&format!("hourglass_{name}")] == 0.0;
        busy.iter().all(|name| is_quiet(&name)).then_some(samples)
    })
    .await;
    assert!(is_balanced(&samples), "{samples:#?}");
    samples
}

/// Ends a process in order; it must leave nothing to recover.
pub(super) fn stop(server: Hourglass) {
    let (status, log) = server.stop();
    let is_drained = |line: &String| line.contains("everything accepted is in the store");
    assert!(status.success() && log.iter().any(is_drained), "{log:#?}");
}

/// Starts on the store alone: the journal, which holds nothing, is taken away.
pub(super) fn start_from_the_store(start: &Start) -> Hourglass {
    fs::remove_dir_all(start.data_dir().join("journal")).unwrap();
    let server = start.start();
    let is_empty = |line: &String| line.contains("the journal is empty: no recovery");
    assert!(server.log().iter().any(is_empty), "{:#?}", server.log());
    server
}

/// The whole end of a test with one process.
pub(super) async fn assert_all_is_well(server: Hourglass, start: &Start, sent: &Sent<'_>) {
    at_rest(&server).await;
    assert_are_there(&server, sent).await;
    stop(server);
    start.verify();
    let server = start_from_the_store(start);
    assert_are_there(&server, sent).await;
}

/// Settings under which little is in memory alone and segments go soon, so that
/// faults meet every step of the path.
pub(super) fn busy(start: Start) -> Start {
    start
        .set("JOURNAL__SEGMENT_BYTES", "256KiB")
        .set("JOURNAL__QUEUE_BYTES_MAX", "256KiB")
        .set("BUFFER__BYTES_MAX", "4MiB")
        .set("FLUSH__AGE_MAX", "100ms")
        .set("FLUSH__RETRY_MAX", "500ms")
        .set("STORE__CONNECT_TIMEOUT", "1s")
}
