//! What passed retention while it waited is counted as expired and not written.

use std::sync::Arc;

use hourglass::model::Keep;
use hourglass::store::Expect;

use super::builders::{HOUR, Process, batch, hours, keeping, key, now};

fn expired(process: &Process) -> u64 {
    process.assert_balances();
    let pending = process.buffer.pending_values();
    process.ledger.snapshot(pending).expired_values
}

#[tokio::test]
async fn readings_that_are_too_old_when_their_batch_comes_are_expired() {
    let dir = tempfile::tempdir().unwrap();
    let process = Process::on(dir.path(), &keeping(Keep::Forever, hours(10)), 1);
    process.apply(5, &batch("S1", [HOUR - 11, HOUR - 10, HOUR]));
    assert_eq!(expired(&process), 2);
    assert_eq!(process.buffer.pending_values(), 4);
    process.flush().await;
    assert_eq!(process.buffer.lowest_pinned(), None);
    assert!(process.load(&key("S1", HOUR - 11)).await.is_none());
    assert!(process.load(&key("S1", HOUR - 10)).await.is_some());
    assert_eq!(expired(&process), 2);
}

#[tokio::test]
async fn a_batch_of_nothing_else_holds_no_journal() {
    let dir = tempfile::tempdir().unwrap();
    let process = Process::on(dir.path(), &keeping(hours(10), Keep::Forever), 1);
    process.apply(5, &batch("S1", [HOUR - 11]));
    assert_eq!(expired(&process), 2);
    assert_eq!(process.buffer.lowest_pinned(), None);
    assert_eq!(process.buffer.buckets(), 0);
}

#[tokio::test]
async fn what_waited_too_long_is_expired_when_it_would_be_leased() {
    let dir = tempfile::tempdir().unwrap();
    let process = Process::on(dir.path(), &keeping(Keep::Forever, hours(10)), 1);
    process.apply(5, &batch("S1", [HOUR - 10, HOUR - 9]));
    let bytes = process.buffer.bytes();
    process.table.refresh(now().saturating_add(3_600_000_000));
    let leases = process.lease();
    assert_eq!(leases.len(), 1);
    assert_eq!(leases[0].write.key, key("S1", HOUR - 9));
    assert_eq!(expired(&process), 2);
    assert!(process.buffer.bytes() < bytes);
    process.write(leases).await;
    assert_eq!(process.buffer.lowest_pinned(), None);
}

#[tokio::test]
async fn a_lease_that_waited_too_long_for_the_store_is_expired() {
    let dir = tempfile::tempdir().unwrap();
    let process = Process::on(dir.path(), &keeping(Keep::Forever, hours(10)), 1);
    process.apply(5, &batch("S1", [HOUR - 10, HOUR - 9]));
    let leases = process.lease();
    assert_eq!(leases.len(), 2);
    process.apply(6, &batch("S1", [HOUR - 10]));
    process.table.refresh(now().saturating_add(3_600_000_000));
    process.write(leases).await;
    assert!(process.load(&key("S1", HOUR - 10)).await.is_none());
    assert!(process.load(&key("S1", HOUR - 9)).await.is_some());
    assert_eq!(expired(&process), 2);
    assert_eq!(process.buffer.lowest_pinned(), None);
}

/// Another process dropped the readings between the plan and the write.
#[tokio::test]
async fn a_bucket_without_its_readings_takes_none() {
    let dir = tempfile::tempdir().unwrap();
    let all = keeping(Keep::Forever, Keep::Forever);
    let process = Process::on(dir.path(), &all, 1);
    process.apply(1, &batch("S1", [HOUR - 30, HOUR]));
    process.flush().await;
    let mut late = batch("S1", []);
    late.push_value(0, 77.0);
    late.finish_reading(0, key("S1", HOUR - 30).hour.at(7));
    process.apply(2, &late);
    let leases = process.lease();
    assert!(matches!(leases[0].write.expect, Expect::Open(_)));

    let other = Process::over(
        Arc::clone(&process.store),
        &keeping(Keep::Forever, hours(24)),
        2,
    );
    assert_eq!(other.sweep(now()).await.readings, 1);
    process.write(leases).await;
    let bucket = process.load(&key("S1", HOUR - 30)).await.unwrap();
    assert!(bucket.parts[0].raw_dropped && bucket.parts[0].elements.is_empty());
    assert_eq!(bucket.parts[0].computed.count, 2);
    assert_eq!(expired(&process), 1);
    assert_eq!(process.buffer.lowest_pinned(), None);
    assert_eq!(process.buffer.pending_values(), 0);

    // One that knows nothing of the bucket, nor of the policy.
    let third = Process::over(Arc::clone(&process.store), &all, 3);
    third.apply(1, &late);
    third.flush().await;
    assert_eq!(expired(&third), 1);
    assert_eq!(third.buffer.lowest_pinned(), None);
    // Nor is an hour filled that has no bucket.
    third.apply(2, &batch("S1", [HOUR - 40]));
    third.flush().await;
    assert!(third.load(&key("S1", HOUR - 40)).await.is_none());
    assert_eq!(expired(&third), 3);
}
