//! Datagrams that were read together, in one piece of memory.

use std::net::SocketAddr;

use crate::model::Micros;

/// Bytes of datagrams from which on a block is handed over.
const FULL_BYTES: usize = 64 << 10;

/// Datagrams from which on a block is handed over.
const FULL_DATAGRAMS: usize = 1024;

/// Where the datagrams from one on came from: its place, and the source.
type Run = (u32, SocketAddr);

/// Datagrams in the order of their receipt.
#[derive(Debug, PartialEq, Eq)]
pub struct Block {
    received_at: Micros,
    bytes: Box<[u8]>,
    /// Where each datagram ends.
    ends: Box<[u32]>,
    /// One for each change of the source.
    sources: Box<[Run]>,
}

impl Block {
    /// When the first of them was read.
    #[must_use]
    pub fn received_at(&self) -> Micros {
        self.received_at
    }

    /// How many datagrams.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes of memory it takes.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        size_of::<Self>()
            + self.bytes.len()
            + size_of_val(&*self.ends)
            + size_of_val(&*self.sources)
    }

    /// The datagrams.
    pub fn datagrams(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let end = *end as usize;
            let datagram = &self.bytes[start..end];
            start = end;
            datagram
        })
    }

    /// Where the datagram at `place` came from; `None` behind the last.
    #[must_use]
    pub fn source(&self, place: usize) -> Option<SocketAddr> {
        if place >= self.len() {
            return None;
        }
        let runs = self.sources.iter().rev();
        let mut before = runs.filter(|(first, _)| *first as usize <= place);
        before.next().map(|(_, source)| *source)
    }

    /// Cuts it in two, each at least a datagram; gives back one that has no more.
    ///
    /// # Errors
    /// The block, if it has less than two datagrams.
    pub fn halves(self) -> Result<(Self, Self), Self> {
        if self.len() < 2 {
            return Err(self);
        }
        let middle = self.len() / 2;
        let (mut first, mut second) = (Gathering::default(), Gathering::default());
        for (place, datagram) in self.datagrams().enumerate() {
            let half = if place < middle {
                &mut first
            } else {
                &mut second
            };
            let source = self
                .source(place)
                .expect("the place is that of a datagram, and the first run begins at 0");
            half.push(self.received_at, source, datagram);
        }
        let whole = "each half got a datagram";
        Ok((first.take().expect(whole), second.take().expect(whole)))
    }
}

/// A block being filled; its memory is used again and again.
#[derive(Debug, Default)]
pub(super) struct Gathering {
    received_at: Option<Micros>,
    bytes: Vec<u8>,
    ends: Vec<u32>,
    sources: Vec<Run>,
}

impl Gathering {
    /// Adds a datagram, read at `now`.
    pub(super) fn push(&mut self, now: Micros, source: SocketAddr, datagram: &[u8]) {
        self.received_at.get_or_insert(now);
        if self.sources.last().is_none_or(|(_, last)| *last != source) {
            self.sources.push((self.ends.len() as u32, source));
        }
        self.bytes.extend_from_slice(datagram);
        self.ends.push(self.bytes.len() as u32);
    }

    /// Whether it should be handed over.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() >= FULL_BYTES || self.ends.len() >= FULL_DATAGRAMS
    }

    /// What was gathered, unless it is nothing.
    pub(super) fn take(&mut self) -> Option<Block> {
        let block = Block {
            received_at: self.received_at.take()?,
            bytes: self.bytes.as_slice().into(),
            ends: self.ends.as_slice().into(),
            sources: self.sources.as_slice().into(),
        };
        self.bytes.clear();
        self.ends.clear();
        self.sources.clear();
        Some(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    fn at(micros: i64) -> Micros {
        Micros::new(micros).unwrap()
    }

    fn block() -> Block {
        let mut gathering = Gathering::default();
        for (port, datagram) in [(1, "a=1"), (1, ""), (2, "b=22"), (1, "c")] {
            gathering.push(at(i64::from(port)), address(port), datagram.as_bytes());
        }
        gathering.take().unwrap()
    }

    #[test]
    fn datagrams_come_out_as_they_went_in_with_their_sources() {
        let block = block();
        let datagrams: Vec<_> = block.datagrams().collect();
        assert_eq!(datagrams, [&b"a=1"[..], b"", b"b=22", b"c"]);
        let sources: Vec<_> = (0..5).map(|place| block.source(place)).collect();
        let known = [1, 1, 2, 1].map(|port| Some(address(port)));
        assert_eq!((&sources[..4], sources[4]), (&known[..], None));
        assert_eq!(block.received_at(), at(1), "that of the first");
    }

    #[test]
    fn what_was_taken_is_not_there_again() {
        let mut gathering = Gathering::default();
        assert!(gathering.take().is_none());
        gathering.push(at(7), address(1), b"x");
        assert_eq!(gathering.take().unwrap().len(), 1);
        assert!(gathering.take().is_none());
        gathering.push(at(9), address(2), b"y");
        assert_eq!(gathering.take().unwrap().received_at(), at(9));
    }

    #[test]
    fn halves_are_the_whole_until_nothing_can_be_cut() {
        let (first, second) = block().halves().unwrap();
        let both: Vec<_> = first.datagrams().chain(second.datagrams()).collect();
        assert_eq!(both, block().datagrams().collect::<Vec<_>>());
        assert_eq!(second.source(0), Some(address(2)));
        let (one, _) = first.halves().unwrap();
        assert_eq!(one.halves().unwrap_err().len(), 1);
    }
}
