//! Buckets made by hand, and what is told of them.

use super::*;
use crate::model::{HourStart, SensorId};
use crate::store::{BucketVersion, Flaw};

fn temp() -> MeasureName {
    MeasureName::new("temp").unwrap()
}

/// Parts that hold one value at each of these offsets, true and closed but for
/// the last.
fn bucket(parts: &[&[u32]]) -> InspectedBucket {
    let mut merge = Merge::default();
    let part = |(number, offsets): (usize, &&[u32])| {
        let from = merge.elements().len();
        let mut elements = Elements::default();
        for offset in *offsets {
            elements.push(*offset, [(&temp(), 1.5)]);
            merge.add(*offset, [(&temp(), 1.5)]);
        }
        StoredPart {
            version: BucketVersion {
                part: number as u32,
                rev: 1,
                by: number as i64 + 70,
            },
            full: number + 1 < parts.len(),
            raw_dropped: false,
            bytes: 100,
            computed: merge.computed(from, merge.elements().len()),
            stray_fields: Vec::new(),
            elements,
        }
    };
    InspectedBucket {
        key: Some(BucketKey {
            sensor: SensorId::new("S|1").unwrap(),
            hour: HourStart::from_hours(1),
        }),
        parts: parts.iter().enumerate().map(part).collect(),
        is_whole: true,
        flaws: Vec::new(),
    }
}

fn damaged(found: &InspectedBucket) -> Vec<String> {
    let findings = Findings::of(found);
    assert!(findings.differing.is_empty() && findings.unclosed.is_empty());
    findings.damaged
}

#[test]
fn what_hourglass_writes_is_right() {
    for parts in [&[&[1, 2][..]][..], &[&[5, 1], &[2], &[]], &[&[]]] {
        let findings = Findings::of(&bucket(parts));
        assert!(findings.is_clean(), "{findings:?}");
        let readings: usize = parts.iter().map(|part| part.len()).sum();
        assert_eq!(findings.readings, readings as u64);
        let empty = parts.iter().filter(|part| part.is_empty());
        assert_eq!(findings.empty, empty.count() as u64);
    }
}

#[test]
fn parts_count_up_from_0() {
    let mut found = bucket(&[&[1], &[2], &[3]]);
    found.parts.remove(1);
    assert_eq!(
        damaged(&found),
        ["S%7C1|1970-01-01T01: part 1 is missing, and part 2 is there"]
    );
    found.parts.remove(0);
    assert_eq!(
        damaged(&found),
        ["S%7C1|1970-01-01T01: part 0 is missing, and part 2 is there"]
    );
    let mut found = bucket(&[&[1], &[2]]);
    found.parts[1].version.part = 0;
    assert_eq!(
        damaged(&found),
        ["S%7C1|1970-01-01T01: part 0 stands twice"]
    );
}

#[test]
fn a_part_before_the_last_is_closed() {
    let mut found = bucket(&[&[1], &[2]]);
    found.parts[0].full = false;
    let findings = Findings::of(&found);
    assert_eq!(
        (&findings.unclosed[..], findings.damaged.len()),
        (&[0][..], 0)
    );
    assert_eq!(
        findings.unclosed_lines,
        [
            "S%7C1|1970-01-01T01 is not closed, and part 1 follows: no query and no flush takes the \
          hour"
        ]
    );
    // The last may be closed: what comes next opens another.
    found.parts[0].full = true;
    found.parts[1].full = true;
    assert!(Findings::of(&found).is_clean());
}

#[test]
fn every_write_has_a_number_of_its_own_but_that_which_drops_readings() {
    let mut found = bucket(&[&[1], &[2]]);
    found.parts[1].version.by = 70;
    assert_eq!(
        damaged(&found),
        ["S%7C1|1970-01-01T01: parts 0 and 1 have the same by 70; every write has its own"]
    );
    for part in &mut found.parts {
        part.raw_dropped = true;
        part.elements = Elements::default();
    }
    let findings = Findings::of(&found);
    assert!(findings.is_clean());
    assert_eq!(findings.dropped, 2);
}

#[test]
fn an_instant_that_stands_in_two_parts_is_told() {
    let mut found = bucket(&[&[1], &[2]]);
    found.parts[1].elements = found.parts[0].elements.clone();
    let findings = Findings::of(&found);
    assert_eq!(
        findings.damaged,
        ["S%7C1|1970-01-01T01: 1 values stand twice; the first of each is what queries show"]
    );
}

#[test]
fn what_is_no_reading_is_told_and_nothing_follows_from_it() {
    let mut found = bucket(&[&[1]]);
    found.parts[0].elements.push(2, []);
    assert_eq!(
        damaged(&found),
        ["S%7C1|1970-01-01T01 has no value in element 1"]
    );
    let mut found = bucket(&[&[1]]);
    let endless = [(&temp(), f64::INFINITY)];
    found.parts[0].elements.push(2, endless);
    assert_eq!(
        damaged(&found),
        ["S%7C1|1970-01-01T01 has temp inf in element 1"]
    );
}

#[test]
fn a_part_that_is_larger_than_any_is_told() {
    let mut found = bucket(&[&[1], &[2]]);
    found.parts[1].bytes = PART_BYTES_LARGEST + 1;
    let [line] = &damaged(&found)[..] else {
        panic!("nothing is told");
    };
    assert!(
        line.starts_with("S%7C1|1970-01-01T01#1 has 9437185 bytes"),
        "{line}"
    );
}

#[test]
fn of_computed_fields_every_wrong_one_is_told_and_what_is_right() {
    let mut found = bucket(&[&[1], &[2]]);
    found.parts[1].computed.count = 7;
    found.parts[1].stray_fields = vec!["sumX".to_owned()];
    let findings = Findings::of(&found);
    let [differing] = &findings.differing[..] else {
        panic!("{findings:?}");
    };
    assert_eq!((differing.at, differing.actual.count), (1, 1));
    assert_eq!(
        differing.lines,
        [
            "S%7C1|1970-01-01T01#1 count is 7, the readings say 1",
            "S%7C1|1970-01-01T01#1 sumX does not follow from computed",
        ]
    );
}

/// Parts are dropped one by one: an instant may have stood first in one of which
/// nothing is left.
#[test]
fn behind_a_part_without_readings_an_instant_need_not_be_the_first() {
    let mut found = bucket(&[&[1], &[2]]);
    found.parts[0].raw_dropped = true;
    found.parts[0].elements = Elements::default();
    found.parts[1].computed.count = 0;
    assert!(Findings::of(&found).is_clean());
    found.parts[1].computed.count = 2;
    assert_eq!(Findings::of(&found).differing.len(), 1);
}

#[test]
fn where_something_cannot_be_read_its_flaw_alone_is_told() {
    let mut found = bucket(&[&[1], &[2]]);
    found.parts.remove(0);
    found.is_whole = false;
    found.flaws = vec![
        Flaw::not_understood("a", "b is strange"),
        Flaw::damaged("c", "d is missing"),
    ];
    let findings = Findings::of(&found);
    assert_eq!(findings.not_understood, ["a: not understood: b is strange"]);
    assert_eq!(findings.damaged, ["c: d is missing"]);
}

#[test]
fn fields_that_no_values_have_are_told_from_those_that_some_have() {
    let mut stats = Stats::of(1.0);
    assert!(is_plausible(&stats));
    stats.add(-2.5);
    assert!(is_plausible(&stats));
    for wrong in [
        Stats { count: 0, ..stats },
        Stats { min: 3.0, ..stats },
        Stats { max: -1.5, ..stats },
        Stats {
            count: 1,
            ..Stats {
                min: 0.5,
                ..Stats::of(-1.0)
            }
        },
    ] {
        assert!(!is_plausible(&wrong), "{wrong:?}");
    }
}
