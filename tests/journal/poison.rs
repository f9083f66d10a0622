//! A failed write or sync poisons the log: no second try as if nothing had
//! happened, and what was acknowledged before is there after a restart.

use hourglass::journal::AppendError;

use super::builders::{append, assert_holds, fill, open};
use crate::support::sim_disk::{Fault, SimDisk};

fn reason(result: Result<(), AppendError>) -> String {
    match result.unwrap_err() {
        AppendError::Poisoned(reason) => reason,
        other => panic!("{other}"),
    }
}

#[test]
fn after_a_failed_sync_or_write_every_append_is_refused_with_the_first_reason() {
    for (fault, said) in [
        (Fault::SyncFails, "fdatasync failed"),
        (Fault::AppendFails, "input/output error"),
    ] {
        let disk = SimDisk::default();
        let (mut log, _) = open(&disk).unwrap();
        append(&mut log, 1..4).unwrap();
        disk.fail_next(fault);
        assert_eq!(reason(append(&mut log, 4..5)), said);
        for _ in 0..3 {
            assert_eq!(reason(append(&mut log, 4..5)), said);
        }
        let found = disk.after_kill();
        let (mut log, recovered) = open(&found).unwrap();
        assert_eq!(recovered.end_seq, 4, "what was refused is not read back");
        append(&mut log, 4..6).unwrap();
        assert_holds(&found, 1..6);
    }
}

#[test]
fn a_failed_sync_of_a_new_segment_poisons_too() {
    let disk = SimDisk::default();
    let (mut log, _) = open(&disk).unwrap();
    fill(&mut log, 7);
    disk.fail_next(Fault::SyncFails);
    assert_eq!(reason(append(&mut log, 7..8)), "fdatasync failed");
    assert_eq!(reason(append(&mut log, 7..8)), "fdatasync failed");
    let found = disk.after_kill();
    assert_eq!(open(&found).unwrap().1.end_seq, 7);
    assert_holds(&found, 1..7);
}

#[test]
fn a_poisoned_log_still_lets_go_of_what_is_confirmed() {
    let disk = SimDisk::default();
    let (mut log, _) = open(&disk).unwrap();
    fill(&mut log, 20);
    disk.fail_next(Fault::SyncFails);
    reason(append(&mut log, 20..21));
    log.release(20).unwrap();
    assert_eq!((log.segments(), disk.names().len()), (1, 1));
    log.finish(20).unwrap();
}
