//! I12: a torn end is cut and said; a damaged middle stops the start with the
//! segment and the offset, and changes nothing on disk.

use hourglass::journal::frame::{SEGMENT_HEADER_BYTES, group_bytes, segment_header};
use hourglass::journal::{LogError, TornTail};

use super::builders::{assert_holds, fill, image, open};
use crate::support::sim_disk::SimDisk;

/// Records 1 to 23 in several segments of several groups.
fn written() -> SimDisk {
    let disk = SimDisk::default();
    let (mut log, _) = open(&disk).unwrap();
    fill(&mut log, 24);
    assert!(log.segments() > 3);
    disk.after_kill()
}

/// Where the groups of a segment begin, and where the last one ends.
fn offsets(bytes: &[u8]) -> Vec<usize> {
    let mut offsets = vec![SEGMENT_HEADER_BYTES];
    let mut at = SEGMENT_HEADER_BYTES;
    while let Some(length) = bytes.get(at..).and_then(group_bytes) {
        at += length;
        offsets.push(at);
    }
    assert_eq!(at, bytes.len());
    offsets
}

/// The damage that the start tells, after which the disk must be as it was.
fn damage_told(disk: &SimDisk) -> (String, u64) {
    let before = image(disk);
    let error = open(disk).unwrap_err();
    assert_eq!(image(disk), before, "{error}");
    match error {
        LogError::Damaged { segment, offset } => (segment, offset),
        other => panic!("{other}"),
    }
}

#[test]
fn an_end_torn_at_any_byte_is_cut_and_said() {
    let disk = written();
    let last = disk.names().pop().unwrap();
    let bytes = disk.bytes(&last);
    let offsets = offsets(&bytes);
    let sound = offsets[offsets.len() - 2];
    let whole = open(&disk.after_kill()).unwrap().1;
    for kept in sound + 1..bytes.len() {
        let torn = disk.after_kill();
        torn.overwrite(&last, bytes[..kept].to_vec());
        let (_, recovered) = open(&torn).unwrap();
        let tail = TornTail {
            segment: last.clone(),
            offset: sound as u64,
            bytes: (kept - sound) as u64,
        };
        assert_eq!(recovered.torn, Some(tail));
        assert!(recovered.end_seq < whole.end_seq);
        assert_eq!(torn.bytes(&last), bytes[..sound]);
        assert_holds(&torn, 1..recovered.end_seq);
        assert_eq!(open(&torn).unwrap().1.torn, None);
    }
}

#[test]
fn a_damaged_byte_anywhere_but_in_the_last_group_stops_the_start() {
    let disk = written();
    let names = disk.names();
    let mut flipped = 0;
    for name in &names {
        let bytes = disk.bytes(name);
        let mut groups = offsets(&bytes);
        if name == names.last().unwrap() {
            groups.pop();
        }
        for at in 0..*groups.last().unwrap() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x40;
            let rotten = disk.after_kill();
            rotten.overwrite(name, damaged);
            let group = groups.iter().rev().find(|group| **group <= at);
            let offset = group.copied().unwrap_or(0) as u64;
            assert_eq!(damage_told(&rotten), (name.clone(), offset), "byte {at}");
            flipped += 1;
        }
    }
    assert!(flipped > 500, "{flipped} bytes");
}

#[test]
fn a_damaged_last_group_cannot_be_told_from_a_torn_one() {
    let disk = written();
    let last = disk.names().pop().unwrap();
    let bytes = disk.bytes(&last);
    let offsets = offsets(&bytes);
    let sound = offsets[offsets.len() - 2];
    for at in sound..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        let rotten = disk.after_kill();
        rotten.overwrite(&last, damaged);
        let (_, recovered) = open(&rotten).unwrap();
        assert_eq!(recovered.torn.unwrap().offset, sound as u64);
    }
}

#[test]
fn a_cut_segment_in_the_middle_stops_the_start() {
    let disk = written();
    let name = disk.names()[1].clone();
    let bytes = disk.bytes(&name);
    let offsets = offsets(&bytes);
    for kept in SEGMENT_HEADER_BYTES..bytes.len() {
        let cut = disk.after_kill();
        cut.overwrite(&name, bytes[..kept].to_vec());
        let before = image(&cut);
        let error = open(&cut).unwrap_err();
        assert_eq!(image(&cut), before);
        if offsets.contains(&kept) {
            // Whole groups are missing: the next segment does not follow.
            assert!(matches!(error, LogError::Gap { .. }), "{kept}: {error}");
        } else {
            assert!(matches!(error, LogError::Damaged { .. }), "{kept}: {error}");
        }
    }
}

#[test]
fn a_missing_segment_is_a_gap_that_is_named() {
    let disk = written();
    let names = disk.names();
    for missing in 1..names.len() - 1 {
        let gap = SimDisk::default();
        for (at, name) in names.iter().enumerate() {
            if at != missing {
                gap.overwrite(name, disk.bytes(name));
            }
        }
        let before = image(&gap);
        match open(&gap).unwrap_err() {
            LogError::Gap { segment, .. } => assert_eq!(segment, names[missing + 1]),
            other => panic!("{other}"),
        }
        assert_eq!(image(&gap), before);
    }
}

#[test]
fn a_missing_segment_before_one_without_a_sound_header_is_a_gap_too() {
    let disk = SimDisk::default();
    let (log, _) = open(&disk).unwrap();
    drop(log);
    disk.overwrite("00000000000000000009.journal", b"HGJ".to_vec());
    let before = image(&disk);
    assert!(matches!(
        open(&disk).unwrap_err(),
        LogError::Gap {
            found: 9,
            expected: 1,
            ..
        }
    ));
    assert_eq!(image(&disk), before);
}

#[test]
fn a_segment_that_was_cut_off_while_it_was_made_goes_and_keeps_its_number() {
    let header = segment_header(40);
    for kept in 0..header.len() {
        let disk = SimDisk::default();
        let name = "00000000000000000040.journal";
        disk.overwrite(name, header[..kept].to_vec());
        let (mut log, recovered) = open(&disk).unwrap();
        assert_eq!(recovered.end_seq, 40, "sequences never begin again");
        fill(&mut log, 42);
        assert_holds(&disk, 40..42);
    }
}
