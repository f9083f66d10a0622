//! Which buckets are flushed, why, and in which order.

use std::collections::HashSet;
use std::time::Duration;

use hourglass::buffer::{Buffer, DuePolicy, DueReason, RetryPauses, RoundBounds};
use hourglass::model::HourStart;
use hourglass::store::WriterId;

use super::builders::{HOUR, buffer, key, now, readings, tell};

const MINUTE: Duration = Duration::from_secs(60);

fn policy() -> DuePolicy {
    DuePolicy {
        hour: HourStart::from_hours(HOUR),
        elapsed: MINUTE,
        closed_age_max: MINUTE,
        age_max: MINUTE * 2,
        readings_max: 100,
        release_below: None,
        everything: false,
    }
}

/// One bucket with `count` readings of record 7 that came at `elapsed` 0.
fn holding(hour: i32, count: u32) -> Buffer {
    let buffer = buffer(1 << 20);
    let batch = readings("S1", hour, 0..count, 1.0);
    buffer.apply(7, now(), &batch, Duration::ZERO);
    buffer
}

fn reason(buffer: &Buffer, policy: &DuePolicy) -> Option<DueReason> {
    let leases = buffer.lease(policy, 10);
    assert!(leases.len() <= 1);
    leases.first().map(|lease| lease.reason)
}

#[test]
fn a_bucket_is_due_when_its_hour_closed_it_is_old_or_it_is_big() {
    let is = |buffer: Buffer, policy: DuePolicy| reason(&buffer, &policy);
    assert_eq!(is(holding(HOUR, 99), policy()), None);
    assert_eq!(is(holding(HOUR, 100), policy()), Some(DueReason::Size));
    assert_eq!(
        is(holding(HOUR - 1, 1), policy()),
        Some(DueReason::HourClosed)
    );
    let sooner = DuePolicy {
        elapsed: MINUTE - Duration::from_millis(1),
        ..policy()
    };
    assert_eq!(is(holding(HOUR - 1, 1), sooner), None, "more may follow");
    assert_eq!(is(holding(HOUR + 1, 1), policy()), None);
    let later = DuePolicy {
        elapsed: MINUTE * 2,
        ..policy()
    };
    assert_eq!(is(holding(HOUR, 1), later), Some(DueReason::Age));
    let pressed = DuePolicy {
        everything: true,
        ..policy()
    };
    assert_eq!(is(holding(HOUR, 1), pressed), Some(DueReason::Pressed));
    for (release_below, due) in [(7, None), (8, Some(DueReason::PinsJournal))] {
        let near_full = DuePolicy {
            release_below: Some(release_below),
            ..policy()
        };
        assert_eq!(is(holding(HOUR, 1), near_full), due);
    }
}

#[test]
fn the_age_counts_from_the_first_pending_reading() {
    let buffer = holding(HOUR, 1);
    let lease = buffer
        .lease(
            &DuePolicy {
                everything: true,
                ..policy()
            },
            1,
        )
        .remove(0);
    let late = readings("S1", HOUR, 50..51, 1.0);
    buffer.apply(8, now(), &late, MINUTE);
    assert_eq!(
        buffer.oldest_pending(),
        Some(Duration::ZERO),
        "it is in flight"
    );
    let later = DuePolicy {
        elapsed: MINUTE * 2,
        ..policy()
    };
    assert_eq!(reason(&buffer, &later), None, "one lease at a time");
    assert!(buffer.confirm(&lease.write.key, lease.write.target));
    tell(&buffer, &[lease.write.key.sensor]);
    assert_eq!(reason(&buffer, &later), None);
    let later = DuePolicy {
        elapsed: MINUTE * 3,
        ..policy()
    };
    assert_eq!(reason(&buffer, &later), Some(DueReason::Age));
}

/// A quiet sensor's single reading would hold the oldest segment for ever.
#[test]
fn what_pins_the_oldest_segment_goes_first_however_small() {
    let buffer = buffer(1 << 24);
    let apply = |seq, sensor: &str, hour, count| {
        let batch = readings(sensor, hour, 0..count, 1.0);
        buffer.apply(seq, now(), &batch, Duration::ZERO);
    };
    apply(1, "quiet", HOUR, 1);
    for busy in 0..50 {
        apply(2 + busy, &format!("busy-{busy}"), HOUR - 1, 500);
    }
    let near_full = DuePolicy {
        release_below: Some(2),
        ..policy()
    };
    let first = buffer.lease(&near_full, 1).remove(0);
    assert_eq!(first.write.key, key("quiet", HOUR));
    assert_eq!(first.reason, DueReason::PinsJournal);
    assert_eq!(buffer.lowest_pinned(), Some(1));
    assert!(buffer.confirm(&first.write.key, first.write.target));
    assert_eq!(buffer.lowest_pinned(), Some(1), "not before it is told");
    tell(&buffer, &[first.write.key.sensor]);
    assert_eq!(buffer.lowest_pinned(), Some(2));
    let next = buffer.lease(&near_full, 3);
    assert!(
        next.iter()
            .all(|lease| lease.reason == DueReason::HourClosed)
    );
    let keys = |from: u64| (from..from + 3).map(|n| key(&format!("busy-{n}"), HOUR - 1));
    let leased: HashSet<_> = next.into_iter().map(|lease| lease.write.key).collect();
    assert_eq!(leased, keys(0).collect(), "those that wait longest");
}

#[test]
fn a_bucket_that_was_set_aside_is_due_after_pauses_that_double() {
    let buffer = holding(HOUR - 1, 1);
    let pauses = RetryPauses {
        min: MINUTE,
        max: MINUTE * 3,
    };
    let mut at = MINUTE;
    let mut is_first = true;
    for pause in [1, 2, 3, 3] {
        let due = DuePolicy {
            elapsed: at,
            ..policy()
        };
        let write = buffer.lease(&due, 1).remove(0).write;
        let told = buffer.set_aside(&write.key, write.target, at, pauses, true);
        assert_eq!(told, is_first, "told once");
        is_first = false;
        assert_eq!(buffer.lowest_pinned(), Some(7));
        assert_eq!(buffer.next_retry(), Some(at + MINUTE * pause));
        at += MINUTE * pause;
        let early = DuePolicy {
            elapsed: at.saturating_sub(Duration::from_millis(1)),
            everything: true,
            ..policy()
        };
        assert_eq!(reason(&buffer, &early), None);
    }
    let due = DuePolicy {
        elapsed: at,
        ..policy()
    };
    let write = buffer.lease(&due, 1).remove(0).write;
    assert!(buffer.confirm(&write.key, write.target));
    tell(&buffer, &[write.key.sensor]);
    assert_eq!((buffer.next_retry(), buffer.set_aside_buckets()), (None, 0));
    assert_eq!(buffer.lowest_pinned(), None);
}

#[test]
fn numbers_of_writes_never_repeat_and_are_positive() {
    let mut numbers = HashSet::new();
    for start in [0, 2, 3 << 8, u32::MAX - 1] {
        let writer = WriterId::new(start);
        for _ in 0..1000 {
            let number = writer.next();
            assert!(number >= 0);
            assert!(numbers.insert(number), "{number} of start {start}");
        }
    }
}

#[test]
fn a_round_carries_no_more_bytes_than_it_may_but_always_a_bucket_and_the_oldest_first() {
    let buffer = buffer(1 << 20);
    for number in 0..20_u64 {
        // Later records are of earlier sensors: what waits longest goes first.
        let batch = readings(&format!("S{:02}", 19 - number), HOUR - 1, 0..100, 1.0);
        buffer.apply(number, now(), &batch, Duration::ZERO);
    }
    let mut order = Vec::new();
    for (bytes, expected) in [(1, 1), (10_000, 3), (usize::MAX, 16)] {
        let bounds = RoundBounds { buckets: 20, bytes };
        let leases = buffer.lease(&policy(), bounds);
        assert_eq!(leases.len(), expected, "within {bytes} bytes");
        order.extend(leases.into_iter().map(|lease| lease.write.key));
    }
    let waited = (0..20)
        .rev()
        .map(|number| key(&format!("S{number:02}"), HOUR - 1));
    assert_eq!(order, waited.collect::<Vec<_>>());
}
