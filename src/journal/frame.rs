//! Frames: the header of a segment, and groups of records under one CRC-32C.
//!
//! A group is what one sync makes durable. Because a group is written only
//! after the sync of the one before succeeded, a bad group with a good one
//! behind it was durable once: damage. A bad group with nothing good behind it
//! was never acknowledged, or its acknowledgement cannot be told from a torn
//! write: it is cut, and said.
//!
//! | bytes | segment header | | bytes | group header |
//! |---|---|---|---|---|
//! | 0..8 | magic `HGJOURN` + version 1 | | 0..4 | magic `HGRP` |
//! | 8..16 | first sequence, u64 LE | | 4..8 | CRC-32C of all that follows, u32 LE |
//! | 16..20 | CRC-32C of 0..16, u32 LE | | 8..12 | bytes of the body, u32 LE |
//! | | | | 12..20 | sequence of the first record, u64 LE |
//! | | | | 20..24 | number of records, u32 LE |
//!
//! The body is the records, each behind its length (u32 LE).

/// Bytes of a segment's header.
pub const SEGMENT_HEADER_BYTES: usize = 20;
/// Bytes of a group's header.
pub const GROUP_HEADER_BYTES: usize = 24;
/// Bytes in front of each record.
pub const RECORD_HEADER_BYTES: usize = 4;

/// Version of the format that is written and read.
pub const SEGMENT_VERSION: u8 = 1;

const SEGMENT_MAGIC: [u8; 8] = [b'H', b'G', b'J', b'O', b'U', b'R', b'N', SEGMENT_VERSION];
const GROUP_MAGIC: [u8; 4] = *b"HGRP";

/// The header of a segment whose first record has `first_seq`.
#[must_use]
pub fn segment_header(first_seq: u64) -> [u8; SEGMENT_HEADER_BYTES] {
    let mut header = [0; SEGMENT_HEADER_BYTES];
    header[..8].copy_from_slice(&SEGMENT_MAGIC);
    header[8..16].copy_from_slice(&first_seq.to_le_bytes());
    let crc = crc32c::crc32c(&header[..16]);
    header[16..].copy_from_slice(&crc.to_le_bytes());
    header
}

/// The first sequence of a segment, if `bytes` begin with a sound header.
#[must_use]
pub fn read_segment_header(bytes: &[u8]) -> Option<u64> {
    let header = bytes.get(..SEGMENT_HEADER_BYTES)?;
    let crc = crc32c::crc32c(header.get(..16)?);
    (header.get(..8)? == SEGMENT_MAGIC && u32_at(header, 16)? == crc)
        .then(|| u64_at(header, 8))
        .flatten()
}

/// The version in a sound header that is not of [`SEGMENT_VERSION`]; one of any
/// version has its magic and checksum in these places.
#[must_use]
pub fn other_version(bytes: &[u8]) -> Option<u8> {
    let header = bytes.get(..SEGMENT_HEADER_BYTES)?;
    let (name, version) = (header.get(..7)?, *header.get(7)?);
    let is_sound = u32_at(header, 16)? == crc32c::crc32c(header.get(..16)?);
    (is_sound && name == &SEGMENT_MAGIC[..7] && version != SEGMENT_VERSION).then_some(version)
}

/// Appends a group of `records` to `out`.
///
/// # Panics
/// If the group had more than 4 GiB; the writer bounds groups far below.
pub fn write_group<'a>(
    out: &mut Vec<u8>,
    first_seq: u64,
    records: impl ExactSizeIterator<Item = &'a [u8]>,
) {
    let start = out.len();
    let count = u32::try_from(records.len()).expect("a group has fewer than 2^32 records");
    out.extend(GROUP_MAGIC);
    out.extend([0; 8]);
    out.extend(first_seq.to_le_bytes());
    out.extend(count.to_le_bytes());
    for record in records {
        let bytes = u32::try_from(record.len()).expect("a record is smaller than 4 GiB");
        out.extend(bytes.to_le_bytes());
        out.extend(record);
    }
    let body = out.len() - start - GROUP_HEADER_BYTES;
    let body = u32::try_from(body).expect("the writer bounds a group far below 4 GiB");
    out[start + 8..start + 12].copy_from_slice(&body.to_le_bytes());
    let crc = crc32c::crc32c(&out[start + 8..]);
    out[start + 4..start + 8].copy_from_slice(&crc.to_le_bytes());
}

/// A sound group.
#[derive(Debug, Clone, Copy)]
pub struct Group<'a> {
    /// Sequence of its first record.
    pub first_seq: u64,
    /// Number of records.
    pub count: u32,
    /// Bytes of the whole group, header included.
    pub bytes: usize,
    body: &'a [u8],
}

impl<'a> Group<'a> {
    /// The records, in order of sequence.
    pub fn records(self) -> impl Iterator<Item = &'a [u8]> {
        let mut rest = self.body;
        (0..self.count).map_while(move |_| {
            let bytes = u32_at(rest, 0)? as usize;
            let (record, behind) = rest.get(RECORD_HEADER_BYTES..)?.split_at_checked(bytes)?;
            rest = behind;
            Some(record)
        })
    }
}

/// The bytes of the group whose header starts `bytes`, unchecked: enough to
/// know how much to read.
#[must_use]
pub fn group_bytes(bytes: &[u8]) -> Option<usize> {
    (bytes.get(..4)? == GROUP_MAGIC).then_some(())?;
    Some(GROUP_HEADER_BYTES + u32_at(bytes, 8)? as usize)
}

/// The group at the start of `bytes`, if it is whole and its CRC holds.
#[must_use]
pub fn read_group(bytes: &[u8]) -> Option<Group<'_>> {
    let length = group_bytes(bytes)?;
    let whole = bytes.get(..length)?;
    if crc32c::crc32c(whole.get(8..)?) != u32_at(whole, 4)? {
        return None;
    }
    Some(Group {
        first_seq: u64_at(whole, 12)?,
        count: u32_at(whole, 20)?,
        bytes: length,
        body: whole.get(GROUP_HEADER_BYTES..)?,
    })
}

/// Whether a sound group of records from `seq` on starts anywhere in `bytes`.
/// The sequence keeps out what only looks like a group inside a torn record.
#[must_use]
pub fn has_group(bytes: &[u8], seq: u64) -> bool {
    bytes
        .windows(GROUP_MAGIC.len())
        .enumerate()
        .filter(|(_, window)| *window == GROUP_MAGIC)
        .filter_map(|(at, _)| bytes.get(at..).and_then(read_group))
        .any(|group| group.first_seq >= seq && group.count > 0)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_comes_back_and_any_flipped_bit_is_found() {
        let records: [&[u8]; 3] = [b"one", b"", b"three"];
        let mut bytes = Vec::new();
        write_group(&mut bytes, 7, records.iter().copied());
        let group = read_group(&bytes).unwrap();
        assert_eq!((group.first_seq, group.count), (7, 3));
        assert_eq!(group.records().collect::<Vec<_>>(), records);
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(read_group(&damaged).is_none(), "bit {bit}");
        }
        for cut in 0..bytes.len() {
            assert!(read_group(&bytes[..cut]).is_none());
        }
    }

    #[test]
    fn a_group_is_found_behind_garbage() {
        let mut bytes = b"HGRPxxHG".to_vec();
        assert!(!has_group(&bytes, 0));
        write_group(&mut bytes, 7, [b"r".as_slice()].into_iter());
        assert!(has_group(&bytes, 7));
        assert!(
            !has_group(&bytes, 8),
            "one of earlier records proves nothing"
        );
    }

    #[test]
    fn a_segment_header_is_checked() {
        let header = segment_header(42);
        assert_eq!(read_segment_header(&header), Some(42));
        for at in 0..header.len() {
            let mut damaged = header;
            damaged[at] ^= 1;
            assert_eq!(read_segment_header(&damaged), None);
        }
    }
}
