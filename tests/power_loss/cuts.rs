//! I1, C22: the power is cut at every sync point of a run, first starts,
//! recoveries and the store's own tables and merges included.
//!
//! Method: a run on real files; at sync points, all of them or some by chance,
//! the directory is laid out anew as a power cut would leave it, twice: with
//! nothing that was not synced, and with some of it. A start on it must have
//! everything. `HOURGLASS_TEST_CUTS=all` takes every sync point.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::checked::check;
use super::machine::{Image, Machine};
use super::parts::Parts;
use super::seed::seeded;
use super::syscalls::Watched;
use super::workload::{Sent, record};

/// How many sync points of a run are looked at, one in so many.
fn one_in() -> u32 {
    match std::env::var("HOURGLASS_TEST_CUTS") {
        Ok(all) if all == "all" => 1,
        _ => 12,
    }
}

/// Numbers the processes of all runs.
static PROCESSES: AtomicU32 = AtomicU32::new(1);

fn number() -> u32 {
    PROCESSES.fetch_add(2, Ordering::Relaxed)
}

struct Cut {
    /// Which sync it was, and what is left of what was not synced.
    name: String,
    image: Image,
    acknowledged: BTreeSet<u64>,
}

/// Lays out what cuts leave of the machine, each `one_in`-th sync point from one by
/// chance on, so that a run has as many as it has syncs for.
/// `acknowledged` says what was acknowledged by then.
fn cut(
    machine: &Machine,
    one_in: u32,
    acknowledged: impl Fn() -> BTreeSet<u64> + Send + 'static,
    mut rng: StdRng,
    cuts: SyncSender<Cut>,
) {
    let first = rng.random_range(0..u64::from(one_in));
    machine.on_sync(move |state, sync| {
        if sync % u64::from(one_in) != first {
            return;
        }
        let acknowledged = acknowledged();
        let worst = ("nothing", state.worst());
        let some = ("some", state.some(&mut rng));
        for (what, image) in [worst, some] {
            let cut = Cut {
                name: format!("cut at sync {sync}, {what} of the unsynced left"),
                image,
                acknowledged: acknowledged.clone(),
            };
            // A check that failed reads no more.
            if cuts.send(cut).is_err() {
                return;
            }
        }
    });
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

/// Checks what comes; how many there were, and the first that failed.
fn check_all(cuts: &Receiver<Cut>, sent: &Sent) -> Result<usize, String> {
    let runtime = runtime();
    let mut checked = 0;
    for cut in cuts {
        let root = tempfile::tempdir().unwrap();
        cut.image.lay_out(root.path());
        let dir = root.path().join(DATA);
        let acknowledged = &cut.acknowledged;
        runtime
            .block_on(check(&dir, number(), acknowledged, sent))
            .map_err(|error| format!("{}: {error}", cut.name))?;
        checked += 1;
    }
    Ok(checked)
}

/// The data directory, made by the first start together with its parent.
const DATA: &str = "var/hourglass";

/// Sends records while it flushes, then flushes what is left.
async fn run(dir: &Path, records: std::ops::Range<u64>, sent: &Sent, rng: &mut StdRng) {
    let mut parts = Parts::start(dir, number()).unwrap();
    let mut at = records.start;
    while at < records.end {
        let size = rng.random_range(1..4).min(records.end - at);
        let group: Vec<_> = (at..at + size).map(|n| record(n, 8, rng)).collect();
        let answers = group.into_iter().map(|record| sent.send(&parts, record));
        for answer in futures_util::future::join_all(answers).await {
            answer.unwrap();
        }
        at += size;
        parts.progress.caught_up().await;
        match rng.random_range(0..4) {
            0 => parts.drain().await.unwrap(),
            1 | 2 => parts.flush(rng.random_range(1..8)).await.unwrap(),
            _ => {}
        }
    }
    parts.end().await;
}

/// A run with its cuts, all checked.
fn run_with_cuts(
    root: &Path,
    records: std::ops::Range<u64>,
    sent: &Sent,
    one_in: u32,
    rng: &mut StdRng,
) -> usize {
    let watched = Watched::new(Machine::adopt(root));
    let (cuts, checks) = sync_channel(4);
    let known = sent.clone();
    let acknowledged = move || known.acknowledged().into_keys().collect();
    cut(
        &watched.0,
        one_in,
        acknowledged,
        StdRng::from_rng(rng),
        cuts,
    );
    let checked = std::thread::scope(|scope| {
        let checker = scope.spawn(move || check_all(&checks, sent));
        runtime().block_on(run(&root.join(DATA), records, sent, rng));
        // With it goes the sender of the cuts.
        watched.0.on_sync(|_, _| ());
        checker.join().unwrap()
    });
    eprintln!(
        "{} syncs, {checked:?} cuts checked",
        watched.0.state().syncs()
    );
    checked.unwrap()
}

#[test]
fn c22_a_power_cut_at_any_sync_of_the_data_directory_loses_nothing_acknowledged() {
    let mut rng = seeded();
    let root = tempfile::tempdir().unwrap();
    let sent = Sent::default();
    // The first start, all of whose syncs are looked at.
    let first = run_with_cuts(root.path(), 0..2, &sent, 1, &mut rng);
    assert!(first > 60, "{first} cuts");
    let later = run_with_cuts(root.path(), 2..300, &sent, one_in(), &mut rng);
    assert!(later > 40, "{later} cuts");
    // All that there is to cut through has happened.
    let dir = root.path().join(DATA);
    let made = tables_made(&dir.join("store/keyspaces"));
    assert!(made > 20, "the store made {made} tables");
    for log in ["journal", "keys"] {
        let first = dir.join(log).join("00000000000000000001.journal");
        let is_there = first.exists();
        assert_eq!(
            is_there,
            log == "keys",
            "{log}: keys stay a day, segments do not"
        );
    }
}

/// Tables that the store made so far, merged ones too: they are numbered in each
/// key space.
fn tables_made(key_spaces: &Path) -> u64 {
    let entries = |dir: &Path| {
        let entries = std::fs::read_dir(dir).unwrap();
        entries.map(|entry| entry.unwrap()).collect::<Vec<_>>()
    };
    let newest = |dir: std::fs::DirEntry| {
        let names = entries(&dir.path().join("tables")).into_iter();
        let numbers = names.filter_map(|name| name.file_name().to_str()?.parse::<u64>().ok());
        numbers.max().map_or(0, |number| number + 1)
    };
    entries(key_spaces)
        .into_iter()
        .filter(|dir| dir.file_name() != "0")
        .map(newest)
        .sum()
}

/// What a cut left, and what was acknowledged.
type Left = (Image, BTreeSet<u64>);

/// The power goes again while a start recovers.
#[test]
fn c22_a_power_cut_while_a_start_recovers_loses_nothing_acknowledged() {
    let mut rng = seeded();
    let root = tempfile::tempdir().unwrap();
    let sent = Sent::default();
    let watched = Watched::new(Machine::adopt(root.path()));
    let left: Arc<Mutex<Vec<Left>>> = Arc::default();
    let mut choices = StdRng::from_rng(&mut rng);
    watched.0.on_sync({
        let (left, sent) = (Arc::clone(&left), sent.clone());
        move |state, sync| {
            if sync > 130 && choices.random_range(0..10) == 0 {
                let acknowledged = sent.acknowledged().into_keys().collect();
                let image = state.some(&mut choices);
                left.lock().unwrap().push((image, acknowledged));
            }
        }
    });
    runtime().block_on(run(&root.path().join(DATA), 0..60, &sent, &mut rng));
    drop(watched);
    let left = std::mem::take(&mut *left.lock().unwrap());
    assert!(!left.is_empty());
    let mut cuts_checked = 0;
    for (image, acknowledged) in left.into_iter().take(6) {
        let root = tempfile::tempdir().unwrap();
        image.lay_out(root.path());
        let watched = Watched::new(Machine::adopt(root.path()));
        let (cuts, checks) = sync_channel(4);
        let choices = StdRng::from_rng(&mut rng);
        // Nothing is acknowledged while a start recovers.
        let known = acknowledged.clone();
        cut(
            &watched.0,
            one_in() / 4 + 1,
            move || known.clone(),
            choices,
            cuts,
        );
        let sent = &sent;
        let checked = std::thread::scope(|scope| {
            let checker = scope.spawn(move || check_all(&checks, sent));
            let dir = root.path().join(DATA);
            let recovered = runtime().block_on(check(&dir, number(), &acknowledged, sent));
            watched.0.on_sync(|_, _| ());
            recovered.unwrap();
            checker.join().unwrap()
        });
        cuts_checked += checked.unwrap();
    }
    assert!(cuts_checked > 0);
}
