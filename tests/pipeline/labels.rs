//! Origins of readings: whose conflicts they explain, and the attributes that
//! their tags become.

use std::time::Duration;

use hourglass::bucket::Merge;
use hourglass::buffer::{Buffer, ConflictRecord, Told};
use hourglass::model::{Batch, MeasureName, SensorId};
use hourglass::store::{BucketVersion, SensorTold, StoredBucket, StoredPart};

use super::builders::{
    HOUR, buffer, everything, key, learn_none, now, reading, tagged, tell, under,
};

const ZERO: Duration = Duration::ZERO;

fn apply(buffer: &Buffer, seq: u64, batch: &Batch) {
    buffer.apply(seq, now(), batch, ZERO);
}

/// The tag `core` of the value that stays and of the one refused, of the newest
/// conflict.
fn cores(buffer: &Buffer) -> (Option<String>, Option<String>) {
    let newest = buffer.conflicts(None, now()).swap_remove(0);
    let ConflictRecord {
        kept_from,
        refused_from,
        ..
    } = newest;
    let core = |origin: Option<std::sync::Arc<hourglass::model::Origin>>| {
        Some(origin?.tag_set().get("core")?.to_owned())
    };
    (core(kept_from), core(refused_from))
}

fn some(kept: &str, refused: &str) -> (Option<String>, Option<String>) {
    (Some(kept.to_owned()), Some(refused.to_owned()))
}

/// Confirms the only lease there is.
fn confirm(buffer: &Buffer) {
    let mut leases = buffer.lease(&everything(ZERO), usize::MAX);
    let write = leases.pop().unwrap().write;
    assert!(leases.is_empty());
    assert!(buffer.confirm(&write.key, write.target));
}

fn s1() -> [SensorId; 1] {
    [SensorId::new("S1").unwrap()]
}

/// Confirms the only lease there is, and tells what follows from it.
fn flush(buffer: &Buffer) -> Vec<SensorTold> {
    learn_none(buffer);
    confirm(buffer);
    tell(buffer, &s1())
}

/// A bucket of `temp` 1 at `offsets`, as another process wrote it.
fn stored(offsets: std::ops::Range<u32>) -> StoredBucket {
    let mut merge = Merge::default();
    let temp = MeasureName::new("temp").unwrap();
    for offset in offsets {
        merge.add(offset, [(&temp, 1.0)]);
    }
    let version = BucketVersion {
        part: 0,
        rev: 1,
        by: 99,
    };
    StoredBucket {
        key: key("S1", HOUR),
        parts: vec![StoredPart {
            version,
            full: false,
            raw_dropped: false,
            bytes: 0,
            computed: merge.computed(0, merge.elements().len()),
            stray_fields: Vec::new(),
            elements: merge.elements().clone(),
        }],
    }
}

#[test]
fn a_conflict_names_the_origins_of_both_values() {
    let buffer = buffer(1 << 20);
    for (seq, core) in (1..).zip(["0", "0", "1", "2"]) {
        apply(&buffer, seq, &tagged("S1", HOUR, seq as u32, 1.0, core));
    }
    for (offset, kept) in [(1, "0"), (2, "0"), (3, "1"), (4, "2")] {
        apply(&buffer, 9, &tagged("S1", HOUR, offset, 2.0, "7"));
        assert_eq!(cores(&buffer), some(kept, "7"));
    }
    // What is flushed and still in memory is known as well.
    flush(&buffer);
    apply(&buffer, 10, &tagged("S1", HOUR, 3, 2.0, "7"));
    assert_eq!(cores(&buffer), some("1", "7"));
    // Without an origin on one side nothing is said.
    apply(&buffer, 11, &reading("S1", HOUR, 3, 2.0));
    assert_eq!(cores(&buffer), (Some("1".to_owned()), None));
    assert_eq!(buffer.conflicts(None, now())[0].hint(), None);
}

#[test]
fn a_late_measure_keeps_the_origin_it_came_under() {
    let buffer = buffer(1 << 20);
    apply(&buffer, 1, &tagged("S1", HOUR, 5, 1.0, "0"));
    let humidity = |value, core| under("S1", HOUR, 5, &[("humidity", value)], &[("core", core)]);
    apply(&buffer, 2, &humidity(50.0, "1"));
    apply(&buffer, 3, &humidity(51.0, "2"));
    assert_eq!(cores(&buffer), some("1", "2"));
    apply(&buffer, 4, &tagged("S1", HOUR, 5, 9.0, "1"));
    assert_eq!(cores(&buffer), some("0", "1"));
}

#[test]
fn after_a_rebase_what_was_loaded_is_of_unknown_origin_and_the_rest_keeps_its_own() {
    let buffer = buffer(1 << 20);
    for (seq, core) in (1..).zip(["0", "1", "2"]) {
        apply(
            &buffer,
            seq,
            &tagged("S1", HOUR, 10 + seq as u32, 2.0, core),
        );
    }
    let mut leases = buffer.lease(&everything(ZERO), usize::MAX);
    let write = leases.pop().unwrap().write;
    // Another process has instants 0 to 11: our 11 is refused.
    let loaded = stored(0..12);
    buffer.rebase(&write.key, write.target, Some(&loaded), now());
    assert_eq!(buffer.pending_values(), 2);
    assert_eq!(cores(&buffer), (None, Some("0".to_owned())));
    assert_eq!(buffer.conflicts(None, now())[0].hint(), None);

    for (offset, kept) in [(12, Some("1")), (13, Some("2")), (4, None)] {
        apply(&buffer, 9, &tagged("S1", HOUR, offset, 3.0, "7"));
        let expected = (kept.map(str::to_owned), Some("7".to_owned()));
        assert_eq!(cores(&buffer), expected);
    }
}

fn attributes(told: &[SensorTold]) -> Vec<(&str, &str)> {
    told.iter()
        .flat_map(|told| told.attributes.iter())
        .collect()
}

#[test]
fn attributes_are_told_with_a_flush_once_and_again_when_they_change() {
    let buffer = buffer(1 << 20);
    apply(&buffer, 1, &tagged("S1", HOUR, 1, 1.0, "0"));
    let room = under("S1", HOUR, 2, &[("temp", 1.0)], &[("room", "4b")]);
    apply(&buffer, 2, &room);
    learn_none(&buffer);
    confirm(&buffer);
    assert_eq!(buffer.lowest_pinned(), Some(1), "until they are told");
    let told = tell(&buffer, &s1());
    assert_eq!(attributes(&told), [("core", "0"), ("room", "4b")]);
    assert_eq!(buffer.lowest_pinned(), None);

    // The same again: nothing to tell but the newest readings.
    apply(&buffer, 3, &tagged("S1", HOUR, 3, 1.0, "0"));
    let told = flush(&buffer);
    assert_eq!(attributes(&told), []);
    assert_eq!(told[0].recent.as_ref().unwrap().readings.len(), 3);

    apply(&buffer, 4, &tagged("S1", HOUR, 4, 1.0, "1"));
    let told = flush(&buffer);
    assert_eq!(attributes(&told), [("core", "1"), ("room", "4b")]);
    assert_eq!(buffer.untold(9), []);
}

#[test]
fn two_rounds_at_once_do_not_tell_out_of_order() {
    let buffer = buffer(1 << 20);
    apply(&buffer, 1, &tagged("S1", HOUR, 1, 1.0, "0"));
    learn_none(&buffer);
    confirm(&buffer);
    let first = buffer.take_untold(&s1());
    apply(&buffer, 2, &tagged("S1", HOUR, 2, 1.0, "1"));
    confirm(&buffer);
    let second = buffer.take_untold(&s1());
    assert!(second.told.is_empty() && second.stale.is_empty());
    assert_eq!(buffer.untold(9), [], "the first round takes it on");
    let told: Vec<_> = first.told.into_iter().map(|t| (t, Told::Settled)).collect();
    assert_eq!(buffer.settle(&told), s1());
    assert_eq!(
        buffer.lowest_pinned(),
        Some(2),
        "what came in between waits"
    );
    let told = tell(&buffer, &s1());
    assert_eq!(attributes(&told), [("core", "1")]);
    assert_eq!(buffer.untold(9), []);
    assert_eq!(buffer.lowest_pinned(), None);
}

#[test]
fn a_duplicate_under_new_tags_tells_them_without_a_flush() {
    let buffer = buffer(1 << 20);
    apply(&buffer, 1, &reading("S1", HOUR, 1, 1.0));
    flush(&buffer);
    assert_eq!(buffer.untold(9), []);
    apply(&buffer, 2, &tagged("S1", HOUR, 1, 1.0, "0"));
    assert_eq!(buffer.pending_values(), 0);
    assert_eq!(buffer.untold(9), s1());
    // It is not forgotten before they are told.
    buffer.evict(Duration::from_secs(9), Duration::from_secs(1));
    assert_eq!(buffer.untold(9), s1());
    let told = tell(&buffer, &s1());
    assert_eq!(attributes(&told), [("core", "0")]);
    buffer.evict(Duration::from_secs(9), Duration::from_secs(1));
    assert_eq!((buffer.bytes(), buffer.seen(None)), (0, Vec::new()));
}

/// The memory of labels is the buffer's.
#[test]
fn labels_count_into_the_bytes_of_the_buffer() {
    let (plain, tagged_ones) = (buffer(1 << 20), buffer(1 << 20));
    for n in 0..300u32 {
        apply(&plain, 1, &reading("S1", HOUR, n, 1.0));
        let batch = tagged("S1", HOUR, n, 1.0, &format!("core {n}"));
        apply(&tagged_ones, 1, &batch);
    }
    let more = tagged_ones.bytes() - plain.bytes();
    // 256 origins with 7 to 15 bytes of text each, and two bytes an element.
    assert!((256 * 100..256 * 250).contains(&more), "{more}");
    // Further ones take nothing.
    let before = tagged_ones.bytes();
    apply(&tagged_ones, 1, &tagged("S1", HOUR, 1, 1.0, "one more"));
    assert_eq!(tagged_ones.bytes(), before);
}
