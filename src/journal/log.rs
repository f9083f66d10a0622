//! Segments on a disk.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use super::Space;
use super::disk::{Disk, DiskFile};
use super::frame::{self, SEGMENT_HEADER_BYTES};
use super::record::{KeyedAnswer, RecordError};
use super::scan::scan;
use crate::model::{Micros, SensorId, TimeRange};

/// A disk that was full has room again where it takes so many bytes.
const ROOM_BYTES: usize = 64 << 10;

/// Told of each keyed answer that a log holds: its record's sequence, when it
/// was received, the answer.
pub type FoundKeyed<'a> = &'a mut dyn FnMut(u64, Micros, Box<KeyedAnswer>);

/// The log as a value: appends groups, releases segments, on the caller's
/// thread.
pub struct Log {
    disk: Arc<dyn Disk>,
    space: Arc<Space>,
    segment_bytes_max: u64,
    closed: VecDeque<Segment>,
    current: Segment,
    file: Box<dyn DiskFile>,
    next_seq: u64,
    /// Why it takes no more writes.
    poisoned: Option<String>,
    /// Whether a removed segment's name may come back after a power cut.
    removal_unsynced: bool,
    buffer: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct Segment {
    pub(super) name: String,
    pub(super) first_seq: u64,
    /// Sequence behind its last record.
    pub(super) end_seq: u64,
    pub(super) bytes: u64,
}

/// What a start found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recovered {
    /// Sequence of the first record found, if any was.
    pub first_seq: Option<u64>,
    /// Sequence behind the last record.
    pub end_seq: u64,
    /// Number of records.
    pub records: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Values over all batches.
    pub values: u64,
    /// Deletions, in their order.
    pub deletions: Vec<FoundDeletion>,
    /// What was cut from the end.
    pub torn: Option<TornTail>,
}

/// A deletion that a start found. No reading of a record before it may come back,
/// whatever is flushed while the journal is replayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundDeletion {
    /// Its sequence.
    pub seq: u64,
    /// Of which sensor.
    pub sensor: SensorId,
    /// Of which time.
    pub range: TimeRange,
    /// Whether the store has done it.
    pub is_done: bool,
}

/// An end of the journal that was cut: a write that was under way when the
/// process or the machine stopped, never acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TornTail {
    /// File name of the segment.
    pub segment: String,
    /// Where the sound part ends, bytes.
    pub offset: u64,
    /// Bytes that were cut.
    pub bytes: u64,
}

/// Why a log cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The disk failed.
    #[error("the journal cannot be {doing}: {source}")]
    Disk {
        /// What was tried.
        doing: &'static str,
        /// What the disk said.
        source: io::Error,
    },
    /// A damaged middle: something that was durable is not readable.
    #[error(
        "journal segment {segment} is damaged at byte {offset}: what stands there was durable \
         once, as what follows shows; restore the file from a copy, or move it away to start \
         without its readings"
    )]
    Damaged {
        /// File name of the segment.
        segment: String,
        /// Where, bytes.
        offset: u64,
    },
    /// A segment of another version of the format.
    #[error(
        "journal segment {segment} has format version {version} (byte 7), this hourglass reads {}; start \
         the version that wrote it, and stop it cleanly",
        frame::SEGMENT_VERSION
    )]
    Version {
        /// File name of the segment.
        segment: String,
        /// Its version.
        version: u8,
    },
    /// Segments do not follow each other.
    #[error(
        "journal segment {segment} starts with record {found} where record {expected} must \
         follow (byte 8): a segment is missing or is called like another; put it back, or move \
         {segment} away to start without it"
    )]
    Gap {
        /// File name of the segment.
        segment: String,
        /// Its first sequence.
        found: u64,
        /// The one that must follow.
        expected: u64,
    },
    /// A record that this build cannot read.
    #[error(
        "journal segment {segment}, byte {offset}: {source}; else restore the file from a copy, or \
         move it away to start without its readings"
    )]
    Record {
        /// File name of the segment.
        segment: String,
        /// Start of its group, bytes.
        offset: u64,
        /// Why.
        source: RecordError,
    },
}

/// Why a group was not appended.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AppendError {
    /// The disk has no room. Nothing of the group is ever read back, the log is
    /// sound, and the next append may succeed.
    #[error("the journal's disk is full: {0}")]
    NoRoom(String),
    /// A write or sync failed, now or before: nothing can be made durable any
    /// more. Whether the group that failed first is durable is unknown.
    #[error(
        "the journal cannot be written since a write or sync failed ({0}); restart hourglass once the disk is sound"
    )]
    Poisoned(String),
}

pub(super) fn segment_name(first_seq: u64) -> String {
    format!("{first_seq:020}.journal")
}

pub(super) fn segment_seq(name: &str) -> Option<u64> {
    name.strip_suffix(".journal")?.parse().ok()
}

impl Log {
    /// Reads and checks every segment, cuts a torn tail, and opens a new
    /// segment behind the last.
    ///
    /// # Errors
    /// [`LogError`]: nothing is skipped.
    pub fn open(
        disk: Arc<dyn Disk>,
        space: Arc<Space>,
        segment_bytes_max: u64,
    ) -> Result<(Self, Recovered), LogError> {
        Self::open_with(disk, space, segment_bytes_max, &mut |_, _, _| ())
    }

    /// As [`Log::open`], and tells `found` of the keyed answers, in order.
    ///
    /// # Errors
    /// As [`Log::open`]; what `found` was told before counts for nothing then.
    pub fn open_with(
        disk: Arc<dyn Disk>,
        space: Arc<Space>,
        segment_bytes_max: u64,
        found: FoundKeyed<'_>,
    ) -> Result<(Self, Recovered), LogError> {
        let list = disk.list().map_err(failed("listed"))?;
        let mut names: Vec<(u64, String)> = list
            .into_iter()
            .filter_map(|name| Some((segment_seq(&name)?, name)))
            .collect();
        names.sort();
        let mut recovered = Recovered::default();
        let mut closed = VecDeque::new();
        let last = names.len().saturating_sub(1);
        for (at, (named_seq, name)) in names.into_iter().enumerate() {
            let expected = (at > 0).then_some(recovered.end_seq);
            let segment = scan(
                &*disk,
                name,
                named_seq,
                expected,
                at == last,
                &mut recovered,
                found,
            )?;
            recovered.end_seq = segment.end_seq;
            space.take(segment.bytes);
            closed.push_back(segment);
        }
        recovered.end_seq = recovered.end_seq.max(1);
        let next_seq = recovered.end_seq;
        // A segment that holds nothing goes on: were it removed and made anew, a
        // power cut in between could take the sequence with it.
        let (file, current) = match closed.pop_back_if(|s| s.first_seq == s.end_seq) {
            Some(empty) => {
                space.give_back(empty.bytes);
                begin_again(&*disk, empty)
            }
            None => new_segment(&*disk, next_seq),
        }
        .map_err(failed("started"))?;
        space.take(current.bytes);
        let log = Self {
            disk,
            space,
            segment_bytes_max,
            closed,
            current,
            file,
            next_seq,
            poisoned: None,
            removal_unsynced: false,
            buffer: Vec::new(),
        };
        Ok((log, recovered))
    }

    /// Sequence that the next record gets.
    #[must_use]
    pub fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// Whether no write or sync has failed so that nothing can be made durable.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        self.poisoned.is_none()
    }

    /// Segments on disk.
    #[must_use]
    pub fn segments(&self) -> usize {
        self.closed.len() + 1
    }

    /// Sequence behind the last record of the oldest segment: what is below it
    /// pins that segment.
    #[must_use]
    pub fn oldest_segment_end(&self) -> u64 {
        self.closed.front().unwrap_or(&self.current).end_seq
    }

    /// Appends `records` as one group and syncs it. The first gets the
    /// sequence that is returned, the others follow.
    ///
    /// # Errors
    /// [`AppendError`].
    pub fn append<'a>(
        &mut self,
        records: impl ExactSizeIterator<Item = &'a [u8]>,
    ) -> Result<u64, AppendError> {
        if let Some(reason) = &self.poisoned {
            return Err(AppendError::Poisoned(reason.clone()));
        }
        if self.current.bytes >= self.segment_bytes_max {
            self.roll()?;
        }
        let first = self.next_seq;
        let count = records.len() as u64;
        self.buffer.clear();
        frame::write_group(&mut self.buffer, first, records);
        if let Err(error) = self.file.append(&self.buffer) {
            return Err(self.undo_append(&error));
        }
        if let Err(error) = self.file.sync() {
            // So that a restart does not read back what was refused. The disk
            // may not do that any more either: then it is read back, and a
            // repeated reading is a duplicate.
            drop(self.file.cut(self.current.bytes));
            return Err(self.poison(&error));
        }
        let bytes = self.buffer.len() as u64;
        self.space.take(bytes);
        self.current.bytes += bytes;
        self.next_seq += count;
        self.current.end_seq = self.next_seq;
        Ok(first)
    }

    /// Whether the disk has room for a group again: bytes are written and taken
    /// back.
    pub fn has_room(&mut self) -> bool {
        let is_full = self.current.bytes >= self.segment_bytes_max;
        if self.poisoned.is_some() || (is_full && self.roll().is_err()) {
            return false;
        }
        match self.file.append(&[0; ROOM_BYTES]) {
            Ok(()) => match self.file.cut(self.current.bytes) {
                Ok(()) => true,
                Err(error) => {
                    self.poison(&error);
                    false
                }
            },
            Err(error) => {
                // Poisons where it is not for want of room.
                self.undo_append(&error);
                false
            }
        }
    }

    /// Takes back a write that did not go through: what reached the file is cut,
    /// so that the next group follows the last sound one.
    fn undo_append(&mut self, error: &io::Error) -> AppendError {
        match self.file.cut(self.current.bytes) {
            Ok(()) if error.kind() == io::ErrorKind::StorageFull => {
                AppendError::NoRoom(error.to_string())
            }
            _ => self.poison(error),
        }
    }

    fn poison(&mut self, error: &io::Error) -> AppendError {
        let reason = error.to_string();
        self.poisoned = Some(reason.clone());
        AppendError::Poisoned(reason)
    }

    /// Removes the segments in which every record is below `low_water`. The one
    /// that is written to goes too once it is a good part of all there may be:
    /// otherwise it could fill the journal's bound for good, as nothing could be
    /// appended that would begin the next.
    ///
    /// # Errors
    /// What the disk says; the segments stay and are removed by a later call.
    pub fn release(&mut self, low_water: u64) -> io::Result<()> {
        self.remove_confirmed(low_water)?;
        let large = self.segment_bytes_max.min(self.space.bytes_max() / 8);
        if self.current.bytes >= large && self.is_confirmed(low_water) {
            self.roll().map_err(io::Error::other)?;
            self.remove_confirmed(low_water)?;
        }
        Ok(())
    }

    /// Whether the current segment has records, all of them below `low_water`.
    fn is_confirmed(&self, low_water: u64) -> bool {
        let has_records = self.current.first_seq < self.current.end_seq;
        has_records && self.current.end_seq <= low_water && self.poisoned.is_none()
    }

    fn remove_confirmed(&mut self, low_water: u64) -> io::Result<()> {
        loop {
            // One removal after the other: a power cut may bring back any name
            // that was not synced, and a gap would stop the next start.
            if self.removal_unsynced {
                self.disk.sync_names()?;
                self.removal_unsynced = false;
            }
            let Some(segment) = self.closed.front().filter(|s| s.end_seq <= low_water) else {
                return Ok(());
            };
            self.disk.remove(&segment.name)?;
            self.removal_unsynced = true;
            self.space.give_back(segment.bytes);
            self.closed.pop_front();
        }
    }

    /// Begins a new segment when the current one is all confirmed, so that a
    /// clean stop leaves no record behind.
    ///
    /// # Errors
    /// As [`Log::append`] and [`Log::release`].
    pub fn finish(&mut self, low_water: u64) -> Result<(), AppendError> {
        let removed = |log: &mut Self| {
            log.remove_confirmed(low_water)
                .map_err(|error| AppendError::NoRoom(error.to_string()))
        };
        removed(self)?;
        if self.is_confirmed(low_water) {
            self.roll()?;
            removed(self)?;
        }
        Ok(())
    }

    /// Begins a new segment.
    fn roll(&mut self) -> Result<(), AppendError> {
        match new_segment(&*self.disk, self.next_seq) {
            Ok((file, segment)) => {
                self.space.take(segment.bytes);
                self.file = file;
                self.closed
                    .push_back(std::mem::replace(&mut self.current, segment));
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::StorageFull => {
                // Half a segment may lie there; it must not stand in the way of
                // the next try. If it cannot be removed, that try says so.
                drop(self.disk.remove(&segment_name(self.next_seq)));
                Err(AppendError::NoRoom(error.to_string()))
            }
            Err(error) => Err(self.poison(&error)),
        }
    }
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log")
            .field("next_seq", &self.next_seq)
            .field("segments", &self.segments())
            .field("poisoned", &self.poisoned)
            .finish_non_exhaustive()
    }
}

pub(super) fn failed(doing: &'static str) -> impl Fn(io::Error) -> LogError {
    move |source| LogError::Disk { doing, source }
}

fn new_segment(disk: &dyn Disk, first_seq: u64) -> io::Result<(Box<dyn DiskFile>, Segment)> {
    let name = segment_name(first_seq);
    let file = disk.create(&name)?;
    begin(disk, file, name, first_seq)
}

/// Makes a segment that holds nothing, or not even its header, the current one.
fn begin_again(disk: &dyn Disk, empty: Segment) -> io::Result<(Box<dyn DiskFile>, Segment)> {
    let mut file = disk.reopen(&empty.name)?;
    file.cut(0)?;
    begin(disk, file, empty.name, empty.first_seq)
}

fn begin(
    disk: &dyn Disk,
    mut file: Box<dyn DiskFile>,
    name: String,
    first_seq: u64,
) -> io::Result<(Box<dyn DiskFile>, Segment)> {
    file.append(&frame::segment_header(first_seq))?;
    file.sync()?;
    disk.sync_names()?;
    let segment = Segment {
        name,
        first_seq,
        end_seq: first_seq,
        bytes: SEGMENT_HEADER_BYTES as u64,
    };
    Ok((file, segment))
}
