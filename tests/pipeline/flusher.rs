//! The flusher's task: its bound, its stop, and what it tells the journal.

use std::sync::Arc;

use hourglass::config::FlushSettings;
use hourglass::flush::low_water;
use hourglass::journal::JournalError;
use tokio_util::sync::CancellationToken;

use super::builders::{HOUR, Pipeline, Sizes, key, reading, readings, record};
use crate::support::refusing_store::Refuses;
use crate::support::until::until;

/// Cancelled when it is to stop; what it ends as.
fn start(
    pipeline: &Pipeline,
    settings: FlushSettings,
) -> (CancellationToken, tokio::task::JoinHandle<()>) {
    let stop = CancellationToken::new();
    let flusher = pipeline.flusher(settings);
    let running = tokio::spawn(flusher.run(stop.clone(), CancellationToken::new()));
    (stop, running)
}

fn one_by_one(in_flight_max: usize) -> FlushSettings {
    FlushSettings {
        batch_buckets_max: 1,
        in_flight_max,
        ..FlushSettings::default()
    }
}

#[tokio::test]
async fn no_more_flushes_are_under_way_than_it_may_have() {
    let pipeline = Pipeline::running(Sizes::default());
    for number in 0..10 {
        let batch = reading(&format!("S{number}"), HOUR - 1, 1, 1.0);
        pipeline.append(batch).await.unwrap();
    }
    pipeline.store.shut();
    let (stop, running) = start(&pipeline, one_by_one(3));
    until(|| pipeline.store.writing().0 == 3).await;
    assert_eq!(pipeline.health.in_flight(), 3);
    pipeline.store.open();
    stop.cancel();
    running.await.unwrap();
    assert_eq!(pipeline.store.writing(), (0, 3));
    assert_eq!(pipeline.health.in_flight(), 0);
    assert_eq!(low_water(&pipeline.progress, &pipeline.buffer), 11);
    pipeline.stop().await;
}

#[tokio::test]
async fn bad_buckets_take_no_flush_from_others() {
    let pipeline = Pipeline::running(Sizes::default());
    for number in 0..30 {
        for kind in ["bad", "good"] {
            let batch = reading(&format!("{kind}-{number}"), HOUR - 1, 1, 1.0);
            pipeline.append(batch).await.unwrap();
        }
        pipeline
            .store
            .refuse(&format!("bad-{number}"), Refuses::Write);
    }
    let (stop, running) = start(&pipeline, one_by_one(2));
    until(|| pipeline.buffer.pending_values() == 30).await;
    assert!(pipeline.health.is_up(), "it serves the others");
    stop.cancel();
    // It ends by itself: waiting helps none of them.
    running.await.unwrap();
    for number in 0..30 {
        let good = key(&format!("good-{number}"), HOUR - 1);
        assert_eq!(pipeline.stored(&good).await, 1);
    }
    assert_eq!(low_water(&pipeline.progress, &pipeline.buffer), 1);
    pipeline.stop().await;
}

#[tokio::test]
async fn a_stop_waits_for_what_the_applier_has_not_moved_in_yet() {
    let sizes = Sizes {
        buffer: 4000,
        ..Sizes::default()
    };
    let pipeline = Pipeline::running(sizes);
    pipeline.store.shut();
    let (stop, running) = start(&pipeline, FlushSettings::default());
    for number in 0..60 {
        let batch = readings("S1", HOUR, number * 20..number * 20 + 20, 1.0);
        pipeline.append(batch).await.unwrap();
    }
    assert!(pipeline.progress.lag() > 0, "the buffer holds a part of it");
    assert!(!pipeline.progress.is_complete());
    stop.cancel();
    pipeline.store.open();
    running.await.unwrap();
    assert_eq!(pipeline.progress.lag(), 0);
    assert_eq!(pipeline.stored(&key("S1", HOUR)).await, 1200);
    assert_eq!(low_water(&pipeline.progress, &pipeline.buffer), 61);
    pipeline.stop().await;
}

#[tokio::test]
async fn a_stop_does_not_end_while_the_applier_has_not_begun() {
    let mut pipeline = Pipeline::new(Sizes::default());
    for number in 0..5 {
        // Nobody is answered before the applier runs.
        let record = record(reading("S1", HOUR, number, 1.0));
        let (journal, encoded) = (pipeline.journal.clone(), record.encode());
        tokio::spawn(async move { journal.append(record, encoded, || ()).await });
    }
    until(|| pipeline.progress.lag() == 5).await;
    let (stop, running) = start(&pipeline, FlushSettings::default());
    stop.cancel();
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    tokio::spawn(pipeline.applier.take().unwrap().run());
    running.await.unwrap();
    assert_eq!(pipeline.stored(&key("S1", HOUR)).await, 5);
    assert_eq!(low_water(&pipeline.progress, &pipeline.buffer), 6);
    pipeline.stop().await;
}

#[tokio::test]
async fn a_stop_waits_for_a_bucket_that_the_store_may_take_later() {
    let pipeline = Pipeline::running(Sizes::default());
    for sensor in ["S1", "S2"] {
        pipeline
            .append(reading(sensor, HOUR, 1, 1.0))
            .await
            .unwrap();
    }
    pipeline.store.refuse("S1", Refuses::WriteForNow);
    let (stop, running) = start(&pipeline, FlushSettings::default());
    stop.cancel();
    until(|| pipeline.buffer.set_aside_buckets() == 1).await;
    pipeline.store.heal();
    let clock = Arc::clone(&pipeline.clock);
    clock.advance(FlushSettings::default().retry_max);
    running.await.unwrap();
    assert_eq!(pipeline.stored(&key("S1", HOUR)).await, 1);
    pipeline.stop().await;
}

/// Duplicates leave nothing to flush, so no flush tells the journal that they
/// may go.
#[tokio::test]
async fn a_journal_full_of_duplicates_empties_itself() {
    let sizes = Sizes {
        journal: 1 << 12,
        ..Sizes::default()
    };
    let pipeline = Pipeline::running(sizes);
    pipeline
        .append(reading("S1", HOUR - 1, 1, 1.0))
        .await
        .unwrap();
    let (stop, running) = start(&pipeline, FlushSettings::default());
    until(|| pipeline.buffer.pending_values() == 0).await;
    let mut was_full = 0;
    while was_full < 2 {
        match pipeline.append(reading("S1", HOUR - 1, 1, 1.0)).await {
            Ok(_) => {}
            Err(JournalError::Full(_)) => {
                was_full += 1;
                let space = pipeline.journal.space();
                until(|| space.used() < space.bytes_max() / 2).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
    stop.cancel();
    running.await.unwrap();
    assert_eq!(pipeline.stored(&key("S1", HOUR - 1)).await, 1);
    pipeline.stop().await;
}
