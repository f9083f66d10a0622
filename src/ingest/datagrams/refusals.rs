//! Tells what was refused in datagrams, seldom: whoever sent them is not
//! answered.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::decode::DecodedDatagrams;
use crate::model::RejectCode;
use crate::receive::Block;

/// Shortest time between two lines.
const EVERY: Duration = Duration::from_secs(10);

/// One refused item.
#[derive(Debug, PartialEq, Eq)]
struct Example {
    code: RejectCode,
    detail: String,
    source: Option<SocketAddr>,
}

/// What was refused since it was told last.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    told_at: Option<Instant>,
    datagrams: u64,
    example: Option<Example>,
}

impl Refusals {
    /// Notes what was refused in datagrams that `blocks` hold, and tells it unless
    /// something was told a moment ago.
    pub(super) fn note(&mut self, decoded: &DecodedDatagrams, blocks: &[Block], now: Instant) {
        if decoded.faulty == 0 {
            return;
        }
        self.datagrams += decoded.faulty;
        if self.example.is_none() {
            let first = decoded.decoded.rejections.first().first();
            self.example = first.map(|rejection| Example {
                code: rejection.code,
                detail: rejection.detail.clone(),
                source: decoded
                    .first_faulty
                    .and_then(|place| source_of(blocks, place)),
            });
        }
        let is_due = |told_at| now.saturating_duration_since(told_at) >= EVERY;
        if self.told_at.is_none_or(is_due) {
            self.tell();
            self.told_at = Some(now);
        }
    }

    /// Tells what was not told yet.
    pub(super) fn tell(&mut self) {
        let datagrams = std::mem::take(&mut self.datagrams);
        let Some(example) = self.example.take() else {
            return;
        };
        let source = example.source.map(|source| source.to_string());
        tracing::warn!(
            datagrams,
            code = example.code.as_str(),
            detail = example.detail,
            source,
            "items of datagrams were refused; one of them is shown"
        );
    }
}

/// The source of the datagram at `place` of all.
pub(super) fn source_of(blocks: &[Block], mut place: usize) -> Option<SocketAddr> {
    for block in blocks {
        if place < block.len() {
            return block.source(place);
        }
        place -= block.len();
    }
    None
}
