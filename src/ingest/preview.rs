//! How a body would be taken, without taking it.

use std::sync::Arc;

use bytes::Bytes;

use super::{Ingest, IngestError, IngestGate, Intake, Outcome, joined};
use crate::clock::ReceiptStamps;
use crate::decode::{BodyError, Decoded, Gate, Rejections};
use crate::model::{MeasureName, Micros, Origin, ReadingRef, SensorId};

/// What would become of a body.
#[derive(Debug)]
pub struct Preview {
    /// The outcome, if nothing but the body itself is against it.
    pub outcome: Outcome,
    /// Text fields that would be skipped.
    pub text_fields_skipped: u64,
    /// The first readings, at most [`Preview::READINGS_MAX`].
    pub readings: Vec<PreviewedReading>,
}

/// A reading as it would be stored.
#[derive(Debug)]
pub struct PreviewedReading {
    /// Place of its item in the body, from 0, where it is known: behind the last
    /// rejection that is told it is not.
    pub index: Option<u64>,
    /// Its sensor.
    pub sensor: SensorId,
    /// Its instant.
    pub at: Micros,
    /// Whether that is the time of receipt, as the item had none of its own.
    pub is_stamped: bool,
    /// Its values.
    pub values: Vec<(MeasureName, f64)>,
    /// Measurement and tags, where its protocol has them.
    pub origin: Option<Arc<Origin>>,
}

impl Preview {
    /// Most readings that are shown.
    pub const READINGS_MAX: usize = 100;
}

/// Remembers which stamps were given.
struct Noting<'a> {
    gate: IngestGate<'a>,
    /// Rising.
    stamps: Vec<Micros>,
}

impl Gate for Noting<'_> {
    fn next(&mut self) -> Micros {
        let stamp = self.gate.next();
        self.stamps.push(stamp);
        stamp
    }

    fn admit(&mut self, sensor: &SensorId) -> Result<(), usize> {
        self.gate.admit(sensor)
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
    /// Reads a body as [`Ingest::accept`] does, and stores nothing of it: it is
    /// not counted, and the sensors and measures that it brings take no place
    /// under their caps.
    ///
    /// # Errors
    /// The body is not what its type says.
    pub async fn preview(&self, body: Bytes, how: Intake) -> Result<Preview, IngestError> {
        let this = self.clone();
        let work = tokio::task::spawn_blocking(move || this.preview_now(&body, &how));
        Ok(joined(work).await??)
    }

    fn preview_now(&self, body: &[u8], how: &Intake) -> Result<Preview, BodyError> {
        let stamps = ReceiptStamps::default();
        let mut gate = Noting {
            gate: self.gate(&stamps),
            stamps: Vec::new(),
        };
        let decoded = self.decode_through(&mut gate, body, how, self.clock.now());
        self.cap.forget(&gate.gate.admitted.sensors);
        let decoded = decoded?;
        let indexes = indexes(&decoded.rejections);
        let readings = decoded.batch.readings().take(Preview::READINGS_MAX);
        let readings = readings
            .zip(indexes)
            .map(|(reading, index)| shown(reading, index, &gate.stamps));
        Ok(Preview {
            readings: readings.collect(),
            text_fields_skipped: decoded.text_fields_skipped,
            outcome: self.outcome(&decoded),
        })
    }

    fn outcome(&self, decoded: &Decoded) -> Outcome {
        Outcome {
            accepted: decoded.batch.len() as u64,
            rejected: decoded.rejections.total(),
            rejections: decoded.rejections.first().to_vec(),
            rejected_by_code: decoded.rejections.by_code().collect(),
            server_time: self.clock.now(),
        }
    }
}

fn shown(reading: ReadingRef<'_>, index: Option<u64>, stamps: &[Micros]) -> PreviewedReading {
    let values = reading.values();
    PreviewedReading {
        index,
        sensor: reading.sensor().clone(),
        at: reading.at(),
        is_stamped: stamps.binary_search(&reading.at()).is_ok(),
        values: values.map(|(name, value)| (name.clone(), value)).collect(),
        origin: reading.origin().cloned(),
    }
}

/// The places of the accepted items: those that no rejection has.
fn indexes(rejections: &Rejections) -> impl Iterator<Item = Option<u64>> {
    let told = rejections.first();
    let is_whole = told.len() as u64 == rejections.total();
    let known_to = told
        .last()
        .filter(|_| !is_whole)
        .map_or(u64::MAX, |last| last.index);
    let mut refused = told.iter().map(|rejection| rejection.index).peekable();
    let accepted = (0..).filter(move |index| refused.next_if_eq(index).is_none());
    accepted.map(move |index| (index < known_to).then_some(index))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{RejectCode, Rejection};

    #[test]
    fn items_keep_their_places_as_far_as_rejections_are_told() {
        let refused = |indexes: &[u64]| {
            let mut rejections = Rejections::default();
            for index in indexes {
                rejections.add(RejectCode::TooOld, || Rejection {
                    index: *index,
                    line: None,
                    field: None,
                    code: RejectCode::TooOld,
                    detail: String::new(),
                });
            }
            rejections
        };
        let places = |rejections: &Rejections| indexes(rejections).take(4).collect::<Vec<_>>();
        assert_eq!(places(&refused(&[])), [0, 1, 2, 3].map(Some));
        assert_eq!(places(&refused(&[0, 2, 3])), [1, 4, 5, 6].map(Some));
        let even: Vec<u64> = (0..101).map(|n| n * 2).collect();
        assert_eq!(places(&refused(&even)), [1, 3, 5, 7].map(Some));
        let first: Vec<u64> = (0..99).chain([100, 101]).collect();
        assert_eq!(places(&refused(&first)), [Some(99), None, None, None]);
    }
}
