//! Segments of lines in a directory, the oldest going first.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::config::QuarantineSettings;
use crate::model::{Micros, RejectCode};

/// Parts of the bounds that one segment takes, so that going is gradual.
const SEGMENTS: u64 = 16;

/// Which lines are asked for.
#[derive(Debug, Clone, Default)]
pub struct Question {
    /// Refused for this alone.
    pub reason: Option<RejectCode>,
    /// Of this format alone: `json`, `csv` or `line-protocol`.
    pub format: Option<String>,
    /// Received at this instant or later.
    pub from: Option<Micros>,
    /// Received before this instant.
    pub to: Option<Micros>,
    /// The text of the items alone, of those that are whole.
    pub items_only: bool,
}

/// What is read of a line again.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    #[serde(borrow)]
    received_at: std::borrow::Cow<'a, str>,
    reason: &'a str,
    format: &'a str,
    #[serde(borrow)]
    item: std::borrow::Cow<'a, str>,
    #[serde(default)]
    cut: bool,
}

impl Line<'_> {
    fn at(&self) -> Option<Micros> {
        let at: jiff::Timestamp = self.received_at.parse().ok()?;
        Micros::new(at.as_microsecond()).ok()
    }
}

/// Some of a segment, as it was when it was asked for.
#[derive(Debug, Clone)]
pub struct SegmentPart {
    path: PathBuf,
    bytes: u64,
}

impl SegmentPart {
    /// The lines that are asked for, at most `limit`; how many there were. A
    /// segment that went meanwhile has none.
    ///
    /// # Errors
    /// What the disk says.
    pub fn read(&self, question: &Question, limit: u64) -> io::Result<(Vec<u8>, u64)> {
        let mut text = String::new();
        match File::open(&self.path) {
            Ok(file) => file.take(self.bytes).read_to_string(&mut text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
        let (mut out, mut lines) = (Vec::new(), 0);
        for line in text.lines() {
            if lines == limit {
                break;
            }
            // What somebody else wrote there is left out.
            let Ok(known) = serde_json::from_str::<Line<'_>>(line) else {
                continue;
            };
            let at = known.at();
            let is_meant = question.reason.is_none_or(|r| r.as_str() == known.reason)
                && question.format.as_ref().is_none_or(|f| f == known.format)
                && question.from.is_none_or(|from| at >= Some(from))
                && question.to.is_none_or(|to| at < Some(to))
                && !(question.items_only && known.cut);
            if is_meant {
                let shown = if question.items_only {
                    &known.item
                } else {
                    line
                };
                out.extend_from_slice(shown.as_bytes());
                out.push(b'\n');
                lines += 1;
            }
        }
        Ok((out, lines))
    }
}

#[derive(Debug)]
struct Segment {
    path: PathBuf,
    number: u64,
    bytes: u64,
    by_code: [u64; RejectCode::ALL.len()],
    newest: Micros,
}

impl Segment {
    fn items(&self) -> u64 {
        self.by_code.iter().sum()
    }
}

/// The directory.
#[derive(Debug)]
pub(super) struct Segments {
    dir: PathBuf,
    settings: QuarantineSettings,
    segments: VecDeque<Segment>,
    file: Option<File>,
}

impl Segments {
    /// Reads what is there; a torn last line of a segment is cut.
    pub(super) fn open(dir: &Path, settings: QuarantineSettings) -> io::Result<Self> {
        fs::create_dir_all(dir)?;
        let mut segments = Vec::new();
        for entry in fs::read_dir(dir)? {
            let path = entry?.path();
            let stem = path.file_stem().and_then(|stem| stem.to_str());
            let number = stem.and_then(|stem| stem.parse().ok());
            if let Some(number) = number.filter(|_| path.extension().is_some_and(|e| e == "ndjson"))
            {
                segments.push(read_segment(path, number)?);
            }
        }
        segments.sort_by_key(|segment| segment.number);
        Ok(Self {
            dir: dir.to_owned(),
            settings,
            segments: segments.into(),
            file: None,
        })
    }

    /// Appends a line of an item that was received at `at`.
    pub(super) fn append(&mut self, line: &[u8], code: RejectCode, at: Micros) -> io::Result<()> {
        let settings = self.settings;
        let is_full = |segment: &Segment| {
            segment.items() >= settings.items_max.div_ceil(SEGMENTS)
                || segment.bytes + line.len() as u64 > settings.bytes_max / SEGMENTS
        };
        if self.file.is_none() || self.segments.back().is_none_or(is_full) {
            self.begin(at)?;
        }
        let (Some(file), Some(segment)) = (&mut self.file, self.segments.back_mut()) else {
            return Ok(());
        };
        if let Err(error) = file.write_all(line) {
            // Half a line may lie there.
            if file.set_len(segment.bytes).is_err() {
                self.file = None;
            }
            return Err(error);
        }
        segment.bytes += line.len() as u64;
        segment.by_code[code as usize] += 1;
        segment.newest = segment.newest.max(at);
        Ok(())
    }

    fn begin(&mut self, at: Micros) -> io::Result<()> {
        let number = self.segments.back().map_or(1, |last| last.number + 1);
        let path = self.dir.join(format!("{number:012}.ndjson"));
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(&path)?;
        self.file = Some(file);
        self.segments.push_back(Segment {
            path,
            number,
            bytes: 0,
            by_code: [0; RejectCode::ALL.len()],
            newest: at,
        });
        Ok(())
    }

    /// Lets go of what is beyond the bounds at `now`.
    pub(super) fn expire(&mut self, now: Micros) -> io::Result<()> {
        let age_max = i64::try_from(self.settings.age_max.as_micros()).unwrap_or(i64::MAX);
        let oldest = now.saturating_add(age_max.saturating_neg());
        loop {
            let items: u64 = self.segments.iter().map(Segment::items).sum();
            let bytes: u64 = self.segments.iter().map(|segment| segment.bytes).sum();
            let goes = |front: &Segment| {
                items > self.settings.items_max
                    || bytes > self.settings.bytes_max
                    || front.newest < oldest
            };
            let Some(front) = self.segments.front().filter(|front| goes(front)) else {
                return Ok(());
            };
            match fs::remove_file(&front.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            self.segments.pop_front();
            if self.segments.is_empty() {
                self.file = None;
            }
        }
    }

    /// What is there now, the oldest first.
    pub(super) fn parts(&self) -> Vec<SegmentPart> {
        let part = |segment: &Segment| SegmentPart {
            path: segment.path.clone(),
            bytes: segment.bytes,
        };
        self.segments.iter().map(part).collect()
    }

    /// Items that are kept, by reason.
    pub(super) fn by_code(&self) -> [u64; RejectCode::ALL.len()] {
        let mut sum = [0; RejectCode::ALL.len()];
        for segment in &self.segments {
            for (sum, items) in sum.iter_mut().zip(segment.by_code) {
                *sum += items;
            }
        }
        sum
    }

    pub(super) fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.bytes).sum()
    }
}

fn read_segment(path: PathBuf, number: u64) -> io::Result<Segment> {
    let mut file = OpenOptions::new().read(true).write(true).open(&path)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let whole = bytes
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    if whole < bytes.len() {
        file.set_len(whole as u64)?;
        file.seek(SeekFrom::Start(whole as u64))?;
    }
    let mut segment = Segment {
        path,
        number,
        bytes: whole as u64,
        by_code: [0; RejectCode::ALL.len()],
        newest: Micros::MIN,
    };
    for line in bytes[..whole].split(|byte| *byte == b'\n') {
        if let Ok(known) = serde_json::from_slice::<Line<'_>>(line)
            && let Some(code) = RejectCode::ALL
                .into_iter()
                .find(|c| c.as_str() == known.reason)
        {
            segment.by_code[code as usize] += 1;
            segment.newest = segment.newest.max(known.at().unwrap_or(Micros::MIN));
        }
    }
    Ok(segment)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{RefusedItem, RefusedSource};
    use super::*;

    const NOW: i64 = 1_777_629_600_000_000;

    fn settings() -> QuarantineSettings {
        QuarantineSettings {
            items_max: 160,
            bytes_max: 1 << 20,
            age_max: Duration::from_secs(3600),
        }
    }

    fn line(number: u64) -> (Vec<u8>, Micros) {
        let at = Micros::new(NOW + number as i64 * 1_000_000).unwrap();
        let item = RefusedItem {
            received_at: at,
            source: RefusedSource::Readings,
            format: "json",
            reason: RejectCode::TooOld,
            detail: "x".to_owned(),
            field: None,
            index: number,
            line: None,
            header: None,
            item: String::new(),
            cut: false,
        };
        let item = item.with_text(format!("{{\"n\":{number}}}").as_bytes());
        let mut line = serde_json::to_vec(&item).unwrap();
        line.push(b'\n');
        (line, at)
    }

    fn fill(segments: &mut Segments, numbers: std::ops::Range<u64>) {
        for number in numbers {
            let (line, at) = line(number);
            segments.append(&line, RejectCode::TooOld, at).unwrap();
            segments.expire(at).unwrap();
        }
    }

    fn items(segments: &Segments) -> Vec<String> {
        let question = Question {
            items_only: true,
            ..Question::default()
        };
        let parts = segments.parts().into_iter();
        let texts = parts.map(|part| part.read(&question, u64::MAX).unwrap().0);
        let text = String::from_utf8(texts.collect::<Vec<_>>().concat()).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn the_oldest_go_at_the_bounds_of_number_bytes_and_age() {
        let dir = tempfile::tempdir().unwrap();
        let mut segments = Segments::open(dir.path(), settings()).unwrap();
        fill(&mut segments, 0..1000);
        let kept = items(&segments);
        assert!((150..=160).contains(&kept.len()), "{}", kept.len());
        assert_eq!(kept.last().unwrap(), "{\"n\":999}");

        segments
            .expire(Micros::new(NOW + 10_000_000_000).unwrap())
            .unwrap();
        assert_eq!(items(&segments), Vec::<String>::new());
        fill(&mut segments, 10_000..10_001);
        assert_eq!(items(&segments).len(), 1);

        let narrow = QuarantineSettings {
            bytes_max: 16 << 10,
            items_max: 1 << 40,
            ..settings()
        };
        let dir = tempfile::tempdir().unwrap();
        let mut segments = Segments::open(dir.path(), narrow).unwrap();
        fill(&mut segments, 0..1000);
        assert!((12 << 10..=16 << 10).contains(&segments.bytes()));
    }

    #[test]
    fn a_start_reads_what_is_there_and_cuts_a_torn_line() {
        let dir = tempfile::tempdir().unwrap();
        let mut segments = Segments::open(dir.path(), settings()).unwrap();
        fill(&mut segments, 0..25);
        drop(segments);
        let last = dir.path().join("000000000003.ndjson");
        let mut file = OpenOptions::new().append(true).open(&last).unwrap();
        file.write_all(b"{\"receivedAt\":\"20").unwrap();
        let mut segments = Segments::open(dir.path(), settings()).unwrap();
        assert_eq!(items(&segments).len(), 25);
        assert_eq!(segments.by_code()[RejectCode::TooOld as usize], 25);
        fill(&mut segments, 25..30);
        let kept = items(&segments);
        assert_eq!(kept.len(), 30);
        assert_eq!(kept[29], "{\"n\":29}");
    }

    #[test]
    fn only_what_is_asked_for_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let mut segments = Segments::open(dir.path(), settings()).unwrap();
        fill(&mut segments, 0..10);
        let count = |question: &Question| {
            let parts = segments.parts().into_iter();
            parts
                .map(|part| part.read(question, u64::MAX).unwrap().1)
                .sum::<u64>()
        };
        let at = |second: i64| Some(Micros::new(NOW + second * 1_000_000).unwrap());
        let all = Question::default();
        assert_eq!(count(&all), 10);
        assert_eq!(
            count(&Question {
                from: at(3),
                to: at(5),
                ..all.clone()
            }),
            2
        );
        let reason = Some(RejectCode::NotFinite);
        assert_eq!(
            count(&Question {
                reason,
                ..all.clone()
            }),
            0
        );
        let format = Some("csv".to_owned());
        assert_eq!(count(&Question { format, ..all }), 0);
        assert_eq!(
            segments.parts()[0].read(&Question::default(), 4).unwrap().1,
            4
        );
    }
}
