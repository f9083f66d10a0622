//! I12 for the log of keys, exhaustively over a small one: after any damage a
//! start refuses and changes nothing, or knows the keys from the first on, each
//! with its own answer; only keys of the end may be missing.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::builders::{Hand, clock, knows};
use crate::support::sim_disk::SimDisk;

const KEYS: u64 = 12;

/// A log of [`KEYS`] keys, a group each, which the journal has given up.
fn written() -> SimDisk {
    let (journal, keys, clock) = (SimDisk::default(), SimDisk::default(), clock());
    let mut hand = Hand::start(&journal, &keys, 100, &clock).unwrap();
    for number in 0..KEYS {
        hand.answer(number).unwrap();
        assert!(hand.saver.turn());
        hand.release().unwrap();
    }
    assert!(keys.names().len() > 2);
    keys.after_kill()
}

fn image(disk: &SimDisk) -> Vec<(String, Vec<u8>)> {
    let names = disk.names().into_iter();
    names
        .map(|name| (name.clone(), disk.bytes(&name)))
        .collect()
}

/// How many keys a start on `damaged` knows; `None` where it refuses.
fn start(damaged: &SimDisk, what: &str) -> Option<u64> {
    let (before, clock) = (image(damaged), clock());
    let started = AssertUnwindSafe(|| Hand::start(&SimDisk::default(), damaged, 100, &clock));
    let Some(hand) = catch_unwind(started).unwrap_or_else(|_| panic!("{what}: a panic")) else {
        assert_eq!(image(damaged), before, "{what}: a refusal changed the disk");
        return None;
    };
    let known = (0..KEYS).take_while(|n| knows(&hand.keys, *n)).count() as u64;
    assert_eq!(
        hand.keys.remembered() as u64,
        known,
        "{what}: some other key"
    );
    Some(known)
}

#[test]
fn every_bit_of_every_byte_and_every_length() {
    let disk = written();
    let names = disk.names();
    let with = |name: &str, bytes: Vec<u8>| {
        let damaged = disk.after_kill();
        damaged.overwrite(name, bytes);
        damaged
    };
    assert_eq!(start(&disk.after_kill(), "undamaged"), Some(KEYS));
    let (mut refused, mut cut) = (0, 0);
    for name in &names {
        let bytes = disk.bytes(name);
        let is_last = Some(name) == names.last();
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let what = format!("{name}, bit {bit}");
            match start(&with(name, damaged), &what) {
                None => refused += 1,
                Some(known) => {
                    assert!(is_last && known == KEYS - 1, "{what}: {known} keys");
                    cut += 1;
                }
            }
        }
        for kept in 0..bytes.len() {
            let what = format!("{name} cut to {kept}");
            let known = start(&with(name, bytes[..kept].to_vec()), &what);
            assert_eq!(known.is_some(), is_last, "{what}");
        }
    }
    assert!(refused > 1000 && cut > 100, "{refused} refused, {cut} cut");
}

#[test]
fn every_segment_missing_or_in_the_place_of_another() {
    let disk = written();
    let names = disk.names();
    for a in 0..names.len() {
        let missing = SimDisk::default();
        for name in names.iter().filter(|name| **name != names[a]) {
            missing.overwrite(name, disk.bytes(name));
        }
        let is_middle = a > 0 && a + 1 < names.len();
        if is_middle || a + 1 == names.len() {
            let known = start(&missing, &names[a]);
            assert_eq!(known.is_none(), is_middle, "{}", names[a]);
        }
        for b in (0..names.len()).filter(|b| *b != a) {
            let doubled = disk.after_kill();
            doubled.overwrite(&names[a], disk.bytes(&names[b]));
            let what = format!("{} holds what {} holds", names[a], names[b]);
            assert_eq!(start(&doubled, &what), None, "{what}");
        }
    }
}
