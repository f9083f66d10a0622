//! How long a key is known, over restarts and whatever the clock does.

use std::sync::Arc;

use hourglass::clock::ManualClock;
use hourglass::model::Micros;

use super::builders::{HOUR, Hand, NOON, clock, knows};
use crate::support::sim_disk::SimDisk;

/// A start on what is there; both logs from `disks`.
fn start(disks: &[SimDisk; 2], clock: &Arc<ManualClock>) -> Hand {
    Hand::start(&disks[0], &disks[1], 100, clock).unwrap()
}

/// A clock that stands `hours` from noon, as another process finds it.
fn at(hours: i64) -> Arc<ManualClock> {
    let now = Micros::new(NOON + hours * 3_600_000_000).unwrap();
    Arc::new(ManualClock::new(now))
}

#[test]
fn a_key_is_known_for_a_day_after_its_receipt_over_restarts() {
    for is_saved in [false, true] {
        let disks = [SimDisk::default(), SimDisk::default()];
        let mut hand = start(&disks, &at(0));
        hand.answer(1).unwrap();
        if is_saved {
            hand.saver.turn();
            hand.journal.finish(hand.keys.hold(2)).unwrap();
        }
        drop(hand);
        for (hours, is_known) in [(0, true), (23, true), (24, false), (1000, false)] {
            let found = [disks[0].after_kill(), disks[1].after_kill()];
            let hand = start(&found, &at(hours));
            assert_eq!(knows(&hand.keys, 1), is_known, "after {hours} hours");
        }
        let clock = at(20);
        let hand = start(&disks, &clock);
        clock.advance(HOUR * 3);
        assert!(knows(&hand.keys, 1));
        clock.advance(HOUR);
        assert!(!knows(&hand.keys, 1));
    }
}

#[test]
fn a_clock_that_stepped_back_over_a_restart_forgets_nothing() {
    let disks = [SimDisk::default(), SimDisk::default()];
    let mut hand = start(&disks, &at(10_000));
    hand.answer(1).unwrap();
    hand.saver.turn();
    drop(hand);
    let clock = at(0);
    let mut hand = start(&disks, &clock);
    assert!(knows(&hand.keys, 1));
    hand.answer(2).unwrap();
    clock.advance(HOUR * 23);
    assert!(knows(&hand.keys, 1) && knows(&hand.keys, 2));
    clock.advance(HOUR);
    assert!(!knows(&hand.keys, 1) && !knows(&hand.keys, 2));
}

#[test]
fn a_key_that_was_forgotten_may_be_used_again() {
    let disks = [SimDisk::default(), SimDisk::default()];
    let clock = clock();
    let mut hand = start(&disks, &clock);
    for _ in 0..3 {
        assert!(!knows(&hand.keys, 1));
        hand.answer(1).unwrap();
        hand.saver.turn();
        assert!(knows(&hand.keys, 1));
        clock.advance(HOUR * 24);
    }
    hand.answer(1).unwrap();
    drop(hand);
    let hand = start(&disks, &clock);
    assert!(knows(&hand.keys, 1));
    assert_eq!(hand.keys.remembered(), 1);
}
