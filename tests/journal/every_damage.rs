//! I12, exhaustively over a small journal: whatever happens to its bytes and
//! files, a start has records from the first on as they were written, or refuses
//! with segment, byte and remedy and changes nothing. It never panics.
//!
//! What a start cannot know is here too: an end that is missing whole. Then it
//! has the records in front of it, and nothing else.

use std::panic::{AssertUnwindSafe, catch_unwind};

use hourglass::journal::frame::{
    GROUP_HEADER_BYTES, SEGMENT_HEADER_BYTES, group_bytes, segment_header, write_group,
};

use super::builders::{assert_holds, fill, image, open};
use crate::support::sim_disk::SimDisk;

/// Records 1 to 23.
const END: u64 = 24;

/// How much of the end a start may miss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    Nothing,
    /// The last group, and it must say so.
    LastGroupTold,
    /// What the damage reached in the last segment, and it must say so.
    Told,
    /// Whatever was in the part that is gone.
    End,
}

fn written() -> SimDisk {
    let disk = SimDisk::default();
    let (mut log, _) = open(&disk).unwrap();
    fill(&mut log, END);
    assert!(log.segments() > 3);
    disk.after_kill()
}

fn with(disk: &SimDisk, name: &str, bytes: Vec<u8>) -> SimDisk {
    let damaged = disk.after_kill();
    damaged.overwrite(name, bytes);
    damaged
}

/// Where the groups of a segment begin.
fn groups(bytes: &[u8]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut at = SEGMENT_HEADER_BYTES;
    while let Some(length) = bytes.get(at..).and_then(group_bytes) {
        found.push(at);
        at += length;
    }
    found
}

/// First record of the last group.
fn last_group(disk: &SimDisk) -> u64 {
    let bytes = disk.bytes(disk.names().last().unwrap());
    let at = groups(&bytes).pop().unwrap();
    u64::from_le_bytes(bytes[at + 12..at + 20].try_into().unwrap())
}

/// What a start made of the damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    Recovered { end: u64 },
    Refused,
}

/// A start on `damaged`, held to the rule. `undamaged` is what was written.
fn start(damaged: &SimDisk, undamaged: &SimDisk, missing: Missing, what: &str) -> Start {
    let before = image(damaged);
    let opened = catch_unwind(AssertUnwindSafe(|| open(damaged)));
    let opened = opened.unwrap_or_else(|_| panic!("{what}: a panic"));
    match opened {
        Err(error) => {
            let told = error.to_string();
            let segments = damaged.names().into_iter().chain(undamaged.names());
            let names_it = segments.into_iter().any(|name| told.contains(&name));
            assert!(names_it && told.contains("byte "), "{what}: {told}");
            let remedy = ["restore", "move", "put it back", "start the version"];
            assert!(remedy.iter().any(|r| told.contains(r)), "{what}: {told}");
            assert_eq!(image(damaged), before, "{what}: a refusal changed the disk");
            Start::Refused
        }
        Ok((log, recovered)) => {
            let end = recovered.end_seq;
            assert!(end <= END, "{what}: {recovered:?}");
            assert!(
                matches!(recovered.first_seq, None | Some(1)),
                "{what}: {recovered:?}"
            );
            assert_eq!(recovered.records, end - 1, "{what}");
            assert_holds(damaged, 1..end);
            match missing {
                Missing::Nothing => assert_eq!(end, END, "{what}: {recovered:?}"),
                Missing::LastGroupTold if end < END => {
                    assert_eq!(end, last_group(undamaged), "{what}: {recovered:?}");
                    assert!(recovered.torn.is_some(), "{what}: cut and not said");
                }
                Missing::Told => {
                    assert!(
                        end == END || recovered.torn.is_some(),
                        "{what}: cut and not said"
                    );
                }
                Missing::LastGroupTold | Missing::End => {}
            }
            drop(log);
            let (_, again) = open(damaged).unwrap();
            assert_eq!((again.torn, again.end_seq), (None, end), "{what}");
            Start::Recovered { end }
        }
    }
}

#[test]
fn every_other_value_of_every_byte() {
    let disk = written();
    let names = disk.names();
    let (mut told, mut cut) = (0, 0);
    for name in &names {
        let bytes = disk.bytes(name);
        let heads = groups(&bytes);
        let is_last = Some(name) == names.last();
        for at in 0..bytes.len() {
            let is_head = at < SEGMENT_HEADER_BYTES
                || heads
                    .iter()
                    .any(|head| (*head..head + GROUP_HEADER_BYTES).contains(&at));
            let values: Vec<u8> = if is_head {
                (1..=255).collect()
            } else {
                (0..8).map(|bit| 1 << bit).collect()
            };
            for flipped in values {
                let mut damaged = bytes.clone();
                damaged[at] ^= flipped;
                let in_last = is_last && at >= *heads.last().unwrap();
                let missing = match in_last {
                    true => Missing::LastGroupTold,
                    false => Missing::Nothing,
                };
                let what = format!("{name}, byte {at} ^ {flipped}");
                match start(&with(&disk, name, damaged), &disk, missing, &what) {
                    Start::Refused => told += 1,
                    Start::Recovered { end } => {
                        assert!(in_last && end < END, "{what}: not seen");
                        cut += 1;
                    }
                }
            }
        }
    }
    assert!(told > 50_000 && cut > 5000, "{told} told, {cut} cut");
}

#[test]
fn every_length_of_every_segment() {
    let disk = written();
    let names = disk.names();
    for name in &names {
        let bytes = disk.bytes(name);
        let is_last = Some(name) == names.last();
        let last_group = *groups(&bytes).last().unwrap();
        for kept in 0..bytes.len() {
            // Cut into its last group it says so; cut further it cannot know what
            // was there.
            let missing = match (is_last, kept > last_group) {
                (true, true) => Missing::LastGroupTold,
                (true, false) => Missing::End,
                (false, _) => Missing::Nothing,
            };
            let what = format!("{name} cut to {kept}");
            let cut = with(&disk, name, bytes[..kept].to_vec());
            let started = start(&cut, &disk, missing, &what);
            assert_eq!(started == Start::Refused, !is_last, "{what}: {started:?}");
        }
    }
}

#[test]
fn everything_that_may_be_appended_to_every_segment() {
    let disk = written();
    let names = disk.names();
    let first = disk.bytes(&names[0]);
    let mut next_group = Vec::new();
    write_group(
        &mut next_group,
        END + 7,
        [b"no record".as_slice()].into_iter(),
    );
    let longest = [b"HGRP\0\0\0\0".as_slice(), &[0xFF; 16]].concat();
    for name in &names {
        let bytes = disk.bytes(name);
        let is_last = Some(name) == names.last();
        for (what, tail) in [
            ("zeros", vec![0; 5000]),
            ("one zero", vec![0]),
            ("ones", vec![0xFF; 300]),
            ("the magic of a group", b"HGRP".to_vec()),
            ("a group of 4 GiB", longest.clone()),
            ("many groups of 4 GiB", longest.repeat(50)),
            ("a group of records far ahead", next_group.clone()),
            ("its own bytes", bytes.clone()),
            ("another segment", first.clone()),
            (
                "a group of the past",
                first[SEGMENT_HEADER_BYTES..].to_vec(),
            ),
        ] {
            let what = format!("{name} with {what} behind");
            let longer = with(&disk, name, [bytes.clone(), tail].concat());
            let started = start(&longer, &disk, Missing::Nothing, &what);
            assert!(is_last || started == Start::Refused, "{what}");
        }
    }
}

#[test]
fn a_hole_of_zeros_anywhere() {
    let disk = written();
    let names = disk.names();
    for name in &names {
        let bytes = disk.bytes(name);
        let is_last = Some(name) == names.last();
        let last_group = *groups(&bytes).last().unwrap();
        for size in [1, 4, 24, 64, 4096] {
            for at in 0..bytes.len() {
                let mut holed = bytes.clone();
                let end = (at + size).min(bytes.len());
                holed[at..end].fill(0);
                if holed == bytes {
                    continue;
                }
                let missing = match (is_last, at >= last_group) {
                    (true, true) => Missing::LastGroupTold,
                    // One that reaches into the last group, its magic at the
                    // least, takes the trace that proves what is in front.
                    (true, false) if end > last_group => Missing::Told,
                    _ => Missing::Nothing,
                };
                let what = format!("{name}, {size} zeros at {at}");
                start(&with(&disk, name, holed), &disk, missing, &what);
            }
        }
    }
}

/// The files of `disk` under the names that `rename` gives, where it gives one.
fn renamed(disk: &SimDisk, rename: impl Fn(usize, &str) -> Option<String>) -> SimDisk {
    let renamed = SimDisk::default();
    for (at, name) in disk.names().iter().enumerate() {
        if let Some(to) = rename(at, name) {
            renamed.overwrite(&to, disk.bytes(name));
        }
    }
    renamed
}

#[test]
fn every_segment_missing_swapped_doubled_or_under_another_name() {
    let disk = written();
    let names = disk.names();
    let last = names.len() - 1;
    for (missing, name) in names.iter().enumerate() {
        let what = format!("{name} is missing");
        let gap = renamed(&disk, |at, name| (at != missing).then(|| name.to_owned()));
        match missing {
            // Nothing says where a journal begins: what is in front was released.
            0 => {
                let (_, recovered) = open(&gap).unwrap();
                let first = recovered.first_seq.unwrap();
                assert!(first > 1 && recovered.end_seq == END, "{recovered:?}");
                assert_holds(&gap, first..END);
            }
            at if at == last => {
                let started = start(&gap, &disk, Missing::End, &what);
                assert!(matches!(started, Start::Recovered { .. }));
            }
            _ => assert_eq!(start(&gap, &disk, Missing::Nothing, &what), Start::Refused),
        }
    }
    for a in 0..names.len() {
        for b in 0..names.len() {
            if a == b {
                continue;
            }
            let what = format!("{} and {} swapped", names[a], names[b]);
            let swapped = renamed(&disk, |at, name| {
                let to = [(a, b), (b, a)].into_iter().find(|(from, _)| *from == at);
                Some(to.map_or(name.to_owned(), |(_, to)| names[to].clone()))
            });
            let started = start(&swapped, &disk, Missing::Nothing, &what);
            assert_eq!(started, Start::Refused, "{what}");

            let what = format!("{} holds what {} holds", names[a], names[b]);
            let doubled = with(&disk, &names[a], disk.bytes(&names[b]));
            let started = start(&doubled, &disk, Missing::Nothing, &what);
            assert_eq!(started, Start::Refused, "{what}");
        }
    }
    for (at, name) in names.iter().enumerate() {
        let seq: u64 = name.split('.').next().unwrap().parse().unwrap();
        for other in [0, seq - 1, seq + 1, seq + 100, u64::MAX - 1, u64::MAX] {
            if other == seq - 1 && seq == 1 {
                continue;
            }
            let what = format!("{name} is called {other}");
            let to = format!("{other:020}.journal");
            let moved = renamed(&disk, |from, name| {
                Some(if from == at {
                    to.clone()
                } else {
                    name.to_owned()
                })
            });
            let started = start(&moved, &disk, Missing::Nothing, &what);
            assert_eq!(started, Start::Refused, "{what}");
            // As a copy that was left there.
            let copied = with(&disk, &to, disk.bytes(name));
            let what = format!("a copy of {name} is called {other}");
            let started = start(&copied, &disk, Missing::Nothing, &what);
            assert_eq!(started, Start::Refused, "{what}");
        }
    }
}

#[test]
fn files_of_others_are_left_alone_and_what_is_no_segment_is_told() {
    let disk = written();
    for name in [
        "README",
        ".journal.swp",
        "backup",
        "journal",
        "x.journal",
        "1.journal.gz",
    ] {
        let foreign = with(&disk, name, b"not ours".to_vec());
        let started = start(&foreign, &disk, Missing::Nothing, name);
        assert_eq!(started, Start::Recovered { end: END });
        assert_eq!(foreign.bytes(name), b"not ours");
    }
    for (name, bytes) in [
        ("00000000000000000099.journal", b"not ours".to_vec()),
        ("00000000000000000099.journal", segment_header(99).to_vec()),
        ("00000000000000000099.journal", Vec::new()),
        ("00000000000000000000.journal", segment_header(0).to_vec()),
        (
            "18446744073709551615.journal",
            segment_header(u64::MAX).to_vec(),
        ),
        ("1.journal", disk.bytes(&disk.names()[0])),
        ("24.journal", b"not ours".repeat(9)),
    ] {
        let what = format!("{name} of {} bytes", bytes.len());
        let foreign = with(&disk, name, bytes);
        start(&foreign, &disk, Missing::Nothing, &what);
    }
}

/// The last number there is, with bytes behind that are no group.
#[test]
fn the_last_number_there_is_does_not_overflow() {
    for tail in [b"garbage".to_vec(), b"HGRP".repeat(20)] {
        let disk = SimDisk::default();
        let bytes = [segment_header(u64::MAX).to_vec(), tail].concat();
        disk.overwrite("18446744073709551615.journal", bytes);
        let opened = catch_unwind(AssertUnwindSafe(|| open(&disk).map(|_| ())));
        assert!(opened.is_ok(), "a panic");
    }
}
