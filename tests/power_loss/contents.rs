//! What a file holds, holes left out: a journal of the store is 64 MiB long
//! from the start and almost empty.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use rand::RngExt;
use rand::rngs::StdRng;

/// What reaches a disk at once, in bytes.
const PAGE: u64 = 4096;

#[derive(Debug, Default)]
pub(crate) struct Contents {
    len: u64,
    /// Offset and bytes of what is no hole, in order.
    extents: Vec<(u64, Vec<u8>)>,
}

impl Contents {
    pub(crate) fn read(file: &File) -> io::Result<Self> {
        let len = file.metadata()?.len();
        let mut extents = Vec::new();
        let mut at = 0;
        while let Some(start) = seek(file, at, libc::SEEK_DATA).filter(|start| *start < len) {
            let end = seek(file, start, libc::SEEK_HOLE).unwrap_or(len).min(len);
            let mut bytes = vec![0; usize::try_from(end - start).unwrap()];
            let mut read = 0;
            // Another thread may cut it meanwhile.
            while read < bytes.len() {
                match file.read_at(&mut bytes[read..], start + read as u64)? {
                    0 => break,
                    more => read += more,
                }
            }
            bytes.truncate(read);
            extents.push((start, bytes));
            at = end;
        }
        Ok(Self { len, extents })
    }

    pub(crate) fn write(&self, file: &File) -> io::Result<()> {
        file.set_len(self.len)?;
        for (offset, bytes) in &self.extents {
            file.write_all_at(bytes, *offset)?;
        }
        Ok(())
    }

    /// Whether `other` holds the same.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.len == other.len && self.extents == other.extents
    }

    /// A copy of `later` in which some pages are still those of `self`.
    pub(crate) fn mixed(&self, later: &Self, rng: &mut StdRng) -> Self {
        let len = match rng.random_range(0..3) {
            0 => self.len,
            1 => later.len,
            _ => {
                let (low, high) = (self.len.min(later.len), self.len.max(later.len));
                rng.random_range(low..=high)
            }
        };
        let mut extents = Vec::new();
        let pages = self.pages(len).chain(later.pages(len));
        let pages: std::collections::BTreeSet<u64> = pages.collect();
        let keeps_prefix = rng.random_bool(0.5);
        let mut is_later = true;
        for page in pages {
            let (old, new) = (self.page(page), later.page(page));
            if keeps_prefix {
                // Pages in order, and then none: what a process that writes at
                // the end leaves most of the time.
                is_later &= old == new || rng.random_bool(0.7);
            } else {
                is_later = rng.random_bool(0.5);
            }
            let mut bytes = if is_later { new } else { old };
            let left = usize::try_from((len - page).min(PAGE)).unwrap();
            bytes.truncate(left);
            extents.push((page, bytes));
        }
        Self { len, extents }
    }

    /// Offsets of the pages below `len` that are no holes.
    fn pages(&self, len: u64) -> impl Iterator<Item = u64> {
        let of = |(offset, bytes): &(u64, Vec<u8>)| {
            let first = offset / PAGE;
            let end = (offset + bytes.len() as u64).div_ceil(PAGE);
            first..end
        };
        let pages = self.extents.iter().flat_map(of).map(|page| page * PAGE);
        pages.filter(move |page| *page < len)
    }

    fn page(&self, page: u64) -> Vec<u8> {
        let mut whole = vec![0; usize::try_from(PAGE).unwrap()];
        for (offset, bytes) in &self.extents {
            let (start, end) = (*offset, offset + bytes.len() as u64);
            let (from, to) = (page.max(start), (page + PAGE).min(end));
            if from < to {
                let place = |at: u64, base: u64| usize::try_from(at - base).unwrap();
                whole[place(from, page)..place(to, page)]
                    .copy_from_slice(&bytes[place(from, start)..place(to, start)]);
            }
        }
        whole
    }
}

fn seek(file: &File, from: u64, whence: libc::c_int) -> Option<u64> {
    let from = libc::off_t::try_from(from).unwrap();
    #[expect(unsafe_code, reason = "the standard library cannot look for holes")]
    // SAFETY: the descriptor is open as long as `file` is borrowed.
    let at = unsafe { libc::lseek(file.as_raw_fd(), from, whence) };
    u64::try_from(at).ok()
}
