//! The queue between the receivers and whoever decodes, bounded in bytes.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Block;

/// The most that is taken at once.
#[derive(Debug, Clone, Copy)]
pub struct Most {
    /// Datagrams.
    pub datagrams: usize,
    /// Bytes of memory.
    pub bytes: usize,
    /// Microseconds between the receipt of the first block and the last.
    pub span_us: i64,
}

/// Blocks on their way to be decoded.
#[derive(Debug)]
pub struct BlockQueue {
    state: Mutex<State>,
    changed: Condvar,
    bytes_max: usize,
}

#[derive(Debug, Default)]
struct State {
    blocks: VecDeque<Block>,
    bytes: usize,
    /// Nothing comes any more.
    closed: bool,
    /// What is left need not be taken.
    abandoned: bool,
}

impl BlockQueue {
    /// An empty queue of at most `bytes_max`.
    #[must_use]
    pub fn new(bytes_max: usize) -> Self {
        Self {
            state: Mutex::default(),
            changed: Condvar::new(),
            bytes_max,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a block.
    ///
    /// # Errors
    /// The block, if there is no room for it.
    pub fn push(&self, block: Block) -> Result<(), Block> {
        let mut state = self.lock();
        let bytes = state.bytes + block.held_bytes();
        if bytes > self.bytes_max {
            return Err(block);
        }
        state.bytes = bytes;
        state.blocks.push_back(block);
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    /// Takes what waits, one block at least and no more than `most` else; waits
    /// until there is something. Nothing: the queue is closed and drained.
    #[must_use]
    pub fn take(&self, most: Most) -> Vec<Block> {
        let waiting = self
            .changed
            .wait_while(self.lock(), |s| s.blocks.is_empty() && !s.closed);
        let mut state = waiting.unwrap_or_else(PoisonError::into_inner);
        state.take(most)
    }

    /// As [`BlockQueue::take`], without waiting.
    #[must_use]
    pub fn take_now(&self, most: Most) -> Vec<Block> {
        self.lock().take(most)
    }

    /// Nothing comes any more.
    pub fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// Time is up: who takes should end.
    pub fn abandon(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.abandoned = true;
        drop(state);
        self.changed.notify_all();
    }

    /// Whether [`BlockQueue::abandon`] was called.
    #[must_use]
    pub fn is_abandoned(&self) -> bool {
        self.lock().abandoned
    }

    /// Waits for `pause`, or less if the queue is abandoned.
    pub fn pause(&self, pause: Duration) {
        let waited = self
            .changed
            .wait_timeout_while(self.lock(), pause, |state| !state.abandoned);
        // Whether it timed out or not, the caller looks again.
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Bytes that wait.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.lock().bytes
    }

    /// The bound.
    #[must_use]
    pub fn bytes_max(&self) -> usize {
        self.bytes_max
    }
}

impl State {
    fn take(&mut self, most: Most) -> Vec<Block> {
        let Some(first) = self.blocks.front() else {
            return Vec::new();
        };
        let until = first.received_at().saturating_add(most.span_us);
        let (mut taken, mut datagrams, mut bytes) = (Vec::new(), 0, 0);
        while let Some(block) = self.blocks.pop_front_if(|block| {
            let fits = datagrams + block.len() <= most.datagrams
                && bytes + block.held_bytes() <= most.bytes
                && block.received_at() <= until;
            taken.is_empty() || fits
        }) {
            datagrams += block.len();
            bytes += block.held_bytes();
            taken.push(block);
        }
        self.bytes -= bytes;
        taken
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::super::block::Gathering;
    use super::*;
    use crate::model::Micros;

    const MOST: Most = Most {
        datagrams: 10,
        bytes: 10_000,
        span_us: 1000,
    };

    fn block(datagrams: usize, at: i64) -> Block {
        let mut gathering = Gathering::default();
        for _ in 0..datagrams {
            let source = SocketAddr::from(([127, 0, 0, 1], 9));
            gathering.push(Micros::new(at).unwrap(), source, b"a=1");
        }
        gathering.take().unwrap()
    }

    fn lengths(blocks: &[Block]) -> Vec<usize> {
        blocks.iter().map(Block::len).collect()
    }

    #[test]
    fn what_waits_is_taken_together_within_its_bounds() {
        let queue = BlockQueue::new(1 << 20);
        for (datagrams, at) in [(4, 0), (6, 0), (1, 0), (1, 1000), (1, 1001), (50, 1001)] {
            queue.push(block(datagrams, at)).unwrap();
        }
        assert_eq!(lengths(&queue.take(MOST)), [4, 6], "datagrams");
        assert_eq!(lengths(&queue.take(MOST)), [1, 1], "time");
        assert_eq!(lengths(&queue.take_now(MOST)), [1]);
        assert_eq!(lengths(&queue.take(MOST)), [50], "one at least");
        assert_eq!(queue.bytes(), 0);
        assert!(queue.take_now(MOST).is_empty());
        queue.close();
        assert!(queue.take(MOST).is_empty());
    }

    #[test]
    fn a_block_without_room_comes_back_and_room_is_made_by_taking() {
        let one = block(5, 0).held_bytes();
        let queue = BlockQueue::new(2 * one);
        queue.push(block(5, 0)).unwrap();
        queue.push(block(5, 0)).unwrap();
        assert_eq!(queue.push(block(5, 0)).unwrap_err().len(), 5);
        assert_eq!(lengths(&queue.take(MOST)), [5, 5]);
        queue.push(block(5, 0)).unwrap();
        assert_eq!(queue.bytes(), one);
    }

    #[test]
    fn a_pause_ends_when_the_queue_is_abandoned() {
        let queue = BlockQueue::new(1000);
        assert!(!queue.is_abandoned());
        std::thread::scope(|scope| {
            scope.spawn(|| queue.abandon());
            queue.pause(Duration::from_secs(3600));
        });
        assert!(queue.is_abandoned());
    }
}
