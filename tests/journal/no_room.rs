//! C22: a full disk refuses a group and harms nothing; once there is room the
//! next one goes in.

use hourglass::journal::{AppendError, Log};

use super::builders::{append, assert_holds, fill, open};
use crate::support::sim_disk::{Fault, SimDisk, every_power_cut};

fn is_no_room(result: Result<(), AppendError>) -> bool {
    matches!(result, Err(AppendError::NoRoom(_)))
}

/// Everything up to `end` is there, whatever ends the process now.
fn assert_recovers(disk: &SimDisk, end: u64) {
    let check = |found: SimDisk| {
        let (_, recovered) = open(&found).unwrap();
        assert_eq!(recovered.end_seq, end);
        assert_holds(&found, 1..end);
    };
    check(disk.after_kill());
    every_power_cut(disk, check);
}

#[test]
fn a_group_that_finds_no_room_leaves_no_trace_and_the_next_one_goes_in() {
    for kept in 0..120 {
        let disk = SimDisk::default();
        let (mut log, _) = open(&disk).unwrap();
        append(&mut log, 1..3).unwrap();
        let before = disk.names().pop().map(|name| disk.bytes(&name)).unwrap();
        disk.fail_next(Fault::NoRoom { kept });
        assert!(is_no_room(append(&mut log, 3..5)));
        let after = disk.names().pop().map(|name| disk.bytes(&name)).unwrap();
        assert_eq!(after, before);
        assert_recovers(&disk, 3);
        append(&mut log, 3..6).unwrap();
        assert_recovers(&disk, 6);
    }
}

/// A log of records 1 to 6 whose next append begins a segment.
fn about_to_roll(disk: &SimDisk) -> Log {
    let (mut log, _) = open(disk).unwrap();
    fill(&mut log, 7);
    assert_eq!(log.segments(), 1);
    log
}

#[test]
fn a_segment_that_finds_no_room_is_made_by_the_next_append() {
    let mut faults: Vec<Fault> = (0..=20).map(|kept| Fault::NoRoom { kept }).collect();
    faults.push(Fault::CreateNoRoom);
    for fault in faults {
        let disk = SimDisk::default();
        let mut log = about_to_roll(&disk);
        let names = disk.names();
        disk.fail_next(fault);
        assert!(is_no_room(append(&mut log, 7..9)), "{fault:?}");
        assert_eq!(disk.names(), names, "{fault:?}");
        assert_recovers(&disk, 7);
        append(&mut log, 7..9).unwrap();
        assert_eq!(disk.names().len(), names.len() + 1, "{fault:?}");
        assert_recovers(&disk, 9);
    }
}

#[test]
fn a_full_disk_lets_go_of_what_is_confirmed() {
    let disk = SimDisk::default();
    let mut log = about_to_roll(&disk);
    disk.fail_next(Fault::CreateNoRoom);
    assert!(log.finish(7).is_err());
    fill(&mut log, 20);
    disk.fail_next(Fault::CreateNoRoom);
    let names = disk.names().len();
    assert!(log.finish(20).is_err());
    assert_eq!((names > 2, disk.names().len()), (true, 1));
    log.finish(20).unwrap();
    assert_eq!(open(&disk).unwrap().1.records, 0);
}
