//! Many writers and readers of one bucket.

use std::sync::Arc;

use hourglass::store::Store;
use tokio::task::JoinSet;

use super::draft::{Draft, HOUR, assert_computed, load, stated, write};
use crate::store_conformance::Fixture;

/// C07: eight tasks make one bucket at once.
pub(crate) async fn c07_of_concurrent_creates_exactly_one_is_stored(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    for hours in 0..8 {
        let mut tasks = JoinSet::new();
        for task in 0..8u32 {
            let store = Arc::clone(&store);
            tasks.spawn(async move {
                let mut draft = Draft::new("S1", HOUR + hours);
                let create = draft.append(&[(task, &[("temp", f64::from(task))])]);
                (write(&*store, &[create]).await, draft)
            });
        }
        let outcomes = tasks.join_all().await;
        let stored: Vec<_> = outcomes.iter().filter(|(o, _)| o == &["stored"]).collect();
        assert_eq!(stored.len(), 1);
        assert!(
            outcomes
                .iter()
                .all(|(o, _)| o == &["stored"] || o == &["fenced"])
        );
        let (_, winner) = stored[0];
        winner.assert_is(load(&*store, &winner.key).await.as_ref());
    }
}

/// Appends one reading, as often as it takes; what is in already is not added.
async fn append_once(store: &dyn Store, offset: u32) {
    loop {
        let stored = load(store, &Draft::new("S1", HOUR).key).await;
        let mut draft = stored
            .as_ref()
            .map_or_else(|| Draft::new("S1", HOUR), Draft::of);
        let append = draft.append(&[(offset, &[("temp", f64::from(offset))])]);
        assert_eq!(append.elements.len(), 1, "it is not in yet");
        if write(store, &[append]).await == ["stored"] {
            return;
        }
    }
}

pub(crate) async fn concurrent_appends_all_go_in_once(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let mut tasks = JoinSet::new();
    for task in 0..8u32 {
        let store = Arc::clone(&store);
        tasks.spawn(async move {
            for round in 0..5 {
                append_once(&*store, task * 100 + round).await;
            }
        });
    }
    tasks.join_all().await;
    let stored = load(&*store, &Draft::new("S1", HOUR).key).await.unwrap();
    assert_eq!(stored.version().rev, 40);
    let mut offsets: Vec<_> = stored.parts[0].elements.offsets().to_vec();
    offsets.sort_unstable();
    let expected: Vec<_> = (0..8)
        .flat_map(|t| (0..5).map(move |r| t * 100 + r))
        .collect();
    assert_eq!(offsets, expected);
    Draft::of(&stored).assert_is(Some(&stored));
}

/// I3, with the merging of small appends on the way.
pub(crate) async fn i03_a_reader_sees_true_computed_fields_while_appends_go_on(
    fixture: &mut dyn Fixture,
) {
    let store = fixture.open().await;
    let mut draft = Draft::new("S1", HOUR);
    let create = draft.append(&[(0, &[("temp", 0.0)])]);
    assert_eq!(write(&*store, &[create]).await, ["stored"]);
    let writer = tokio::spawn({
        let (store, mut draft) = (Arc::clone(&store), draft.clone());
        async move {
            for n in 1..60u32 {
                let append = draft.append(&[(n, &[("temp", f64::from(n) / 10.0)])]);
                assert_eq!(write(&*store, &[append]).await, ["stored"]);
            }
            draft
        }
    });
    let mut last_rev = 0;
    loop {
        let done = writer.is_finished();
        let stored = load(&*store, &draft.key).await.unwrap();
        assert_computed(&stated(&stored), &Draft::of(&stored).computed());
        assert!(stored.version().rev >= last_rev);
        last_rev = stored.version().rev;
        if done {
            break;
        }
    }
    let draft = writer.await.unwrap();
    draft.assert_is(load(&*store, &draft.key).await.as_ref());
}
