//! Blocks of datagrams, decoded into one batch.

use std::cell::Cell;

use super::super::{Admitted, Ingest, IngestGate};
use crate::decode::{DecodedDatagrams, Gate, LineOptions, TextOnly, TimeUnit};
use crate::model::{MeasureName, Micros, SensorId};
use crate::receive::Block;

/// A decoded batch. What is new in it is admitted until it is settled or
/// forgotten.
#[derive(Debug)]
pub(super) struct DatagramBatch {
    pub(super) all: DecodedDatagrams,
    pub(super) admitted: Admitted,
    /// When the newest block was received.
    pub(super) received_at: Micros,
}

/// The gate of all bodies, but what has no time is stamped with the receipt of its
/// block, which may have waited.
struct DatagramGate<'a> {
    gate: IngestGate<'a>,
    receipt: &'a Cell<Micros>,
}

impl Gate for DatagramGate<'_> {
    fn next(&mut self) -> Micros {
        self.gate.stamps.next(self.receipt.get())
    }

    fn admit(&mut self, sensor: &SensorId) -> Result<(), usize> {
        self.gate.admit(sensor)
    }

    fn refused_bytes_max(&self) -> usize {
        self.gate.refused_bytes_max()
    }

    fn oldest_kept(&mut self, sensor: &SensorId) -> Micros {
        self.gate.oldest_kept(sensor)
    }

    fn admit_measures(
        &mut self,
        sensor: &SensorId,
        measures: &mut dyn Iterator<Item = &MeasureName>,
    ) -> Result<(), usize> {
        self.gate.admit_measures(sensor, measures)
    }
}

impl Ingest {
    /// Decodes blocks into one batch; numeric times are in `unit`, by magnitude
    /// where it is absent.
    pub(super) fn decode_datagrams(
        &self,
        blocks: &[Block],
        unit: Option<TimeUnit>,
    ) -> DatagramBatch {
        let newest = blocks.iter().map(Block::received_at).max();
        let received_at = newest.unwrap_or_else(|| self.clock.now());
        let context = self.context(received_at, unit, "udp.unit");
        let options = LineOptions {
            mapping: &self.mapping,
            text_only: TextOnly::Refuse,
        };
        let receipt = Cell::new(received_at);
        let mut gate = DatagramGate {
            gate: self.gate(&self.stamps),
            receipt: &receipt,
        };
        let datagrams = blocks.iter().flat_map(|block| {
            receipt.set(block.received_at());
            block.datagrams()
        });
        let all = crate::decode::datagrams(datagrams, &context, options, &mut gate);
        DatagramBatch {
            all,
            admitted: gate.gate.admitted,
            received_at,
        }
    }
}
