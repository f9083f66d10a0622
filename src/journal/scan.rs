//! Reads a segment back at a start: what is sound, what is torn, what is
//! damaged.

use super::disk::Disk;
use super::frame::{self, SEGMENT_HEADER_BYTES};
use super::log::{FoundDeletion, FoundKeyed, LogError, Recovered, Segment, TornTail, failed};
use super::record::Record;

/// Checks one segment and counts what it holds. One without a sound header, as a
/// start leaves it that is cut off while it makes one, holds nothing.
pub(super) fn scan(
    disk: &dyn Disk,
    name: String,
    named_seq: u64,
    expected: Option<u64>,
    is_last: bool,
    recovered: &mut Recovered,
    found: FoundKeyed<'_>,
) -> Result<Segment, LogError> {
    let len = disk.len(&name).map_err(failed("read"))?;
    let bytes = disk
        .read_at(&name, 0, usize::try_from(len).unwrap_or(usize::MAX))
        .map_err(failed("read"))?;
    if let Some(version) = frame::other_version(&bytes) {
        return Err(LogError::Version {
            segment: name,
            version,
        });
    }
    let header = frame::read_segment_header(&bytes);
    let Some(first_seq) = header.filter(|seq| *seq == named_seq) else {
        if let Some(expected) = expected.filter(|seq| *seq != named_seq) {
            return Err(LogError::Gap {
                segment: name,
                found: named_seq,
                expected,
            });
        }
        // The header is synced before any group is written: what stands behind it
        // proves that it was whole once, and a sound one of another number that it
        // is no torn one. Zeros may be a file system's.
        let behind = bytes.get(SEGMENT_HEADER_BYTES..).unwrap_or_default();
        if is_last && header.is_none() && behind.iter().all(|byte| *byte == 0) {
            recovered.torn = Some(TornTail {
                segment: name.clone(),
                offset: 0,
                bytes: len,
            });
            return Ok(Segment {
                name,
                first_seq: named_seq,
                end_seq: named_seq,
                bytes: 0,
            });
        }
        return Err(LogError::Damaged {
            segment: name,
            offset: 0,
        });
    };
    if let Some(expected) = expected.filter(|seq| *seq != first_seq) {
        return Err(LogError::Gap {
            segment: name,
            found: first_seq,
            expected,
        });
    }
    let mut segment = Segment {
        name,
        first_seq,
        end_seq: first_seq,
        bytes: SEGMENT_HEADER_BYTES as u64,
    };
    let mut at = SEGMENT_HEADER_BYTES;
    while at < bytes.len() {
        let rest = bytes.get(at..).unwrap_or_default();
        let Some(group) = frame::read_group(rest).filter(|g| g.first_seq == segment.end_seq) else {
            // A later segment or a later group proves that this was durable, and
            // so does a group that is sound but of another place.
            let is_misplaced = frame::read_group(rest).is_some();
            if !is_last || is_misplaced || frame::has_group(rest, segment.end_seq.saturating_add(1))
            {
                return Err(LogError::Damaged {
                    segment: segment.name,
                    offset: at as u64,
                });
            }
            disk.truncate(&segment.name, at as u64)
                .map_err(failed("cut"))?;
            recovered.torn = Some(TornTail {
                segment: segment.name.clone(),
                offset: at as u64,
                bytes: rest.len() as u64,
            });
            break;
        };
        for record in group.records() {
            recovered.bytes += record.len() as u64;
            let record = Record::decode(record).map_err(|source| LogError::Record {
                segment: segment.name.clone(),
                offset: at as u64,
                source,
            })?;
            recovered.values += record.counts().1;
            match record {
                Record::Batch {
                    received_at,
                    keyed: Some(keyed),
                    ..
                } => found(segment.end_seq, received_at, keyed),
                Record::Batch { keyed: None, .. } => {}
                Record::Deletion { sensor, range, .. } => {
                    recovered.deletions.push(FoundDeletion {
                        seq: segment.end_seq,
                        sensor,
                        range,
                        is_done: false,
                    });
                }
                Record::DeletionDone { deletion } => {
                    for found in &mut recovered.deletions {
                        found.is_done |= found.seq == deletion;
                    }
                }
            }
            recovered.records += 1;
            recovered.first_seq.get_or_insert(segment.end_seq);
            segment.end_seq += 1;
        }
        if segment.end_seq != group.first_seq + u64::from(group.count) {
            return Err(LogError::Damaged {
                segment: segment.name,
                offset: at as u64,
            });
        }
        at += group.bytes;
    }
    if is_last && recovered.torn.is_none() {
        // What was written may never have been synced: the process may have
        // been killed before. From here on it counts as durable, and the next
        // segment goes on behind it.
        disk.truncate(&segment.name, at as u64)
            .map_err(failed("synced"))?;
    }
    segment.bytes = at as u64;
    Ok(segment)
}
