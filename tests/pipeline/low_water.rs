//! What the flusher tells the journal: the low-water mark over applier and
//! buffer.

use std::time::Duration;

use hourglass::apply::Turn;
use hourglass::flush::low_water;

use super::builders::{HOUR, Pipeline, Sizes, everything, reading, tell};
use crate::support::until::until;

#[tokio::test]
async fn it_never_passes_what_is_durable_but_not_applied_or_not_stored() {
    let mut pipeline = Pipeline::new(Sizes::default());
    let mut applier = pipeline.applier.take().unwrap();
    let mut held = None;
    let mark = |pipeline: &Pipeline| low_water(&pipeline.progress, &pipeline.buffer);
    // Nobody is answered before the applier turns.
    for number in 0..3 {
        let record = super::builders::record(reading("S1", HOUR, number, 1.0));
        let (journal, encoded) = (pipeline.journal.clone(), record.encode());
        tokio::spawn(async move { journal.append(record, encoded, || ()).await });
        until(|| pipeline.progress.lag() == u64::from(number) + 1).await;
    }
    assert_eq!(mark(&pipeline), 1);
    assert_eq!(applier.turn(&mut held).unwrap(), Turn::Applied);
    assert_eq!(mark(&pipeline), 1, "applied is not stored");

    let lease = pipeline
        .buffer
        .lease(&everything(Duration::ZERO), 9)
        .remove(0);
    assert_eq!(mark(&pipeline), 1);
    let write = &lease.write;
    assert!(pipeline.buffer.confirm(&write.key, write.target));
    assert_eq!(mark(&pipeline), 1, "what derives from it is not stored");
    tell(&pipeline.buffer, std::slice::from_ref(&write.key.sensor));
    assert_eq!(mark(&pipeline), 2, "two records are not applied");

    assert_eq!(applier.turn(&mut held).unwrap(), Turn::Applied);
    assert_eq!(mark(&pipeline), 2);
    let lease = pipeline
        .buffer
        .lease(&everything(Duration::ZERO), 9)
        .remove(0);
    assert_eq!(applier.turn(&mut held).unwrap(), Turn::Applied);
    let write = lease.write;
    pipeline
        .buffer
        .rebase(&write.key, write.target, None, super::builders::now());
    assert_eq!(mark(&pipeline), 2, "what the store lost is pending again");
    pipeline.stop().await;
}
