//! The segments on disk.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::record::{Kept, read};
use crate::config::QuarantineSettings;
use crate::model::{Micros, RejectCode};

/// Segments that the bounds are made of: so much goes at once at most.
const SEGMENTS: u64 = 16;

/// A segment is read in one piece, so it is small.
const SEGMENT_BYTES_MAX: u64 = 1 << 20;

/// A segment, as it is known.
#[derive(Debug, Clone)]
pub(super) struct Segment {
    /// The id of its first record.
    pub(super) number: u64,
    pub(super) items: u64,
    /// Bytes of whole lines.
    pub(super) bytes: u64,
    pub(super) by_code: [u64; RejectCode::ALL.len()],
    pub(super) oldest: Micros,
    pub(super) newest: Micros,
}

impl Segment {
    fn new(number: u64) -> Self {
        Self {
            number,
            items: 0,
            bytes: 0,
            by_code: [0; RejectCode::ALL.len()],
            oldest: Micros::MAX,
            newest: Micros::MIN,
        }
    }

    fn add(&mut self, code: RejectCode, received_at: Micros, bytes: u64) {
        self.items += 1;
        self.bytes += bytes;
        self.by_code[code as usize] += 1;
        self.oldest = self.oldest.min(received_at);
        self.newest = self.newest.max(received_at);
    }

    fn absorb(&mut self, added: &Self) {
        self.items += added.items;
        self.bytes += added.bytes;
        self.oldest = self.oldest.min(added.oldest);
        self.newest = self.newest.max(added.newest);
        for (sum, count) in self.by_code.iter_mut().zip(added.by_code) {
            *sum += count;
        }
    }

    pub(super) fn path(&self, dir: &Path) -> PathBuf {
        dir.join(format!("{:020}.ndjson", self.number))
    }
}

/// The segments there are, shared with those who read them.
#[derive(Debug, Clone, Default)]
pub(super) struct SharedSegments(Arc<Mutex<VecDeque<Segment>>>);

impl SharedSegments {
    pub(super) fn lock(&self) -> MutexGuard<'_, VecDeque<Segment>> {
        // What is changed under the lock does not panic in the middle.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an opened log had at fault.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Faults {
    /// Bytes of torn ends, cut.
    pub(super) torn_bytes: u64,
    /// Lines that are no records.
    pub(super) damaged_lines: u64,
}

/// The log; only its thread has it.
#[derive(Debug)]
pub(super) struct Log {
    dir: PathBuf,
    settings: QuarantineSettings,
    segments: SharedSegments,
    /// The last segment, where it may be appended to.
    open: Option<File>,
    next_id: u64,
}

impl Log {
    /// Opens the log in `dir`, which is made where it is missing.
    pub(super) fn open(dir: &Path, settings: QuarantineSettings) -> io::Result<(Self, Faults)> {
        fs::create_dir_all(dir)?;
        let mut numbers = Vec::new();
        for entry in fs::read_dir(dir)? {
            let name = entry?.file_name();
            let number = name.to_str().and_then(|name| name.strip_suffix(".ndjson"));
            numbers.extend(number.and_then(|number| number.parse::<u64>().ok()));
        }
        numbers.sort_unstable();
        let mut faults = Faults::default();
        let (mut segments, mut next_id) = (VecDeque::new(), 1);
        for number in numbers {
            let mut segment = Segment::new(number);
            let last_id = scan(dir, &mut segment, &mut faults)?;
            next_id = last_id.map_or(number, |id| id + 1).max(next_id);
            segments.push_back(segment);
        }
        let last = segments.back().map(|segment| segment.path(dir));
        let append = |path| OpenOptions::new().append(true).open(path);
        let mut log = Self {
            dir: dir.to_owned(),
            settings,
            open: last.map(append).transpose()?,
            segments: SharedSegments(Arc::new(Mutex::new(segments))),
            next_id,
        };
        if log.open.is_none() {
            log.begin_segment(next_id)?;
        }
        Ok((log, faults))
    }

    pub(super) fn segments(&self) -> &SharedSegments {
        &self.segments
    }

    /// Appends items, the first first. How many it did before it failed, if it
    /// did.
    pub(super) fn append<'a>(
        &mut self,
        items: impl Iterator<Item = Kept<'a>>,
        now: Micros,
    ) -> (u64, io::Result<()>) {
        let mut lines = Vec::new();
        let mut added = None;
        let mut done = 0;
        for mut kept in items {
            kept.id = self.next_id;
            self.next_id += 1;
            let start = lines.len();
            kept.write(&mut lines);
            let bytes = (lines.len() - start) as u64;
            let code = kept.item.rejection.code;
            let part = added.get_or_insert_with(|| Segment::new(kept.id));
            part.add(code, kept.received_at, bytes);
            if self.is_full(part) {
                let written = self.write(part, &lines, now);
                (done, added) = (done + part_items(&written, part), None);
                lines.clear();
                if written.is_err() {
                    return (done, written);
                }
            }
        }
        let Some(part) = added else {
            return (done, Ok(()));
        };
        let written = self.write(&part, &lines, now);
        (done + part_items(&written, &part), written)
    }

    /// Whether the open segment with `added` takes no more.
    fn is_full(&self, added: &Segment) -> bool {
        let segments = self.segments.lock();
        let open = self.open.as_ref().and_then(|_| segments.back());
        let (items, bytes) = open.map_or((0, 0), |open| (open.items, open.bytes));
        items + added.items >= (self.settings.items_max / SEGMENTS).max(1)
            || bytes + added.bytes >= (self.settings.bytes_max / SEGMENTS).min(SEGMENT_BYTES_MAX)
    }

    /// Writes the lines of `added`, once there is room; none of them is there if
    /// that fails.
    fn write(&mut self, added: &Segment, lines: &[u8], now: Micros) -> io::Result<()> {
        self.make_room(added, now)?;
        let is_last = self.is_full(added);
        if self.open.is_none() {
            self.begin_segment(added.number)?;
        }
        let file = self.open.as_mut();
        let file = file.expect("a segment was just begun where there was none");
        let written = file.write_all(lines);
        let mut segments = self.segments.lock();
        let last = segments.back_mut();
        let last = last.expect("an open segment is the last of all");
        if let Err(error) = written {
            // Where that fails too, nothing may follow the torn end, which is not
            // read: it is beyond the bytes that are known.
            if file.set_len(last.bytes).is_err() {
                self.open = None;
            }
            return Err(error);
        }
        last.absorb(added);
        drop(segments);
        if is_last {
            self.open = None;
        }
        Ok(())
    }

    /// Begins a segment whose first record has the id `number`, or a later one.
    fn begin_segment(&mut self, number: u64) -> io::Result<()> {
        let segment = Segment::new(number);
        let mut options = OpenOptions::new();
        let file = options.create(true).append(true);
        let file = file.open(segment.path(&self.dir))?;
        // What a failed write left may be there.
        file.set_len(0)?;
        let mut segments = self.segments.lock();
        segments.retain(|segment| segment.number != number);
        segments.push_back(segment);
        self.open = Some(file);
        Ok(())
    }

    /// Removes the oldest segments until all bounds hold.
    pub(super) fn trim(&mut self, now: Micros) -> io::Result<()> {
        self.make_room(&Segment::new(self.next_id), now)?;
        if self.segments.lock().is_empty() {
            // So that the next start goes on with the ids: readers know how far
            // they are by them.
            self.begin_segment(self.next_id)?;
        }
        Ok(())
    }

    /// Removes the oldest segments until all bounds hold with `added` too. Ends
    /// the open one where it holds what is of another age.
    fn make_room(&mut self, added: &Segment, now: Micros) -> io::Result<()> {
        let age_max = self.settings.age_max;
        let oldest_kept = now.earlier_by(age_max);
        let roll_before = now.earlier_by(age_max / SEGMENTS as u32);
        let mut segments = self.segments.lock();
        let last = segments.back();
        if last.is_some_and(|last| last.oldest < roll_before) {
            self.open = None;
        }
        loop {
            let items: u64 = segments.iter().map(|segment| segment.items).sum();
            let bytes: u64 = segments.iter().map(|segment| segment.bytes).sum();
            let Some(first) = segments.front() else {
                return Ok(());
            };
            let is_open = segments.len() == 1 && self.open.is_some();
            let is_over = items + added.items > self.settings.items_max
                || bytes + added.bytes > self.settings.bytes_max;
            let is_old = first.newest < oldest_kept && !is_open;
            if !(is_old || is_over && (first.bytes > 0 || segments.len() > 1)) {
                return Ok(());
            }
            match fs::remove_file(first.path(&self.dir)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => segments.pop_front(),
            };
            if segments.is_empty() {
                self.open = None;
            }
        }
    }
}

fn part_items(written: &io::Result<()>, part: &Segment) -> u64 {
    if written.is_ok() { part.items } else { 0 }
}

/// Reads what a segment holds, and cuts its torn end: the last id.
fn scan(dir: &Path, segment: &mut Segment, faults: &mut Faults) -> io::Result<Option<u64>> {
    let path = segment.path(dir);
    let mut file = BufReader::new(File::open(&path)?);
    let (mut line, mut last_id, mut end) = (Vec::new(), None, 0);
    loop {
        line.clear();
        let bytes = file.read_until(b'\n', &mut line)? as u64;
        if bytes == 0 {
            break;
        }
        if !line.ends_with(b"\n") {
            faults.torn_bytes += bytes;
            OpenOptions::new().write(true).open(&path)?.set_len(end)?;
            break;
        }
        end += bytes;
        match read(&line) {
            Some(read) => {
                segment.add(read.code, read.received_at, 0);
                last_id = last_id.max(Some(read.seen.id));
            }
            None => faults.damaged_lines += 1,
        }
    }
    segment.bytes = end;
    Ok(last_id)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::record::Source;
    use super::*;
    use crate::decode::{ItemForm, RefusedItem};
    use crate::model::Rejection;

    const HOUR_US: i64 = 3_600_000_000;

    fn settings() -> QuarantineSettings {
        QuarantineSettings {
            items_max: 32,
            bytes_max: 1 << 20,
            age_max: Duration::from_hours(16),
        }
    }

    fn at(hours: i64) -> Micros {
        Micros::new(1_777_629_600_000_000 + hours * HOUR_US).unwrap()
    }

    fn item(text: &str) -> RefusedItem {
        RefusedItem {
            rejection: Rejection {
                index: 0,
                line: None,
                field: None,
                code: RejectCode::NoMeasures,
                detail: "why".into(),
            },
            form: ItemForm::Line,
            text: text.as_bytes().into(),
            is_cut: false,
            body: 0,
        }
    }

    fn append(log: &mut Log, count: usize, text: &str, now: Micros) -> (u64, io::Result<()>) {
        let item = item(text);
        let kept = Kept {
            id: 0,
            received_at: now,
            source: Source {
                name: "udp",
                unit: None,
            },
            peer: None,
            header: None,
            item: &item,
        };
        let all = std::iter::repeat_with(|| Kept { ..kept });
        log.append(all.take(count), now)
    }

    /// Items and bytes, as known, and the bytes on disk.
    fn held(log: &Log, dir: &Path) -> (u64, u64, u64) {
        let segments = log.segments().lock();
        let items = segments.iter().map(|segment| segment.items).sum();
        let bytes = segments.iter().map(|segment| segment.bytes).sum();
        let files = fs::read_dir(dir).unwrap();
        let sizes = files.map(|file| file.unwrap().metadata().unwrap().len());
        (items, bytes, sizes.sum())
    }

    #[test]
    fn the_bounds_of_items_and_bytes_hold_at_every_moment() {
        let dir = tempfile::tempdir().unwrap();
        let (mut log, _) = Log::open(dir.path(), settings()).unwrap();
        for count in 1..40 {
            let (done, written) = append(&mut log, count, "x", at(0));
            assert!(written.is_ok());
            assert_eq!(done, count as u64);
            let (items, bytes, on_disk) = held(&log, dir.path());
            assert!(items <= 32, "{items}");
            assert_eq!(bytes, on_disk);
        }
        assert!(held(&log, dir.path()).0 > 28);
        let text = "x".repeat(4096);
        let settings = QuarantineSettings {
            items_max: 10_000,
            ..settings()
        };
        let (mut log, faults) = Log::open(dir.path(), settings).unwrap();
        assert_eq!(faults, Faults::default());
        for _ in 0..20 {
            assert_eq!(append(&mut log, 37, &text, at(0)).0, 37);
            assert!(held(&log, dir.path()).2 <= 1 << 20);
        }
        assert!(held(&log, dir.path()).2 > 900 << 10);
    }

    #[test]
    fn segments_go_by_age_and_ids_go_on() {
        let dir = tempfile::tempdir().unwrap();
        let (mut log, _) = Log::open(dir.path(), settings()).unwrap();
        for hours in [0, 2, 4] {
            assert_eq!(append(&mut log, 1, "x", at(hours)).0, 1);
            log.trim(at(hours)).unwrap();
        }
        let mut kept = |hours| {
            log.trim(at(hours)).unwrap();
            held(&log, dir.path()).0
        };
        assert_eq!((kept(16), kept(17), kept(19), kept(21)), (3, 2, 1, 0));
        assert_eq!(held(&log, dir.path()).2, 0);
        drop(log);
        let (log, _) = Log::open(dir.path(), settings()).unwrap();
        assert_eq!(log.next_id, 4);
    }

    #[test]
    fn a_start_goes_on_with_the_last_segment() {
        let dir = tempfile::tempdir().unwrap();
        let settings = QuarantineSettings {
            items_max: 1600,
            ..settings()
        };
        for _ in 0..5 {
            let (mut log, faults) = Log::open(dir.path(), settings).unwrap();
            assert_eq!(faults, Faults::default());
            assert_eq!(append(&mut log, 2, "x", at(0)).0, 2);
        }
        let (log, _) = Log::open(dir.path(), settings).unwrap();
        assert_eq!(log.next_id, 11);
        assert_eq!(log.segments().lock().len(), 1);
    }

    /// A directory in the place of a segment is what no write gets past.
    #[test]
    fn what_the_disk_refuses_is_told_and_the_next_goes_in() {
        let dir = tempfile::tempdir().unwrap();
        let (mut log, _) = Log::open(dir.path(), settings()).unwrap();
        let in_the_way = Segment::new(3).path(dir.path());
        fs::create_dir(&in_the_way).unwrap();
        let (done, written) = append(&mut log, 5, "x", at(0));
        assert_eq!(done, 2, "those of the segment before");
        assert!(written.is_err());
        assert_eq!(append(&mut log, 1, "x", at(0)).0, 1);
        fs::remove_dir(&in_the_way).unwrap();
        let (items, bytes, on_disk) = held(&log, dir.path());
        assert_eq!((items, bytes), (3, on_disk));
    }
}
