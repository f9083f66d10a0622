//! The writer thread: group commit, the bound, a failing disk, the end.

use std::sync::Arc;

use hourglass::journal::{AppendError, Journal, JournalError, JournalState};

use super::builders::record;
use super::running::Running;
use crate::support::sim_disk::{Fault, SimDisk};
use crate::support::until::until;

async fn append(journal: &Journal, number: u64) -> Result<u64, JournalError> {
    let record = record(number);
    let encoded = record.encode();
    journal.append(record, encoded, || ()).await
}

#[tokio::test]
async fn what_arrives_during_one_sync_shares_the_next() {
    let disk = SimDisk::default();
    let running = Running::start(&disk, 1 << 20);
    let syncs = disk.syncs();
    disk.hold_syncs();
    let first = tokio::spawn(running.append(1));
    until(|| disk.holds_a_sync()).await;
    let others: Vec<_> = (2..=100).map(|n| tokio::spawn(running.append(n))).collect();
    until(|| running.journal.queued() == 99).await;
    disk.let_syncs_go();
    let mut seqs = vec![first.await.unwrap().unwrap()];
    for other in others {
        seqs.push(other.await.unwrap().unwrap());
    }
    seqs.sort_unstable();
    assert_eq!(seqs, (1..=100).collect::<Vec<_>>());
    assert_eq!(disk.syncs() - syncs, 2);
    running.stop().await;
}

#[tokio::test]
async fn a_full_journal_answers_at_once_and_takes_more_after_a_release() {
    let disk = SimDisk::default();
    let running = Running::start(&disk, 1 << 12);
    let mut number = 0;
    let full = loop {
        number += 1;
        match append(&running.journal, number).await {
            Ok(seq) => assert_eq!(seq, number),
            Err(error) => break error,
        }
    };
    assert!(matches!(full, JournalError::Full(_)), "{full}");
    let space = running.journal.space();
    assert!(space.used() <= space.bytes_max());
    running.journal.release(number).await;
    until(|| running.journal.space().used() < 100).await;
    append(&running.journal, number).await.unwrap();
    running.stop().await;
}

#[tokio::test]
async fn a_full_disk_refuses_a_group_and_takes_the_next() {
    let disk = SimDisk::default();
    let running = Running::start(&disk, 1 << 20);
    append(&running.journal, 1).await.unwrap();
    let used = running.journal.space().used();
    disk.fail_next(Fault::NoRoom { kept: 9 });
    let error = append(&running.journal, 2).await.unwrap_err();
    assert!(matches!(
        error,
        JournalError::Append(AppendError::NoRoom(_))
    ));
    assert_eq!(running.journal.space().used(), used);
    assert!(matches!(running.journal.state(), JournalState::NoRoom(_)));
    assert_eq!(append(&running.journal, 2).await.unwrap(), 2);
    assert_eq!(running.journal.state(), JournalState::Writing);
    running.stop().await;
}

/// Who is told of a full disk may send nothing more.
#[tokio::test]
async fn a_full_disk_that_has_room_again_is_found_out_without_an_append() {
    let disk = SimDisk::default();
    let running = Running::start(&disk, 1 << 20);
    append(&running.journal, 1).await.unwrap();
    disk.fail_next(Fault::NoRoom { kept: 9 });
    disk.fail_next(Fault::NoRoom { kept: 9 });
    append(&running.journal, 2).await.unwrap_err();
    let (name, sound) = (disk.names()[0].clone(), disk.bytes(&disk.names()[0]));
    running.journal.release(1).await;
    running.journal.release(1).await;
    until(|| running.journal.state() == JournalState::Writing).await;
    assert_eq!(disk.bytes(&name), sound, "what was tried is taken back");
    assert_eq!(append(&running.journal, 2).await.unwrap(), 2);
    running.stop().await;
}

#[tokio::test]
async fn a_poisoned_journal_says_so_and_answers_at_once() {
    let disk = SimDisk::default();
    let running = Running::start(&disk, 1 << 20);
    append(&running.journal, 1).await.unwrap();
    let used = running.journal.space().used();
    disk.fail_next(Fault::SyncFails);
    for _ in 0..3 {
        let error = append(&running.journal, 2).await.unwrap_err();
        assert!(
            matches!(&error, JournalError::Append(AppendError::Poisoned(_))),
            "{error}"
        );
        let state = running.journal.state();
        assert!(matches!(&state, JournalState::Poisoned(why) if why.contains("fdatasync failed")));
        assert_eq!(running.journal.space().used(), used);
    }
    running.stop().await;
}

#[tokio::test]
async fn senders_that_hang_up_leave_no_reservation_and_their_records_go_in() {
    let disk = SimDisk::default();
    let running = Running::start(&disk, 1 << 20);
    disk.hold_syncs();
    let mut senders = vec![tokio::spawn(running.append(1))];
    until(|| disk.holds_a_sync()).await;
    senders.extend((2..=20).map(|n| tokio::spawn(running.append(n))));
    until(|| running.journal.queued() == 19).await;
    for sender in senders {
        sender.abort();
        assert!(sender.await.unwrap_err().is_cancelled());
    }
    disk.let_syncs_go();
    append(&running.journal, 21).await.unwrap();
    assert_eq!(running.progress.applied_end(), 22);
    let on_disk: usize = disk.names().iter().map(|name| disk.bytes(name).len()).sum();
    until(|| running.journal.space().used() == on_disk as u64).await;
    running.stop().await;
}

#[tokio::test]
async fn a_finish_answers_everybody_and_leaves_one_empty_segment() {
    let disk = SimDisk::default();
    let running = Running::start(&disk, 1 << 20);
    for number in 1..=9 {
        append(&running.journal, number).await.unwrap();
    }
    let journal = running.journal.clone();
    let late: Vec<_> = (0..50).map(|_| tokio::spawn(running.append(10))).collect();
    journal.finish(10).await;
    for sender in late {
        match sender.await.unwrap() {
            Ok(seq) => assert!(seq >= 10),
            Err(error) => assert!(matches!(error, JournalError::Stopping), "{error}"),
        }
    }
    let error = append(&journal, 10).await.unwrap_err();
    assert!(matches!(error, JournalError::Stopping));
    let applied = running.end().await;
    let taken = disk.names().len();
    assert_eq!(taken, if applied == 10 { 1 } else { taken });
    let on_disk: usize = disk.names().iter().map(|name| disk.bytes(name).len()).sum();
    assert_eq!(
        journal.space().used(),
        on_disk as u64,
        "no reservation is left"
    );
    let again = Running::start(&disk, 1 << 20);
    assert_eq!(again.recovered.end_seq, applied);
    again.stop().await;
}

#[tokio::test]
async fn a_finish_of_what_is_confirmed_leaves_nothing_to_recover() {
    let disk = SimDisk::default();
    let running = Running::start(&disk, 1 << 20);
    for number in 1..=9 {
        append(&running.journal, number).await.unwrap();
    }
    running.journal.finish(10).await;
    assert_eq!(disk.names().len(), 1);
    running.end().await;
    let again = Running::start(&disk, 1 << 20);
    assert_eq!(again.recovered.records, 0);
    assert_eq!(again.recovered.end_seq, 10);
    assert_eq!(Arc::strong_count(&again.buffer), 2);
    again.stop().await;
}
