//! A segment goes exactly when the store has confirmed all it holds.

use hourglass::journal::Space;
use proptest::prelude::*;

use super::builders::{append, assert_holds, fill, open, open_within};
use crate::support::sim_disk::{SimDisk, every_power_cut};

/// First sequences of the segments on disk.
fn firsts(disk: &SimDisk) -> Vec<u64> {
    let first = |name: &String| name.strip_suffix(".journal").unwrap().parse().unwrap();
    disk.names().iter().map(first).collect()
}

fn bytes(disk: &SimDisk) -> u64 {
    let names = disk.names().into_iter();
    names.map(|name| disk.bytes(&name).len() as u64).sum()
}

#[test]
fn exactly_the_segments_below_the_low_water_mark_go() {
    let whole = SimDisk::default();
    let (mut log, _) = open(&whole).unwrap();
    fill(&mut log, 30);
    let all = firsts(&whole);
    assert!(all.len() > 4);
    for low_water in 1..=30 {
        let disk = whole.after_kill();
        let space = Space::new(1 << 20);
        let (mut log, _) = open_within(&disk, &space).unwrap();
        log.release(low_water).unwrap();
        // The segment of the start stands behind the last record.
        let ends = all[1..].iter().copied().chain([30]);
        let kept = all.iter().zip(ends).filter(|(_, end)| *end > low_water);
        let kept: Vec<u64> = kept.map(|(first, _)| *first).chain([30]).collect();
        assert_eq!(firsts(&disk), kept, "below {low_water}");
        assert_eq!(space.used(), bytes(&disk));
        assert_eq!(log.oldest_segment_end(), kept.get(1).copied().unwrap_or(30));
        assert_holds(&disk, kept[0]..30);
    }
}

#[test]
fn a_power_cut_while_segments_go_never_leaves_a_gap() {
    let whole = SimDisk::default();
    let (mut log, _) = open(&whole).unwrap();
    fill(&mut log, 30);
    drop(log);
    let released = whole.after_kill();
    let (mut log, _) = open(&released).unwrap();
    let start = released.syncs();
    log.release(25).unwrap();
    let syncs = released.syncs() - start;
    assert!(syncs > 2, "each removal is synced before the next");
    for left in 0..syncs {
        let disk = whole.after_kill();
        let (mut log, _) = open(&disk).unwrap();
        disk.power_cut_after(left);
        assert!(log.release(25).is_err());
        every_power_cut(&disk, |found| {
            assert_eq!(open(&found).unwrap().1.end_seq, 30);
            assert_holds(&found, 25..30);
        });
    }
}

/// Otherwise a small bound is full for good: nothing fits, so nothing begins
/// the next segment, so nothing goes.
#[test]
fn the_segment_that_is_written_to_goes_once_it_is_large_and_confirmed() {
    let disk = SimDisk::default();
    let space = Space::new(1000);
    let (mut log, _) = open_within(&disk, &space).unwrap();
    append(&mut log, 1..17).unwrap();
    assert!(space.reserve(500).is_err());
    log.release(16).unwrap();
    assert!(space.reserve(500).is_err(), "a record is unconfirmed");
    log.release(17).unwrap();
    assert!(space.reserve(900).is_ok());
    append(&mut log, 17..18).unwrap();
    assert_holds(&disk, 17..18);
}

#[test]
fn a_finish_leaves_one_empty_segment() {
    let disk = SimDisk::default();
    let (mut log, _) = open(&disk).unwrap();
    fill(&mut log, 9);
    log.finish(9).unwrap();
    assert_eq!(firsts(&disk), [9]);
    let (_, recovered) = open(&disk).unwrap();
    assert_eq!((recovered.records, recovered.end_seq), (0, 9));
    assert_eq!(firsts(&disk), [9]);
}

proptest! {
    /// Whatever is appended and released in any order, with restarts: the space
    /// is what is on disk, and what is not released can be read.
    #[test]
    fn space_counts_what_is_on_disk(
        steps in proptest::collection::vec((1u64..5, 0u64..12, any::<bool>()), 1..25)
    ) {
        let disk = SimDisk::default();
        let mut space = Space::new(1 << 20);
        let (mut log, _) = open_within(&disk, &space).unwrap();
        let mut low_water = 1;
        for (records, confirmed, restarts) in steps {
            let first = log.next_seq();
            append(&mut log, first..first + records).unwrap();
            low_water = (low_water + confirmed).min(log.next_seq());
            log.release(low_water).unwrap();
            if restarts {
                drop(log);
                space = Space::new(1 << 20);
                log = open_within(&disk, &space).unwrap().0;
            }
            prop_assert_eq!(space.used(), bytes(&disk));
            assert_holds(&disk, low_water..log.next_seq());
        }
    }
}
