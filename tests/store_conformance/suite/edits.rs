//! Readings taken away from a bucket.

use hourglass::model::HourRange;
use hourglass::store::{
    BucketEdit, BucketVersion, Expect, HourSummary, PartChange, PartEdit, Store, WriteOutcome,
};

use super::draft::{
    Draft, HOUR, Reading, assert_computed, hour, load, sensor, stated, unique_by, word, write,
};
use crate::store_conformance::Fixture;

const A: Reading<'_> = (0, &[("temp", 1.5), ("rh", 40.0)]);
const B: Reading<'_> = (1_000_001, &[("temp", -2.5)]);
const C: Reading<'_> = (3_599_999_999, &[("temp", 9.25)]);

async fn edit(store: &dyn Store, edit: &BucketEdit) -> String {
    word(&store.edit(edit).await.unwrap())
}

async fn hours(store: &dyn Store) -> Vec<HourSummary> {
    let range = HourRange {
        from: hour(HOUR),
        to: hour(HOUR + 1),
    };
    store.hours(&[sensor("S1")], range).await.unwrap()
}

/// Asserts that the bucket is `draft`, by all that tells of it.
async fn assert_is(store: &dyn Store, draft: &Draft) {
    draft.assert_is(load(store, &draft.key).await.as_ref());
    let hours = hours(store).await;
    assert_eq!(hours.len(), 1);
    assert_eq!(Some(hours[0].version), draft.version);
    assert_computed(&hours[0].computed, &draft.computed());
}

/// A bucket of one part with these readings.
async fn stored(store: &dyn Store, readings: &[Reading<'_>]) -> Draft {
    let mut draft = Draft::new("S1", HOUR);
    // In more than one write, so that a store may keep them in pieces.
    for reading in readings {
        let append = draft.append(&[*reading]);
        assert_eq!(write(store, &[append]).await, ["stored"]);
    }
    draft
}

/// The bucket that is left of one of one part, and the edit that makes it.
fn leaving(before: &Draft, readings: &[Reading<'_>]) -> (Draft, BucketEdit) {
    let mut left = Draft::new("S1", HOUR);
    let whole = left.append(readings);
    left.version = Some(before.raised());
    let part = PartEdit {
        expected: before.version.unwrap(),
        change: PartChange::Replace {
            target: left.version.unwrap(),
            elements: whole.elements,
            computed: whole.computed,
        },
    };
    let edit = BucketEdit {
        key: before.key.clone(),
        parts: vec![part],
    };
    (left, edit)
}

pub(crate) async fn an_edit_replaces_the_readings_of_its_version_only(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let mut absent = Draft::new("S1", HOUR);
    absent.version = Some(BucketVersion {
        part: 0,
        rev: 1,
        by: unique_by(),
    });
    let (_, of_nothing) = leaving(&absent, &[A]);
    assert_eq!(edit(&*store, &of_nothing).await, "fenced");
    assert_eq!(load(&*store, &absent.key).await, None);

    let before = stored(&*store, &[A, B, C]).await;
    let (mut left, right) = leaving(&before, &[A, C]);
    let version = before.version.unwrap();
    for (rev, by) in [
        (version.rev + 1, version.by),
        (version.rev - 1, version.by),
        (version.rev, unique_by()),
    ] {
        let mut wrong = right.clone();
        wrong.parts[0].expected = BucketVersion { rev, by, ..version };
        assert_eq!(edit(&*store, &wrong).await, "fenced");
    }
    assert_is(&*store, &before).await;

    assert_eq!(edit(&*store, &right).await, "stored");
    assert_is(&*store, &left).await;
    // A reply that was lost: the version says that it is in.
    assert_eq!(edit(&*store, &right).await, "fenced");
    // Who did not see it is told so.
    let stale = before.clone().append(&[(7, &[("temp", 7.0)])]);
    assert_eq!(write(&*store, &[stale]).await, ["fenced"]);
    let append = left.append(&[B]);
    assert_eq!(write(&*store, &[append]).await, ["stored"]);
    assert_is(&*store, &left).await;
    drop(store);
    assert_is(&*fixture.open().await, &left).await;
}

pub(crate) async fn an_edit_that_leaves_nothing_keeps_the_bucket(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let before = stored(&*store, &[A, B]).await;
    let (mut left, all) = leaving(&before, &[]);
    assert_eq!(edit(&*store, &all).await, "stored");
    assert_is(&*store, &left).await;
    let append = left.append(&[B]);
    assert_eq!(write(&*store, &[append]).await, ["stored"]);
    assert_is(&*store, &left).await;
}

/// A bucket of a full part with `first` and an open one with `second`, and the
/// versions of both. `None` where a store has no parts.
async fn in_parts(
    store: &dyn Store,
    first: &[Reading<'_>],
    second: &[Reading<'_>],
) -> Option<(Draft, [BucketVersion; 2])> {
    store.part_bytes_max()?;
    let mut draft = stored(store, first).await;
    let next = draft.next_part(second);
    let Expect::Next { closing, .. } = next.expect else {
        panic!("the draft makes the next part");
    };
    assert_eq!(write(store, &[next]).await, ["stored"]);
    let versions = [closing.unwrap(), draft.version.unwrap()];
    Some((draft, versions))
}

/// What is left of a bucket of two parts, and the edit that makes it.
fn leaving_in_parts(
    versions: [BucketVersion; 2],
    first: &[Reading<'_>],
    second: &[Reading<'_>],
) -> (Draft, BucketEdit) {
    let mut left = Draft::new("S1", HOUR);
    let writes = [left.append(first), left.next_part(second)];
    let parts = versions.into_iter().zip(writes).map(|(expected, write)| {
        let target = BucketVersion {
            rev: expected.rev + 1,
            by: unique_by(),
            ..expected
        };
        left.version = Some(target);
        let change = PartChange::Replace {
            target,
            elements: write.elements,
            computed: write.computed,
        };
        PartEdit { expected, change }
    });
    let edit = BucketEdit {
        key: Draft::new("S1", HOUR).key,
        parts: parts.collect(),
    };
    (left, edit)
}

pub(crate) async fn an_edit_of_a_full_part_raises_the_open_one(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let Some((before, versions)) = in_parts(&*store, &[A, B], &[C]).await else {
        return;
    };
    let (mut left, edit_of_both) = leaving_in_parts(versions, &[B], &[C]);
    assert_eq!(edit(&*store, &edit_of_both).await, "stored");
    assert_is(&*store, &left).await;
    let parts = load(&*store, &left.key).await.unwrap().parts;
    let full: Vec<_> = parts.iter().map(|part| part.full).collect();
    assert_eq!(full, [true, false]);
    let stale = before.clone().append(&[(7, &[("temp", 7.0)])]);
    assert_eq!(write(&*store, &[stale]).await, ["fenced"]);
    let append = left.append(&[A]);
    assert_eq!(write(&*store, &[append]).await, ["stored"]);
    assert_is(&*store, &left).await;
}

pub(crate) async fn an_edit_that_keeps_a_part_leaves_it_as_it_is(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let Some((_, versions)) = in_parts(&*store, &[A], &[B, C]).await else {
        let draft = stored(&*store, &[A, B]).await;
        let keep = BucketEdit {
            key: draft.key.clone(),
            parts: vec![PartEdit {
                expected: draft.version.unwrap(),
                change: PartChange::Keep,
            }],
        };
        assert_eq!(edit(&*store, &keep).await, "stored");
        assert_is(&*store, &draft).await;
        return;
    };
    let (left, mut edit_of_last) = leaving_in_parts(versions, &[A], &[C]);
    edit_of_last.parts[0].change = PartChange::Keep;
    assert_eq!(edit(&*store, &edit_of_last).await, "stored");
    assert_is(&*store, &left).await;
    let parts = load(&*store, &left.key).await.unwrap().parts;
    assert_eq!(parts[0].version, versions[0]);
}

pub(crate) async fn an_edit_that_is_fenced_half_way_leaves_true_computed_fields(
    fixture: &mut dyn Fixture,
) {
    let store = fixture.open().await;
    let Some((mut draft, versions)) = in_parts(&*store, &[A, B], &[C]).await else {
        return;
    };
    let (_, late) = leaving_in_parts(versions, &[B], &[C]);
    let append = draft.append(&[(7, &[("temp", 7.0)])]);
    assert_eq!(write(&*store, &[append]).await, ["stored"]);
    assert_eq!(edit(&*store, &late).await, "fenced");

    let bucket = load(&*store, &draft.key).await.unwrap();
    let held = Draft::of(&bucket);
    assert_computed(&stated(&bucket), &held.computed());
    assert_eq!(Some(bucket.version()), draft.version);
    // Loaded and edited again it goes in.
    let versions = [bucket.parts[0].version, bucket.version()];
    let (left, again) = leaving_in_parts(versions, &[B], &[C]);
    assert_eq!(edit(&*store, &again).await, "stored");
    assert_is(&*store, &left).await;
}

pub(crate) async fn a_removed_bucket_is_gone_and_can_be_made_anew(fixture: &mut dyn Fixture) {
    let store = fixture.open().await;
    let before = stored(&*store, &[A, B]).await;
    let version = before.version.unwrap();
    let removing = |expected| BucketEdit {
        key: before.key.clone(),
        parts: vec![PartEdit {
            expected,
            change: PartChange::Remove,
        }],
    };
    let other = BucketVersion {
        by: unique_by(),
        ..version
    };
    assert_eq!(edit(&*store, &removing(other)).await, "fenced");
    assert_is(&*store, &before).await;

    let outcome = store.edit(&removing(version)).await.unwrap();
    assert!(matches!(outcome, WriteOutcome::Stored));
    assert_eq!(load(&*store, &before.key).await, None);
    assert_eq!(hours(&*store).await, []);
    assert_eq!(store.newest(&[sensor("S1")]).await.unwrap(), []);
    assert_eq!(edit(&*store, &removing(version)).await, "fenced");
    let stale = before.clone().append(&[C]);
    assert_eq!(write(&*store, &[stale]).await, ["fenced"]);

    let anew = stored(&*store, &[C, B]).await;
    assert_is(&*store, &anew).await;
}
