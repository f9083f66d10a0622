//! The log of keys on a disk that fails, and how it gets rid of what is
//! forgotten.

use super::builders::{HOUR, Hand, clock, knows};
use crate::support::sim_disk::{Fault, SimDisk};

#[test]
fn a_sync_that_fails_holds_the_journal_and_stops_nothing() {
    let (journal, keys, clock) = (SimDisk::default(), SimDisk::default(), clock());
    let mut hand = Hand::start(&journal, &keys, 100, &clock).unwrap();
    hand.answer(0).unwrap();
    hand.saver.turn();
    assert_eq!(hand.keys.hold(2), 2);
    keys.fail_next(Fault::SyncFails);
    for number in 1..20 {
        hand.answer(number).unwrap();
        assert!(!hand.saver.turn(), "it is not tried without end");
        hand.release().unwrap();
        assert_eq!(hand.keys.hold(100), 2, "what failed is held");
        assert_eq!(hand.keys.unsaved() as u64, number);
    }
    assert!((0..20).all(|number| knows(&hand.keys, number)));
    drop(hand);
    // A restart on a sound disk saves what is left.
    let (journal, keys) = (journal.after_kill(), keys.after_kill());
    let mut hand = Hand::start(&journal, &keys, 100, &clock).unwrap();
    assert!((0..20).all(|number| knows(&hand.keys, number)));
    while hand.saver.turn() {}
    assert_eq!((hand.keys.unsaved(), hand.keys.hold(100)), (0, 100));
}

#[test]
fn a_full_disk_is_tried_again() {
    let (journal, keys, clock) = (SimDisk::default(), SimDisk::default(), clock());
    let mut hand = Hand::start(&journal, &keys, 100, &clock).unwrap();
    hand.answer(0).unwrap();
    keys.fail_next(Fault::NoRoom { kept: 20 });
    assert!(!hand.saver.turn());
    assert_eq!(hand.keys.hold(2), 1);
    assert!(hand.saver.turn());
    assert_eq!(hand.keys.hold(2), 2);
    let hand = Hand::start(&SimDisk::default(), &keys.after_kill(), 100, &clock).unwrap();
    assert!(knows(&hand.keys, 0));
}

/// Bytes of the files on `disk`.
fn bytes(disk: &SimDisk) -> usize {
    disk.names().iter().map(|name| disk.bytes(name).len()).sum()
}

#[test]
fn what_is_forgotten_at_the_bound_leaves_the_disk() {
    let (journal, keys, clock) = (SimDisk::default(), SimDisk::default(), clock());
    let mut hand = Hand::start(&journal, &keys, 10, &clock).unwrap();
    let mut most = 0;
    for number in 0..300 {
        hand.answer(number).unwrap();
        hand.saver.turn();
        most = most.max(bytes(&keys));
        hand.release().unwrap();
    }
    // Ten keys of some 90 bytes in segments of 250, and their heads.
    assert!(most < 2_500, "{most} bytes");
    assert_eq!(hand.keys.remembered(), 10);
    drop(hand);
    let hand = Hand::start(&journal, &keys, 10, &clock).unwrap();
    assert!((290..300).all(|number| knows(&hand.keys, number)));
    assert!((0..290).all(|number| !knows(&hand.keys, number)));
}

#[test]
fn what_is_too_old_leaves_memory_and_disk_without_a_request() {
    let (journal, keys, clock) = (SimDisk::default(), SimDisk::default(), clock());
    let mut hand = Hand::start(&journal, &keys, 100, &clock).unwrap();
    for number in 0..50 {
        hand.answer(number).unwrap();
        hand.saver.turn();
    }
    clock.advance(HOUR * 23);
    hand.answer(50).unwrap();
    hand.saver.turn();
    assert_eq!(hand.keys.remembered(), 51);
    clock.advance(HOUR);
    hand.saver.turn();
    assert_eq!(hand.keys.remembered(), 1);
    assert!(bytes(&keys) < 400, "{} bytes", bytes(&keys));
    drop(hand);
    let hand = Hand::start(&journal, &keys, 100, &clock).unwrap();
    assert_eq!(hand.keys.remembered(), 1);
    assert!(knows(&hand.keys, 50));
}
