//! A round: batches encoded before the clock starts.

use std::io::Write as _;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::datagram::datagrams;
use crate::fleet::{Fleet, Reading};
use crate::plan::{Kind, Plan};
use crate::post::Encoded;

/// Bytes of bodies encoded ahead, before they are compressed: some 8 million
/// readings with one measure.
const ROUND_BYTES: usize = 512 << 20;

/// What a batch becomes on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A body as it is.
    Plain,
    /// A body in gzip.
    Gzip,
    /// Datagrams of at most so many bytes.
    Datagrams(usize),
}

/// An encoded batch of a plan.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) kind: Kind,
    /// One body, or its datagrams.
    pub(crate) bodies: Vec<Encoded>,
}

impl Prepared {
    pub(crate) fn readings(&self) -> u64 {
        self.bodies.iter().map(|body| body.readings).sum()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bodies.iter().map(|body| body.body.len() as u64).sum()
    }
}

/// Encodes the next batches of a plan: as many as fit a round, and none beyond
/// `readings_max` readings. Empty at the end of the plan.
pub(crate) fn prepare(
    fleet: &Fleet,
    plan: &mut Plan<'_>,
    form: Form,
    readings_max: u64,
) -> Vec<Prepared> {
    let (mut round, mut bytes, mut readings) = (Vec::new(), 0, 0);
    while bytes < ROUND_BYTES && readings < readings_max {
        let Some(batch) = plan.next() else { break };
        let (bodies, plain) = encode(fleet, form, &batch.readings);
        bytes += plain;
        readings += batch.readings.len() as u64;
        let kind = batch.kind;
        round.push(Prepared { kind, bodies });
    }
    round
}

/// The bodies, and their bytes before they are compressed.
fn encode(fleet: &Fleet, form: Form, readings: &[Reading]) -> (Vec<Encoded>, usize) {
    let one = |body| {
        let readings = readings.len() as u64;
        vec![Encoded { body, readings }]
    };
    match form {
        Form::Plain => {
            let body = fleet.encode(readings);
            let bytes = body.len();
            (one(body), bytes)
        }
        Form::Gzip => {
            let plain = fleet.encode(readings);
            (one(gzip(&plain)), plain.len())
        }
        Form::Datagrams(bytes_max) => {
            let cut = datagrams(fleet, readings, bytes_max);
            let bytes = cut.iter().map(|datagram| datagram.body.len()).sum();
            (cut, bytes)
        }
    }
}

/// At the level that clients use unless told otherwise.
fn gzip(plain: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::with_capacity(plain.len() / 4), Compression::default());
    encoder
        .write_all(plain)
        .and_then(|()| encoder.finish())
        .map(Bytes::from)
        .expect("a vector takes every write")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::tests::small;
    use std::io::Read as _;

    #[test]
    fn a_compressed_body_is_the_plain_one() {
        let fleet = small();
        let plain = prepare(&fleet, &mut Plan::new(&fleet), Form::Plain, u64::MAX);
        let packed = prepare(&fleet, &mut Plan::new(&fleet), Form::Gzip, u64::MAX);
        assert_eq!((plain.len(), packed.len()), (300, 300));
        for (plain, packed) in plain.iter().zip(&packed) {
            let mut body = Vec::new();
            flate2::read::GzDecoder::new(&*packed.bodies[0].body)
                .read_to_end(&mut body)
                .unwrap();
            assert_eq!(body, plain.bodies[0].body);
            assert!(packed.bytes() < plain.bytes());
            assert_eq!(packed.readings(), plain.readings());
        }
    }

    #[test]
    fn no_more_is_encoded_than_can_be_sent() {
        let fleet = small();
        let mut plan = Plan::new(&fleet);
        assert_eq!(prepare(&fleet, &mut plan, Form::Plain, 25).len(), 3);
        let rest = prepare(&fleet, &mut plan, Form::Datagrams(100), u64::MAX);
        assert_eq!(rest.iter().map(Prepared::readings).sum::<u64>(), 2970);
        assert!(prepare(&fleet, &mut plan, Form::Plain, u64::MAX).is_empty());
    }
}
