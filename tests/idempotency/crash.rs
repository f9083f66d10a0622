//! A power cut at every sync of the journal and of the log of keys: no key of an
//! answered request is forgotten but by the bound, wherever its record was.

use std::sync::Arc;

use hourglass::clock::ManualClock;

use super::builders::{Hand, clock, knows};
use crate::support::sim_disk::{SimDisk, every_power_cut};

/// Keys remembered; fewer than a run uses, so that segments of keys go.
const KEYS_MAX: usize = 6;

/// Requests of a run.
const REQUESTS: u64 = 14;

/// The two disks of a data directory.
#[derive(Debug, Default)]
struct Disks {
    journal: SimDisk,
    keys: SimDisk,
}

/// What a run came to before the power went.
#[derive(Debug, Default, Clone, Copy)]
struct Answered {
    /// Requests below it were answered.
    end: u64,
    /// Requests below it were tried.
    tried: u64,
}

/// Requests, with a turn of the saver and a release after each second one, and
/// a restart in the middle. `None` where the journal failed; a failure of the
/// log of keys stops nothing.
fn run(disks: &Disks, clock: &Arc<ManualClock>, seen: &mut Answered) -> Option<()> {
    for requests in [0..REQUESTS / 2, REQUESTS / 2..REQUESTS] {
        let mut hand = Hand::start(&disks.journal, &disks.keys, KEYS_MAX, clock)?;
        for number in requests {
            seen.tried = number + 1;
            hand.answer(number)?;
            seen.end = number + 1;
            if number % 2 == 1 {
                hand.saver.turn();
                hand.release()?;
            }
        }
    }
    Some(())
}

fn check(journal: &SimDisk, keys: &SimDisk, clock: &Arc<ManualClock>, seen: Answered) {
    let mut hand = Hand::start(journal, keys, KEYS_MAX, clock).unwrap();
    let known: Vec<u64> = (0..REQUESTS).filter(|n| knows(&hand.keys, *n)).collect();
    // One that was tried and not answered may be there, in the place of the
    // oldest.
    let kept = KEYS_MAX as u64 - (seen.tried - seen.end);
    for number in seen.end.saturating_sub(kept)..seen.end {
        assert!(known.contains(&number), "{number} of {seen:?}: {known:?}");
    }
    assert!(known.iter().all(|n| *n < seen.tried), "{seen:?}: {known:?}");
    // It goes on, and so does the next start.
    hand.answer(REQUESTS).unwrap();
    while hand.saver.turn() {}
    hand.release().unwrap();
    drop(hand);
    let hand = Hand::start(journal, keys, KEYS_MAX, clock).unwrap();
    assert!(knows(&hand.keys, REQUESTS));
    assert_eq!(hand.keys.unsaved(), 0);
}

/// Of one disk everything that may be found, of the other all of what was
/// written or none of what was not synced.
fn check_every_cut(disks: &Disks, clock: &Arc<ManualClock>, seen: Answered) -> u32 {
    let mut cuts = 0;
    let both = |disk: &SimDisk| {
        [
            disk.after_kill(),
            disk.after_power_cut(|_| 0),
            disk.after_power_cut(|options| options - 1),
        ]
    };
    every_power_cut(&disks.keys, |keys| {
        for journal in both(&disks.journal) {
            check(&journal, &keys.after_kill(), clock, seen);
            cuts += 1;
        }
    });
    every_power_cut(&disks.journal, |journal| {
        for keys in both(&disks.keys) {
            check(&journal.after_kill(), &keys, clock, seen);
            cuts += 1;
        }
    });
    cuts
}

#[test]
fn a_power_cut_at_any_sync_forgets_no_key_of_an_answered_request() {
    let whole = Disks::default();
    let clock = clock();
    run(&whole, &clock, &mut Answered::default()).unwrap();
    let (journal, keys) = (whole.journal.syncs(), whole.keys.syncs());
    assert!(journal > 20 && keys > 15, "{journal} and {keys} syncs");
    let mut cuts = 0;
    for left in 0..=journal {
        let disks = Disks::default();
        disks.journal.power_cut_after(left);
        let mut seen = Answered::default();
        assert_eq!(run(&disks, &clock, &mut seen).is_some(), left == journal);
        cuts += check_every_cut(&disks, &clock, seen);
    }
    for left in 0..=keys {
        let disks = Disks::default();
        disks.keys.power_cut_after(left);
        let mut seen = Answered::default();
        // The next start fails where the disk is off; until then it goes on.
        run(&disks, &clock, &mut seen);
        cuts += check_every_cut(&disks, &clock, seen);
    }
    assert!(cuts > 1000, "{cuts} cuts");
}

#[test]
fn the_journal_is_empty_once_the_log_of_keys_has_all_of_it() {
    let (disks, clock) = (Disks::default(), clock());
    let mut hand = Hand::start(&disks.journal, &disks.keys, KEYS_MAX, &clock).unwrap();
    for number in 0..5 {
        hand.answer(number).unwrap();
    }
    assert_eq!(hand.keys.hold(6), 1, "nothing is saved yet");
    hand.saver.turn();
    assert_eq!(hand.keys.hold(6), 6);
    hand.journal.finish(hand.keys.hold(6)).unwrap();
    drop(hand);
    assert_eq!(disks.journal.names().len(), 1);
    let hand = Hand::start(&disks.journal, &disks.keys, KEYS_MAX, &clock).unwrap();
    assert!((0..5).all(|number| knows(&hand.keys, number)));
}
