//! The same key twice at once: the second waits for the first, gets its answer,
//! or becomes the first where that one fails.

use hourglass::ingest::{Format, IngestError};

use super::service::{Request, Service};
use crate::support::sim_disk::Fault;
use crate::support::until::until;

const BODY: &str = r#"[{"sensorId":"S1","temp":1},{"sensorId":"S1"}]"#;

async fn taken(request: Request) -> (u64, bool, i64) {
    let taken = request.await.unwrap().unwrap();
    let outcome = taken.outcome;
    assert_eq!((outcome.accepted, outcome.rejected), (1, 1));
    (
        outcome.accepted,
        taken.is_replayed,
        outcome.server_time.get(),
    )
}

/// Lets everything run that can run without the disk.
async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn the_second_waits_for_the_first_and_gets_its_answer() {
    let service = Service::start();
    service.disk.hold_syncs();
    let first = service.send("k", BODY);
    until(|| service.disk.holds_a_sync()).await;
    let others: Vec<Request> = (0..5).map(|_| service.send("k", BODY)).collect();
    let stranger = service.send("k", "[]");
    settle().await;
    assert!(others.iter().all(|other| !other.is_finished()));
    assert!(
        !stranger.is_finished(),
        "whether it is another body is told by the first's end"
    );
    service.disk.let_syncs_go();
    let first = taken(first).await;
    assert!(!first.1);
    for other in others {
        assert_eq!(taken(other).await, (first.0, true, first.2));
    }
    let refused = stranger.await.unwrap().unwrap_err();
    assert!(matches!(refused, IngestError::KeyReused), "{refused}");
    let ledger = service.stop().await;
    assert!(ledger.balances(), "{ledger:?}");
    assert_eq!((ledger.received_items, ledger.pending_values), (2, 1));
}

#[tokio::test]
async fn where_the_first_fails_one_that_waits_is_the_first() {
    let service = Service::start();
    service.disk.hold_syncs();
    let before = service.send("before", BODY);
    until(|| service.disk.holds_a_sync()).await;
    // Behind the sync that is held: these wait in the journal's queue.
    let first = service.send("k", BODY);
    until(|| service.queued() > 0).await;
    let others: Vec<Request> = (0..5).map(|_| service.send("k", BODY)).collect();
    settle().await;
    service.disk.fail_next(Fault::NoRoom { kept: 9 });
    service.disk.let_syncs_go();
    taken(before).await;
    let failed = first.await.unwrap().unwrap_err();
    assert!(failed.to_string().contains("disk is full"), "{failed}");
    let mut answers = Vec::new();
    for other in others {
        answers.push(taken(other).await);
    }
    let firsts = answers.iter().filter(|answer| !answer.1).count();
    assert_eq!(firsts, 1, "{answers:?}");
    let ledger = service.stop().await;
    assert!(ledger.balances(), "{ledger:?}");
    assert_eq!(ledger.pending_values, 2, "one of each key");
}

#[tokio::test]
async fn a_sender_that_goes_away_stops_nothing_and_its_retry_gets_the_answer() {
    let service = Service::start();
    service.disk.hold_syncs();
    let first = service.send("k", BODY);
    until(|| service.disk.holds_a_sync()).await;
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    let retry = service.send("k", BODY);
    settle().await;
    assert!(
        !retry.is_finished(),
        "it waits for the work of the one that went"
    );
    service.disk.let_syncs_go();
    assert!(taken(retry).await.1);
    let ledger = service.stop().await;
    assert_eq!((ledger.received_items, ledger.pending_values), (2, 1));
}

#[tokio::test]
async fn what_decides_the_meaning_of_a_body_belongs_to_its_key() {
    let service = Service::start();
    let line = r#"{"sensorId":"S1","temp":1}"#;
    assert!(!service.send("k", line).await.unwrap().unwrap().is_replayed);
    assert!(service.send("k", line).await.unwrap().unwrap().is_replayed);
    let read_otherwise = service.send_to("readings", "k", Format::NdJson, line);
    let elsewhere = service.send_to("write", "k", Format::Json, line);
    for other in [read_otherwise, elsewhere] {
        let refused = other.await.unwrap().unwrap_err();
        assert!(matches!(refused, IngestError::KeyReused), "{refused}");
    }
    let ledger = service.stop().await;
    assert_eq!((ledger.received_items, ledger.pending_values), (1, 1));
}

#[tokio::test]
async fn a_record_without_readings_goes_through_the_applier() {
    let service = Service::start();
    for (key, body) in [("none", "[]"), ("bad", r#"[{"temp":1}]"#)] {
        for is_replayed in [false, true] {
            let taken = service.send(key, body).await.unwrap().unwrap();
            assert_eq!(taken.is_replayed, is_replayed);
            assert_eq!(taken.outcome.accepted, 0);
        }
    }
    assert_eq!(service.buffer.lowest_pinned(), None);
    assert_eq!((service.keys.remembered(), service.keys.unsaved()), (2, 2));
    let ledger = service.stop().await;
    assert!(ledger.balances(), "{ledger:?}");
    assert_eq!((ledger.received_items, ledger.rejected_items), (1, 1));
}
