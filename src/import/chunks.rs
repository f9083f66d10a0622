//! A text to chunks of whole items.

use super::cut::{Cut, Cutter, end_of_line};
use super::{ItemTooLong, Items};
use crate::decode::RowEnd;

/// A piece of a text that a server can read by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Whole items. The header of a table is not in it.
    pub bytes: Vec<u8>,
    /// Bytes of the text before it.
    pub offset: u64,
    /// The line of the text that it begins with, from 1.
    pub line: u64,
}

/// Cuts a text that is fed in pieces of any size, always in the same places.
#[derive(Debug)]
pub struct Chunker {
    cutter: Cutter,
    /// Fed and not cut yet.
    buffer: Vec<u8>,
    offset: u64,
    line: u64,
    header: Option<Vec<u8>>,
    has_cut: bool,
}

impl Chunker {
    /// Cuts as `cutter` does.
    #[must_use]
    pub fn new(cutter: Cutter) -> Self {
        Self {
            cutter,
            buffer: Vec::new(),
            offset: 0,
            line: 1,
            header: None,
            has_cut: false,
        }
    }

    /// More of the text.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The header of a table, its line end included, once it is known; of other
    /// texts nothing.
    #[must_use]
    pub fn header(&self) -> &[u8] {
        self.header.as_deref().unwrap_or_default()
    }

    /// The next chunk, if enough of the text is there; `is_end` says that all is.
    /// A table of nothing but a header is one empty chunk, so that somebody
    /// judges the header.
    ///
    /// # Errors
    /// [`ItemTooLong`]: the line behind the last chunk cannot be sent.
    pub fn next_chunk(&mut self, is_end: bool) -> Result<Option<Chunk>, ItemTooLong> {
        let is_table = matches!(self.cutter.items, Items::Rows { .. });
        if is_table && self.header.is_none() {
            let Some(end) = self.end_of_header(is_end) else {
                return Ok(None);
            };
            let mut header = self.take(end).bytes;
            if !header.is_empty() && !header.ends_with(b"\n") {
                header.push(b'\n');
            }
            self.header = Some(header);
        }
        if self.buffer.is_empty() {
            let is_owed = is_end && is_table && !self.has_cut;
            self.has_cut |= is_owed;
            return Ok(is_owed.then(|| self.take(0)));
        }
        match self.cutter.cut(&self.buffer, is_end)? {
            Cut::More => Ok(None),
            Cut::At(end) => {
                self.has_cut = true;
                Ok(Some(self.take(end)))
            }
        }
    }

    /// Where the first row ends, blank lines and a byte order mark before it
    /// included; the first line where its quotes are not sound.
    fn end_of_header(&self, is_end: bool) -> Option<usize> {
        let look_bytes = self.cutter.look_bytes;
        let window = &self.buffer[..self.buffer.len().min(look_bytes)];
        let is_full = is_end || window.len() == look_bytes;
        let mark = "\u{feff}".as_bytes();
        let mut start = if window.starts_with(mark) {
            mark.len()
        } else {
            0
        };
        loop {
            let end = end_of_line(window, start);
            let line = &window[start..end];
            if !line.ends_with(b"\n") || !line.trim_ascii().is_empty() {
                break;
            }
            start = end;
        }
        let end = match self.cutter.end_of_item(window, start) {
            RowEnd::At(end) => end,
            RowEnd::Open if !is_full => return None,
            _ => end_of_line(window, start),
        };
        (is_full || window[start..end].ends_with(b"\n")).then_some(end)
    }

    fn take(&mut self, end: usize) -> Chunk {
        let bytes: Vec<u8> = self.buffer.drain(..end).collect();
        let chunk = Chunk {
            offset: self.offset,
            line: self.line,
            bytes,
        };
        self.offset += end as u64;
        self.line += memchr::memchr_iter(b'\n', &chunk.bytes).count() as u64;
        chunk
    }
}

#[cfg(test)]
mod tests;
