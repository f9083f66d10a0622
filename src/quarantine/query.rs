//! What is kept, segment by segment.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;

use super::log::Segment;
use super::record::{Read, read};
use crate::decode::ItemForm;
use crate::model::{Micros, Order, RejectCode, TimeRange};

/// What an answer is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemsForm {
    /// Records, one a line.
    Records,
    /// The items alone, as lines that can be posted: those that are kept whole.
    Items,
}

/// Which records are asked for.
#[derive(Debug, Clone)]
pub struct RejectedQuery {
    /// Of these reasons; of all, where there is none.
    pub reasons: Vec<RejectCode>,
    /// Received within.
    pub range: TimeRange,
    /// By id, which is by receipt.
    pub order: Order,
    /// Behind this id.
    pub cursor: Option<u64>,
    /// Of items in this form alone.
    pub item: Option<ItemForm>,
    /// As what.
    pub form: ItemsForm,
    /// So many at most.
    pub limit: usize,
}

/// The segments of one answer; each is read when it is its turn.
#[derive(Debug)]
pub struct Segments {
    pub(super) dir: PathBuf,
    /// The next one last.
    pub(super) left: Vec<Segment>,
    pub(super) query: RejectedQuery,
    /// Records received before are too old.
    pub(super) oldest_kept: Micros,
}

impl Segments {
    /// The lines of the next segment that are asked for; `None` behind the last.
    /// Blocks.
    ///
    /// # Errors
    /// What the disk says. A segment that went meanwhile is none.
    pub fn next_lines(&mut self) -> io::Result<Option<Vec<u8>>> {
        let segment = match self.left.pop() {
            Some(segment) if self.query.limit > 0 => segment,
            _ => return Ok(None),
        };
        let mut out = Vec::new();
        if !self.may_hold(&segment) {
            return Ok(Some(out));
        }
        let mut text = Vec::new();
        match File::open(segment.path(&self.dir)) {
            // Beyond the known bytes a line may be half written.
            Ok(file) => file.take(segment.bytes).read_to_end(&mut text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Some(out)),
            Err(error) => return Err(error),
        };
        let text = text.strip_suffix(b"\n").unwrap_or(&text);
        let mut lines = text.split(|byte| *byte == b'\n');
        while self.query.limit > 0 {
            let line = match self.query.order {
                Order::Ascending => lines.next(),
                Order::Descending => lines.next_back(),
            };
            let Some(line) = line else { break };
            if let Some(read) = read(line).filter(|read| self.is_asked_for(read)) {
                self.query.limit -= 1;
                self.put(&mut out, line, &read);
            }
        }
        Ok(Some(out))
    }

    fn may_hold(&self, segment: &Segment) -> bool {
        let RejectedQuery { reasons, range, .. } = &self.query;
        let mut counts = reasons.iter().map(|code| segment.by_code[*code as usize]);
        (reasons.is_empty() || counts.any(|count| count > 0))
            && segment.newest >= range.from
            && segment.oldest < range.to
    }

    fn is_asked_for(&self, read: &Read<'_>) -> bool {
        let query = &self.query;
        let is_behind = |cursor| match query.order {
            Order::Ascending => read.seen.id > cursor,
            Order::Descending => read.seen.id < cursor,
        };
        (query.reasons.is_empty() || query.reasons.contains(&read.code))
            && query.range.contains(read.received_at)
            && read.received_at >= self.oldest_kept
            && query.cursor.is_none_or(is_behind)
            && query
                .item
                .is_none_or(|form| read.seen.format == form.as_str())
            && (query.form == ItemsForm::Records || read.seen.is_exact)
    }

    fn put(&self, out: &mut Vec<u8>, line: &[u8], read: &Read<'_>) {
        match self.query.form {
            ItemsForm::Records => out.extend_from_slice(line),
            ItemsForm::Items => {
                let item = read.seen.item.get();
                match serde_json::from_str::<String>(item) {
                    // A line end between the parts of a JSON text is white space.
                    Ok(text) if read.seen.format == ItemForm::Json.as_str() => {
                        out.extend_from_slice(text.replace(['\n', '\r'], " ").as_bytes());
                    }
                    Ok(text) => out.extend_from_slice(text.as_bytes()),
                    Err(_) => out.extend_from_slice(item.as_bytes()),
                }
            }
        }
        out.push(b'\n');
    }
}
