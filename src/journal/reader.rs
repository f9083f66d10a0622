//! Reads durable records back, in order of sequence.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use super::disk::Disk;
use super::frame::{self, GROUP_HEADER_BYTES, SEGMENT_HEADER_BYTES};
use super::log::segment_seq;
use super::record::Record;

/// A position in the log. What it is asked for must be durable and not yet
/// released; anything else it finds is an error, never skipped.
#[derive(Debug)]
pub struct LogReader {
    disk: Arc<dyn Disk>,
    position: Option<Position>,
    /// With the bytes that each has in the journal.
    group: VecDeque<(Record, u64)>,
    next_seq: u64,
}

#[derive(Debug)]
struct Position {
    segment: String,
    offset: u64,
    /// Sequence of the group at `offset`.
    seq: u64,
}

impl LogReader {
    /// A reader whose next record is `next_seq`.
    #[must_use]
    pub fn new(disk: Arc<dyn Disk>, next_seq: u64) -> Self {
        Self {
            disk,
            position: None,
            group: VecDeque::new(),
            next_seq,
        }
    }

    /// Record `seq`. Calls with rising `seq` read each group once.
    ///
    /// # Errors
    /// What the disk says; `InvalidData` where the record is not there or not
    /// sound.
    pub fn read(&mut self, seq: u64) -> io::Result<Record> {
        self.read_sized(seq).map(|(record, _)| record)
    }

    /// As [`LogReader::read`], with the bytes that the record has in the journal.
    ///
    /// # Errors
    /// As [`LogReader::read`].
    pub fn read_sized(&mut self, seq: u64) -> io::Result<(Record, u64)> {
        if seq != self.next_seq || self.position.is_none() {
            self.seek(seq)?;
        }
        self.next_seq = seq + 1;
        loop {
            if let Some(record) = self.group.pop_front() {
                return Ok(record);
            }
            self.load_group(seq)?;
        }
    }

    /// Goes to `seq`. What was read from memory in between may be released, so
    /// the segment is looked up again.
    fn seek(&mut self, seq: u64) -> io::Result<()> {
        if self.position.is_some() && self.skip_to(seq) {
            return Ok(());
        }
        self.group.clear();
        let start = self.segment_of(seq)?;
        let is_ahead = self
            .position
            .as_ref()
            .is_some_and(|at| at.segment == start.segment && at.seq <= seq);
        if !is_ahead {
            self.position = Some(start);
        }
        Ok(())
    }

    /// Goes to `seq` in the group that was read last; whether it is in it. An
    /// applier that takes every other record from memory would else have the
    /// segment read from its start again for each of them.
    fn skip_to(&mut self, seq: u64) -> bool {
        let skipped = seq
            .checked_sub(self.next_seq)
            .and_then(|skipped| usize::try_from(skipped).ok())
            .filter(|skipped| *skipped < self.group.len());
        if let Some(skipped) = skipped {
            self.group.drain(..skipped);
        }
        skipped.is_some()
    }

    /// Loads the group that holds `seq` or the next one before it.
    fn load_group(&mut self, seq: u64) -> io::Result<()> {
        let mut position = match self.position.take() {
            Some(position) => position,
            None => self.segment_of(seq)?,
        };
        let header = match self
            .disk
            .read_at(&position.segment, position.offset, GROUP_HEADER_BYTES)
        {
            Ok(header) => header,
            // All of it was read, and it was released since.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        if header.is_empty() {
            let next = self.segment_of(seq)?;
            if next.segment == position.segment {
                return Err(unsound(&position));
            }
            self.position = Some(next);
            return Ok(());
        }
        let length = frame::group_bytes(&header).ok_or_else(|| unsound(&position))?;
        let bytes = self
            .disk
            .read_at(&position.segment, position.offset, length)?;
        let group = frame::read_group(&bytes)
            .filter(|group| group.first_seq == position.seq)
            .ok_or_else(|| unsound(&position))?;
        for (at, record) in (group.first_seq..).zip(group.records()) {
            if at >= seq {
                let bytes = record.len() as u64;
                let record = Record::decode(record).map_err(|error| {
                    let (segment, offset) = (&position.segment, position.offset);
                    io::Error::new(
                        io::ErrorKind::InvalidData,
                        format!("journal segment {segment}, byte {offset}: {error}"),
                    )
                })?;
                self.group.push_back((record, bytes));
            }
        }
        position.seq += u64::from(group.count);
        position.offset += group.bytes as u64;
        self.position = Some(position);
        Ok(())
    }

    /// The start of the segment that holds `seq`.
    fn segment_of(&self, seq: u64) -> io::Result<Position> {
        let names = self.disk.list()?;
        let found = names
            .into_iter()
            .filter_map(|name| Some((segment_seq(&name)?, name)))
            .filter(|(first, _)| *first <= seq)
            .max();
        let (first, segment) = found.ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidData,
                format!("no journal segment holds record {seq}"),
            )
        })?;
        Ok(Position {
            segment,
            offset: SEGMENT_HEADER_BYTES as u64,
            seq: first,
        })
    }
}

fn unsound(position: &Position) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!(
            "journal segment {} has no sound group with record {} at byte {}",
            position.segment, position.seq, position.offset
        ),
    )
}
