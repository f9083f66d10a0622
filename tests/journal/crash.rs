//! A power cut at every sync there is, keeping every prefix of what was not
//! synced and every choice of names: what was acknowledged is there, what was
//! not is there whole or not at all, and the next start goes on.

use hourglass::journal::Log;

use super::builders::{append, assert_holds, fill, open};
use crate::support::sim_disk::{SimDisk, every_power_cut};

/// What a run came to before the power went.
#[derive(Debug, Default, Clone, Copy)]
struct Acknowledged {
    /// Records below it were acknowledged.
    end: u64,
    /// Records below it were tried.
    tried: u64,
    /// Records below it were released.
    low_water: u64,
}

/// Groups, rolls, a release of several segments, a tidy end; until a step fails.
fn run(disk: &SimDisk, seen: &mut Acknowledged) -> Option<()> {
    let (mut log, recovered) = open(disk).ok()?;
    seen.end = recovered.end_seq;
    let write = |log: &mut Log, size: u64, seen: &mut Acknowledged| {
        seen.tried = seen.end + size;
        append(log, seen.end..seen.tried).ok()?;
        seen.end = seen.tried;
        Some(())
    };
    for size in [1, 2, 3, 1, 2, 3, 1] {
        write(&mut log, size, seen)?;
    }
    seen.low_water = seen.end - 2;
    log.release(seen.low_water).ok()?;
    for size in [2, 1] {
        write(&mut log, size, seen)?;
    }
    seen.low_water = seen.end;
    log.finish(seen.low_water).ok()
}

fn check(found: &SimDisk, seen: Acknowledged) {
    let (mut log, recovered) = open(found).unwrap();
    let end = recovered.end_seq;
    assert!(
        end == seen.end.max(1) || end == seen.tried,
        "{recovered:?} after {seen:?}"
    );
    let first = recovered.first_seq.unwrap_or(end);
    assert!(
        first <= seen.low_water.max(1),
        "{recovered:?} after {seen:?}"
    );
    assert_eq!(recovered.records, end - first);
    assert_holds(found, first..end);
    fill(&mut log, end + 4);
    drop(log);
    let (_, again) = open(found).unwrap();
    assert_eq!(again.torn, None);
    assert_eq!((again.first_seq.unwrap(), again.end_seq), (first, end + 4));
    assert_holds(found, first..end + 4);
}

#[test]
fn a_power_cut_at_any_sync_loses_nothing_acknowledged_and_invents_nothing() {
    let whole = SimDisk::default();
    run(&whole, &mut Acknowledged::default()).unwrap();
    let syncs = whole.syncs();
    assert!(syncs > 15, "{syncs} syncs are too few to prove anything");
    let mut cuts = 0;
    for left in 0..=syncs {
        let disk = SimDisk::default();
        disk.power_cut_after(left);
        let mut seen = Acknowledged::default();
        assert_eq!(run(&disk, &mut seen).is_some(), left == syncs);
        every_power_cut(&disk, |found| {
            check(&found, seen);
            cuts += 1;
        });
    }
    assert!(cuts > 500, "{cuts} cuts");
}

#[test]
fn a_start_that_is_cut_off_at_any_sync_harms_nothing() {
    let before = SimDisk::default();
    let (mut log, _) = open(&before).unwrap();
    fill(&mut log, 12);
    let last = before.names().pop().unwrap();
    let mut torn = before.bytes(&last);
    torn.truncate(torn.len() - 7);
    before.overwrite(&last, torn);
    drop(log);
    let started = before.after_kill();
    let (_, recovered) = open(&started).unwrap();
    assert!(recovered.torn.is_some());
    let seen = Acknowledged {
        end: recovered.end_seq,
        ..Acknowledged::default()
    };
    for left in 0..started.syncs() {
        let disk = before.after_kill();
        disk.power_cut_after(left);
        assert!(open(&disk).is_err());
        every_power_cut(&disk, |found| check(&found, seen));
    }
}

#[test]
fn a_kill_keeps_what_was_written() {
    let disk = SimDisk::default();
    let (mut log, _) = open(&disk).unwrap();
    fill(&mut log, 20);
    let found = disk.after_kill();
    drop(log);
    let (_, recovered) = open(&found).unwrap();
    assert_eq!((recovered.first_seq, recovered.end_seq), (Some(1), 20));
    assert_eq!((recovered.torn, recovered.values), (None, 19));
    assert_holds(&found, 1..20);
}
