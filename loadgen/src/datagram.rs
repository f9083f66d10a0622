//! Cuts batches into datagrams.

use bytes::Bytes;

use crate::fleet::{Fleet, Reading};
use crate::post::Encoded;
use crate::workload::BodyFormat;

/// The readings in datagrams of at most `bytes_max` bytes, as many in each as fit.
/// A reading that needs more is in one of its own.
#[must_use]
pub fn datagrams(fleet: &Fleet, readings: &[Reading], bytes_max: usize) -> Vec<Encoded> {
    let frame = Frame::of(fleet.format);
    let mut cut = Vec::new();
    let (mut body, mut count) = (Vec::new(), 0);
    for reading in readings {
        let alone = fleet.encode(&[*reading]);
        let bare = frame.bare(&alone);
        let longer = body.len() + frame.between.len() + bare.len() + frame.close.len();
        if count > 0 && longer > bytes_max {
            cut.push(frame.close(&mut body, &mut count));
        }
        let before = if count == 0 {
            frame.open
        } else {
            frame.between
        };
        body.extend_from_slice(before);
        body.extend_from_slice(bare);
        count += 1;
    }
    if count > 0 {
        cut.push(frame.close(&mut body, &mut count));
    }
    cut
}

/// What stands around and between readings.
struct Frame {
    open: &'static [u8],
    between: &'static [u8],
    close: &'static [u8],
}

impl Frame {
    fn of(format: BodyFormat) -> Self {
        let (open, between, close): (&[u8], &[u8], &[u8]) = match format {
            BodyFormat::Json => (b"[", b",", b"]"),
            BodyFormat::Ndjson | BodyFormat::Line => (b"", b"\n", b"\n"),
        };
        Self {
            open,
            between,
            close,
        }
    }

    fn bare<'a>(&self, alone: &'a [u8]) -> &'a [u8] {
        let rest = alone.strip_prefix(self.open).unwrap_or(alone);
        rest.strip_suffix(self.close).unwrap_or(rest)
    }

    fn close(&self, body: &mut Vec<u8>, count: &mut u64) -> Encoded {
        let mut body = std::mem::take(body);
        body.extend_from_slice(self.close);
        Encoded {
            body: Bytes::from(body),
            readings: std::mem::take(count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::tests::small;

    #[test]
    fn datagrams_are_full_and_hold_the_readings_in_order() {
        for format in [BodyFormat::Json, BodyFormat::Line] {
            let fleet = Fleet { format, ..small() };
            let readings: Vec<Reading> = (0..100).map(|place| fleet.reading(place)).collect();
            let cut = datagrams(&fleet, &readings, 300);
            let mut rest = readings.as_slice();
            for (number, datagram) in cut.iter().enumerate() {
                let (these, others) = rest.split_at(usize::try_from(datagram.readings).unwrap());
                assert_eq!(datagram.body, fleet.encode(these));
                assert!(datagram.body.len() <= 300);
                if number + 1 < cut.len() {
                    let more = these.len() + 1;
                    assert!(fleet.encode(&rest[..more]).len() > 300);
                }
                rest = others;
            }
            assert!(rest.is_empty());
        }
    }

    #[test]
    fn a_reading_that_is_too_large_goes_alone() {
        let readings = [small().reading(0), small().reading(1)];
        let cut = datagrams(&small(), &readings, 10);
        assert_eq!(cut.len(), 2);
        assert!(cut.iter().all(|datagram| datagram.readings == 1));
        assert!(datagrams(&small(), &[], 10).is_empty());
    }
}
