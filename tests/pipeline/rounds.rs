//! One bad bucket never blocks others: the round settles what went in, and the
//! bad one is tried again by itself.

use std::sync::Arc;
use std::time::Duration;

use hourglass::buffer::{Lease, RetryPauses};
use hourglass::flush::{FlushRound, RoundTurn, low_water};
use hourglass::store::{SensorFilter, Store};

use super::builders::{HOUR, Pipeline, Sizes, everything, key, reading};
use crate::support::refusing_store::Refuses;

const PAUSE: Duration = Duration::from_secs(5);

/// What a round came to.
#[derive(Debug, Default)]
struct Turns {
    made: usize,
    failed: usize,
}

async fn run(pipeline: &Pipeline, leases: Vec<Lease>) -> Turns {
    let store = Arc::clone(&pipeline.store) as Arc<dyn Store>;
    let pauses = RetryPauses {
        min: PAUSE,
        max: PAUSE,
    };
    let mut round = FlushRound::new(leases).with_pauses(pauses);
    let mut turns = Turns::default();
    loop {
        assert!(turns.made < 1000, "it goes on without end");
        turns.made += 1;
        match round.turn(&store, &pipeline.buffer, &*pipeline.clock).await {
            RoundTurn::Done => return turns,
            RoundTurn::Failed(_) => turns.failed += 1,
            RoundTurn::More | RoundTurn::Refused(_) => {}
        }
    }
}

fn lease_all(pipeline: &Pipeline) -> Vec<Lease> {
    use hourglass::clock::Clock;
    let policy = everything(pipeline.clock.elapsed());
    pipeline.buffer.lease(&policy, usize::MAX)
}

/// Sensors `bad-0 …` and `good-0 …`, mixed, one reading each; the first record
/// is a bad one's.
async fn filled(bad: usize, good: usize) -> Pipeline {
    let pipeline = Pipeline::running(Sizes::default());
    for number in 0..bad.max(good) {
        for (kind, count) in [("bad", bad), ("good", good)] {
            if number < count {
                let batch = reading(&format!("{kind}-{number}"), HOUR, 1, 1.0);
                pipeline.append(batch).await.unwrap();
            }
        }
    }
    pipeline
}

async fn stored(pipeline: &Pipeline, kind: &str, count: usize) -> usize {
    let mut stored = 0;
    for number in 0..count {
        stored += pipeline
            .stored(&key(&format!("{kind}-{number}"), HOUR))
            .await;
    }
    stored
}

#[tokio::test]
async fn the_others_of_a_round_go_in_and_settle_and_the_bad_ones_once_they_can() {
    for what in [Refuses::Write, Refuses::WriteForNow, Refuses::WholeWrite] {
        let pipeline = filled(3, 97).await;
        for number in 0..3 {
            pipeline.store.refuse(&format!("bad-{number}"), what);
        }
        let turns = run(&pipeline, lease_all(&pipeline)).await;
        assert_eq!(turns.failed, 0, "{what:?}");
        assert_eq!(stored(&pipeline, "good", 97).await, 97, "{what:?}");
        assert_eq!(pipeline.buffer.set_aside_buckets(), 3);
        assert_eq!(pipeline.buffer.pending_values(), 3);
        assert_eq!(low_water(&pipeline.progress, &pipeline.buffer), 1);
        assert!(
            lease_all(&pipeline).is_empty(),
            "not before the pause is over"
        );

        pipeline.store.heal();
        pipeline.clock.advance(PAUSE);
        let turns = run(&pipeline, lease_all(&pipeline)).await;
        assert_eq!((turns.failed, stored(&pipeline, "bad", 3).await), (0, 3));
        assert_eq!(low_water(&pipeline.progress, &pipeline.buffer), 101);
        pipeline.stop().await;
    }
}

#[tokio::test]
async fn a_bucket_that_cannot_be_loaded_holds_up_no_other_that_must_be() {
    let pipeline = filled(2, 50).await;
    // Somebody else was there first: every write is fenced.
    let writes: Vec<_> = lease_all(&pipeline).into_iter().map(|l| l.write).collect();
    pipeline.store.write(&writes).await.unwrap();
    for write in &writes {
        pipeline
            .buffer
            .rebase(&write.key, write.target, None, super::builders::now());
    }
    pipeline.store.refuse("bad-0", Refuses::Load);
    pipeline.store.refuse("bad-1", Refuses::Load);
    let turns = run(&pipeline, lease_all(&pipeline)).await;
    assert_eq!(turns.failed, 0);
    assert_eq!(pipeline.buffer.set_aside_buckets(), 2);
    assert_eq!(pipeline.buffer.pending_values(), 2);
    assert_eq!(low_water(&pipeline.progress, &pipeline.buffer), 1);

    pipeline.store.heal();
    pipeline.clock.advance(PAUSE);
    run(&pipeline, lease_all(&pipeline)).await;
    assert_eq!(pipeline.buffer.pending_values(), 0);
    assert_eq!(stored(&pipeline, "bad", 2).await, 2, "each once");
    assert_eq!(stored(&pipeline, "good", 50).await, 50, "each once");
    pipeline.stop().await;
}

#[tokio::test]
async fn a_sensor_that_cannot_be_touched_holds_nothing_up() {
    let pipeline = filled(1, 20).await;
    pipeline.store.refuse("bad-0", Refuses::Touch);
    let turns = run(&pipeline, lease_all(&pipeline)).await;
    assert_eq!(turns.failed, 0);
    assert_eq!(low_water(&pipeline.progress, &pipeline.buffer), 22);
    let all = SensorFilter::default();
    let found = pipeline.store.find_sensors(&all, None, 100).await;
    assert_eq!(found.unwrap().len(), 20);
    assert!(pipeline.buffer.untold(100).is_empty());
    pipeline.stop().await;
}

#[tokio::test]
async fn a_store_that_refuses_everything_is_not_asked_for_each_bucket() {
    let pipeline = filled(300, 0).await;
    for number in 0..300 {
        let sensor = format!("bad-{number}");
        pipeline.store.refuse(&sensor, Refuses::WholeWrite);
    }
    let turns = run(&pipeline, lease_all(&pipeline)).await;
    assert!(turns.made < 60, "{turns:?}");
    assert_eq!(turns.failed, 1, "that is what its health says");
    assert_eq!(pipeline.buffer.set_aside_buckets(), 300);
    pipeline.store.heal();
    pipeline.clock.advance(PAUSE);
    run(&pipeline, lease_all(&pipeline)).await;
    assert_eq!(stored(&pipeline, "bad", 300).await, 300);
    pipeline.stop().await;
}
