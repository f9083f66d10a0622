//! A write applies to the version it was made for, and to no other.

use hourglass::store::Expect;

use super::draft::{Draft, HOUR, load, unique_by, write};
use crate::store_conformance::Fixture;

pub(crate) async fn a_create_is_fenced_where_the_bucket_is(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let (mut first, mut second) = (Draft::new("S1", HOUR), Draft::new("S1", HOUR));
    let create = first.append(&[(0, &[("temp", 1.0)])]);
    let again = second.append(&[(1, &[("temp", 2.0)])]);
    assert_eq!(write(&*store, &[create]).await, ["stored"]);
    assert_eq!(write(&*store, &[again]).await, ["fenced"]);
    first.assert_is(load(&*store, &first.key).await.as_ref());
}

pub(crate) async fn an_append_is_fenced_where_no_bucket_is(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let mut draft = Draft::new("S1", HOUR);
    draft.append(&[(0, &[("temp", 1.0)])]);
    let append = draft.append(&[(1, &[("temp", 2.0)])]);
    assert_eq!(write(&*store, &[append]).await, ["fenced"]);
    assert_eq!(load(&*store, &draft.key).await, None);
}

pub(crate) async fn an_append_to_another_version_is_fenced(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let mut draft = Draft::new("S1", HOUR);
    let create = draft.append(&[(0, &[("temp", 1.0)])]);
    assert_eq!(write(&*store, &[create]).await, ["stored"]);
    let stored = draft.version.unwrap();
    for (rev, by) in [
        (stored.rev + 1, stored.by),
        (stored.rev - 1, stored.by),
        (stored.rev, unique_by()),
    ] {
        let mut append = draft.clone().append(&[(1, &[("temp", 2.0)])]);
        append.expect = Expect::Open(hourglass::store::BucketVersion { rev, by, ..stored });
        assert_eq!(write(&*store, &[append]).await, ["fenced"]);
    }
    draft.assert_is(load(&*store, &draft.key).await.as_ref());
    let append = draft.append(&[(1, &[("temp", 2.0)])]);
    assert_eq!(write(&*store, &[append]).await, ["stored"]);
    draft.assert_is(load(&*store, &draft.key).await.as_ref());
}

/// A try again of a write that went in is fenced, and the version says so; one
/// that did not go in goes in.
pub(crate) async fn a_lost_reply_is_decided_by_loading(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let mut draft = Draft::new("S1", HOUR);
    let create = draft.append(&[(0, &[("temp", 1.0)])]);
    let append = draft.append(&[(1, &[("temp", 2.0)])]);
    for attempt in [create, append] {
        let before = load(&*store, &draft.key).await.map(|b| b.version());
        assert_ne!(before, Some(attempt.target));
        assert_eq!(
            write(&*store, std::slice::from_ref(&attempt)).await,
            ["stored"]
        );
        assert_eq!(
            write(&*store, std::slice::from_ref(&attempt)).await,
            ["fenced"]
        );
        let after = load(&*store, &draft.key).await.map(|b| b.version());
        assert_eq!(after, Some(attempt.target));
    }
    draft.assert_is(load(&*store, &draft.key).await.as_ref());
}

pub(crate) async fn a_fenced_write_does_not_stop_the_others_of_its_round(
    fixture: &mut dyn Fixture,
) {
    let store = fixture.open().await;
    let mut drafts: Vec<_> = (0..9).map(|n| Draft::new(&format!("S{n}"), HOUR)).collect();
    let creates: Vec<_> = drafts
        .iter_mut()
        .map(|draft| draft.append(&[(0, &[("temp", 1.0)])]))
        .collect();
    assert_eq!(write(&*store, &creates).await, vec!["stored"; 9]);

    let mut expected = Vec::new();
    let mut round = Vec::new();
    for (n, draft) in drafts.iter_mut().enumerate() {
        let readings: [(u32, &[(&str, f64)]); 1] = [(5, &[("temp", 2.0)])];
        match n % 3 {
            0 => {
                let mut stale = draft.clone();
                stale.version.as_mut().unwrap().by = unique_by();
                round.push(stale.append(&readings));
                expected.push("fenced");
            }
            1 => {
                let mut absent = Draft::new(&format!("S{n}"), HOUR);
                round.push(absent.append(&readings));
                expected.push("fenced");
            }
            _ => {
                round.push(draft.append(&readings));
                expected.push("stored");
            }
        }
    }
    let mut new = Draft::new("new", HOUR);
    round.push(new.append(&[(0, &[("temp", 3.0)])]));
    expected.push("stored");
    drafts.push(new);
    assert_eq!(write(&*store, &round).await, expected);
    for draft in &drafts {
        draft.assert_is(load(&*store, &draft.key).await.as_ref());
    }
}
