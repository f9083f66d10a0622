//! Parts, where the store has them; where it has not, the next part is refused.

use hourglass::store::{Expect, StoreError, WriteOutcome};

use super::draft::{Draft, HOUR, load, write};
use crate::store_conformance::Fixture;

pub(crate) async fn the_next_part_follows_a_closed_one_or_is_refused(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let mut draft = Draft::new("S1", HOUR);
    let create = draft.append(&[(0, &[("temp", 1.0)])]);
    assert_eq!(write(&*store, &[create]).await, ["stored"]);
    let before = draft.clone();
    let next = draft.next_part(&[(1, &[("temp", 2.0)]), (0, &[("rh", 40.0)])]);
    if store.part_bytes_max().is_none() {
        let outcomes = store.write(&[next]).await.unwrap();
        assert!(matches!(
            outcomes[0],
            WriteOutcome::Failed(StoreError::Refused { .. })
        ));
        before.assert_is(load(&*store, &draft.key).await.as_ref());
        return;
    }
    let Expect::Next { closing, .. } = next.expect else {
        panic!("the draft makes the next part");
    };
    assert_eq!(write(&*store, &[next]).await, ["stored"]);
    let append = draft.append(&[(2, &[("temp", 3.0)])]);
    assert_eq!(write(&*store, &[append]).await, ["stored"]);
    let third = draft.next_part(&[(3, &[("temp", 4.0)])]);
    assert_eq!(write(&*store, &[third]).await, ["stored"]);

    let stored = load(&*store, &draft.key).await.unwrap();
    draft.assert_is(Some(&stored));
    let full: Vec<_> = stored
        .parts
        .iter()
        .map(|p| (p.version.part, p.full))
        .collect();
    assert_eq!(full, [(0, true), (1, true), (2, false)]);
    assert_eq!(Some(stored.parts[0].version), closing);
}

pub(crate) async fn a_closed_part_takes_no_appends(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    if store.part_bytes_max().is_none() {
        return;
    }
    let mut draft = Draft::new("S1", HOUR);
    let create = draft.append(&[(0, &[("temp", 1.0)])]);
    assert_eq!(write(&*store, &[create]).await, ["stored"]);
    let mut stale = draft.clone();
    let next = draft.next_part(&[(1, &[("temp", 2.0)])]);
    let Expect::Next { closing, .. } = next.expect else {
        panic!("the draft makes the next part");
    };
    assert_eq!(write(&*store, &[next]).await, ["stored"]);
    for version in [stale.version, closing] {
        stale.version = version;
        let append = stale.clone().append(&[(9, &[("temp", 9.0)])]);
        assert_eq!(write(&*store, &[append]).await, ["fenced"]);
    }
    draft.assert_is(load(&*store, &draft.key).await.as_ref());
}

pub(crate) async fn a_next_part_is_made_once(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    if store.part_bytes_max().is_none() {
        return;
    }
    let mut draft = Draft::new("S1", HOUR);
    let create = draft.append(&[(0, &[("temp", 1.0)])]);
    assert_eq!(write(&*store, &[create]).await, ["stored"]);
    let rival = draft.clone().next_part(&[(7, &[("temp", 7.0)])]);
    let next = draft.next_part(&[(1, &[("temp", 2.0)])]);
    assert_eq!(
        write(&*store, std::slice::from_ref(&next)).await,
        ["stored"]
    );
    assert_eq!(write(&*store, &[next]).await, ["fenced"]);
    assert_eq!(write(&*store, &[rival]).await, ["fenced"]);
    draft.assert_is(load(&*store, &draft.key).await.as_ref());
}
