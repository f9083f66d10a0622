//! A sync that fails and a disk without room, in the store, the journal and the
//! log of keys: nothing is confirmed that is not durable, nobody takes a second
//! sync for the first, and a start finds everything that was acknowledged.

use std::collections::BTreeSet;
use std::path::Path;

use hourglass::journal::{AppendError, JournalError, JournalState};
use rand::SeedableRng;
use rand::rngs::StdRng;

use super::checked::check;
use super::machine::{Fault, FaultKind, Machine};
use super::parts::Parts;
use super::syscalls::Watched;
use super::workload::{Sent, record};

const RECORDS: u64 = 24;

/// A run until the fault strikes, and a little on.
struct Run {
    parts: Parts,
    sent: Sent,
    watched: Watched,
    rng: StdRng,
    sends: u64,
    _root: tempfile::TempDir,
}

impl Run {
    fn begin() -> Self {
        let root = tempfile::tempdir().unwrap();
        let watched = Watched::new(Machine::adopt(root.path()));
        Self {
            parts: Parts::start(&root.path().join("data"), 1).unwrap(),
            sent: Sent::default(),
            watched,
            rng: StdRng::seed_from_u64(22),
            sends: 0,
            _root: root,
        }
    }

    async fn send(&mut self) -> Result<u64, JournalError> {
        self.sends += 1;
        let record = record(self.sends, 8, &mut self.rng);
        self.sent.send(&self.parts, record).await
    }

    fn fail(&self, part: &'static str, after: u64, kind: FaultKind) {
        self.watched.0.fail(Fault { part, after, kind });
    }

    fn has_struck(&self) -> bool {
        self.watched.0.faults_left() == 0
    }

    /// The power goes: a start must find everything.
    async fn power_goes(self, what: &str) {
        let root = tempfile::tempdir().unwrap();
        self.watched.0.state().worst().lay_out(root.path());
        drop(self.watched);
        self.parts.end().await;
        let acknowledged: BTreeSet<u64> = self.sent.acknowledged().into_keys().collect();
        let dir: &Path = &root.path().join("data");
        let checked = check(dir, 3, &acknowledged, &self.sent).await;
        checked.unwrap_or_else(|error| panic!("{what}: {error}"));
    }
}

/// Every sync of the store in turn: its journal's, its tables', its manifests'.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c22_a_sync_of_the_store_that_fails_confirms_nothing() {
    let (mut struck, mut refused) = (0, 0);
    for after in (0..60).step_by(2) {
        let mut run = Run::begin();
        run.fail("store", after, FaultKind::SyncFails);
        let mut failed = None;
        while run.sends < RECORDS {
            run.send().await.unwrap();
            run.parts.progress.caught_up().await;
            failed = run.parts.flush(4).await.err().map(|e| e.to_string());
            if failed.is_some() {
                break;
            }
        }
        struck += u32::from(run.has_struck());
        if let Some(failed) = failed {
            refused += 1;
            assert!(failed.contains("restart hourglass"), "{failed}");
            let segments = run.parts.journal.segments();
            for _ in 0..3 {
                // The fault is over; the store does not try again for that.
                assert!(run.parts.flush(1000).await.is_err());
                assert!(run.parts.store.ping().await.is_err());
            }
            run.send().await.unwrap();
            assert!(run.parts.journal.segments() >= segments);
            assert!(run.parts.is_behind());
        }
        run.power_goes(&format!("sync {after} of the store")).await;
    }
    assert!(
        struck > 20 && refused > 10,
        "{struck} struck, {refused} refused"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c22_a_sync_of_the_journal_that_fails_poisons_it() {
    for after in 0..8 {
        let mut run = Run::begin();
        run.fail(".journal", after, FaultKind::SyncFails);
        let mut answered = Ok(0);
        while answered.is_ok() && run.sends < RECORDS {
            answered = run.send().await;
        }
        let is_poisoned = |answer: &Result<u64, JournalError>| {
            matches!(answer, Err(JournalError::Append(AppendError::Poisoned(_))))
        };
        assert!(is_poisoned(&answered), "{answered:?}");
        assert!(is_poisoned(&run.send().await));
        assert!(matches!(
            run.parts.journal.state(),
            JournalState::Poisoned(_)
        ));
        // What was taken before goes to the store all the same.
        run.parts.flush(1000).await.unwrap();
        run.power_goes(&format!("sync {after} of the journal"))
            .await;
    }
}

/// The journal keeps what the log of keys cannot.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c22_a_sync_of_the_log_of_keys_that_fails_costs_no_key() {
    for after in 0..6 {
        let mut run = Run::begin();
        run.fail("keys", after, FaultKind::SyncFails);
        while run.sends < RECORDS {
            run.send().await.unwrap();
            run.parts.progress.caught_up().await;
            run.parts.flush(1000).await.unwrap();
        }
        assert!(run.has_struck());
        run.power_goes(&format!("sync {after} of the log of keys"))
            .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c22_a_full_disk_refuses_in_the_journal_and_takes_again_by_itself() {
    for after in 0..12 {
        let mut run = Run::begin();
        run.fail(".journal", after, FaultKind::NoRoom);
        let mut answered = Ok(0);
        while answered.is_ok() {
            answered = run.send().await;
        }
        for answer in [answered, run.send().await] {
            let is_no_room = matches!(answer, Err(JournalError::Append(AppendError::NoRoom(_))));
            assert!(is_no_room, "{answer:?}");
        }
        let state = run.parts.journal.state();
        assert!(matches!(state, JournalState::NoRoom(_)), "{state:?}");
        run.watched.0.lift_faults();
        run.send().await.unwrap();
        run.parts.progress.caught_up().await;
        run.parts.flush(1000).await.unwrap();
        run.power_goes(&format!("no room from write {after} of the journal on"))
            .await;
    }
}

/// The store stops at the first write without room, at every write there is, and
/// the journal has what is missing; with room it goes on by itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c22_a_full_disk_in_the_store_confirms_nothing_and_is_made_good() {
    let mut refused = 0;
    for after in (0..60).step_by(2) {
        let mut run = Run::begin();
        run.fail("store", after, FaultKind::NoRoom);
        while run.sends < RECORDS {
            run.send().await.unwrap();
            run.parts.progress.caught_up().await;
            if let Err(error) = run.parts.flush(4).await {
                refused += 1;
                assert!(error.to_string().contains("no room"), "{error}");
                assert!(run.parts.flush(1000).await.is_err());
                assert!(run.parts.is_behind());
                if after % 4 == 0 {
                    run.watched.0.lift_faults();
                    run.parts.flush(1000).await.unwrap();
                    run.send().await.unwrap();
                    run.parts.progress.caught_up().await;
                    run.parts.flush(1000).await.unwrap();
                    assert!(!run.parts.is_behind());
                }
                break;
            }
        }
        run.power_goes(&format!("no room from write {after} of the store on"))
            .await;
    }
    assert!(refused > 10, "{refused} refused");
}
