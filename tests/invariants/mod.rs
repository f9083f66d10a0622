//! Property tests of the invariants, each named after its own.

mod i01_acked_is_durable;
mod i02_exactly_once;
mod i03_computed_true;
mod i04_read_your_writes;
mod i05_order_insensitive;
mod i07_ledger;
mod i09_bad_input;
mod i09_bad_lines;

use proptest::prelude::ProptestConfig;
use proptest::test_runner::FileFailurePersistence;

/// `cases` unless `PROPTEST_CASES` asks for a longer (or shorter) hunt. What
/// fails is kept beside its test, in a file to be committed.
pub(crate) fn cases(cases: u32) -> ProptestConfig {
    let mut config = ProptestConfig::default();
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = cases;
    }
    let beside = FileFailurePersistence::WithSource("regressions");
    config.failure_persistence = Some(Box::new(beside));
    config
}
