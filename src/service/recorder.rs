//! The process's metrics recorder.

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use crate::metrics::{describe, names};

/// Bounds of histograms in seconds: from a sync of a fast disk to a request
/// that times out.
const SECONDS: [f64; 16] = [
    0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
    10.0, 30.0,
];

/// Bounds of histograms of numbers.
const NUMBERS: [f64; 10] = [
    1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16_384.0, 65_536.0, 262_144.0,
];

/// Bounds of lateness in seconds: from clocks ahead to a year late.
const LATENESS: [f64; 9] = [
    0.0,
    1.0,
    10.0,
    60.0,
    600.0,
    3600.0,
    86_400.0,
    2_592_000.0,
    31_536_000.0,
];

/// Bounds of passes over all sensors in seconds: from a handful to a day.
const PASSES: [f64; 8] = [0.01, 0.1, 1.0, 10.0, 60.0, 600.0, 3600.0, 86_400.0];

/// Installs the recorder. A second call in one process gets a recorder of its
/// own whose numbers nobody records into but the ledger's export.
pub(super) fn install() -> PrometheusHandle {
    let builder = PrometheusBuilder::new();
    let builder = [
        (names::LATENESS_SECONDS, &LATENESS[..]),
        (names::JOURNAL_GROUP_RECORDS, &NUMBERS[..]),
        (names::FLUSH_BUCKETS, &NUMBERS[..]),
        (names::FLUSH_READINGS, &NUMBERS[..]),
        (names::JOURNAL_SYNC_SECONDS, &SECONDS[..]),
        (names::FLUSH_SECONDS, &SECONDS[..]),
        (names::HTTP_REQUEST_SECONDS, &SECONDS[..]),
        (names::RETENTION_PASS_SECONDS, &PASSES[..]),
    ]
    .into_iter()
    .try_fold(builder, |builder, (name, bounds)| {
        builder.set_buckets_for_metric(Matcher::Full(name.to_owned()), bounds)
    })
    .expect("no list of bounds is empty");
    let recorder = builder.build_recorder();
    let handle = recorder.handle();
    if metrics::set_global_recorder(recorder).is_err() {
        tracing::debug!("the process has a metrics recorder already");
    }
    describe();
    handle
}
