//! What is written: the readings of a fleet, in the form a system takes.

use bytes::Bytes;
use mongodb::bson::oid::ObjectId;
use mongodb::bson::raw::CString;
use mongodb::bson::{DateTime, RawDocumentBuf, rawdoc};

use super::CompareError;
use crate::fleet::{Fleet, Reading};
use crate::post::Encoded;

/// Ticks whose readings are sorted by sensor together: 10 minutes at 1 Hz, what
/// a gateway that groups could hold back.
pub const GROUP_TICKS: u64 = 600;

/// How a system takes readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Line protocol, in the order of time.
    Lines,
    /// Documents, in the order of time.
    Documents,
    /// Documents, sorted by sensor within [`GROUP_TICKS`].
    GroupedDocuments,
}

/// Batches that wait to be written.
#[derive(Debug)]
pub(super) enum Batches {
    /// Request bodies.
    Lines(Vec<Encoded>),
    /// Documents of one command each.
    Documents(Vec<Vec<RawDocumentBuf>>),
}

/// A fleet and the resolution of its values.
#[derive(Debug, Clone)]
pub(super) struct Load {
    pub(super) fleet: Fleet,
    /// Decimals of a value, 1 or 2.
    pub(super) decimals: u32,
}

impl Load {
    /// A value in units of the last decimal. The second decimal is random: a
    /// sensor of that resolution shows its noise there.
    pub(super) fn units(&self, reading: Reading, measure: usize) -> i64 {
        let tenths = self.fleet.tenths(reading, measure);
        match self.decimals {
            1 => tenths,
            _ => tenths * 10 + self.fleet.digit(reading, measure),
        }
    }

    /// A value: the double nearest to its decimal text.
    pub(super) fn value(&self, reading: Reading, measure: usize) -> f64 {
        self.units(reading, measure) as f64 / self.scale() as f64
    }

    /// Units in 1.
    pub(super) fn scale(&self) -> i64 {
        10_i64.pow(self.decimals)
    }

    /// The batches of some ticks, encoded.
    pub(super) fn batches(
        &self,
        form: Form,
        ticks: std::ops::Range<u64>,
    ) -> Result<Batches, CompareError> {
        let readings = self.readings(form, ticks);
        let pieces = readings.chunks(self.fleet.batch);
        Ok(match form {
            Form::Lines => Batches::Lines(pieces.map(|piece| self.lines(piece)).collect()),
            Form::Documents | Form::GroupedDocuments => {
                let documents = |piece: &[Reading]| {
                    let documents = piece.iter().map(|reading| self.document(*reading));
                    documents.collect::<Result<Vec<_>, _>>()
                };
                Batches::Documents(pieces.map(documents).collect::<Result<_, _>>()?)
            }
        })
    }

    fn readings(&self, form: Form, ticks: std::ops::Range<u64>) -> Vec<Reading> {
        let sensors = u64::from(self.fleet.sensors);
        let end = self.fleet.readings.min(ticks.end * sensors);
        let places = ticks.start * sensors..end;
        let mut readings: Vec<Reading> = places.map(|place| self.fleet.reading(place)).collect();
        if form == Form::GroupedDocuments {
            readings.sort_by_key(|r| (r.tick / GROUP_TICKS, r.sensor, r.tick));
        }
        readings
    }

    fn lines(&self, readings: &[Reading]) -> Encoded {
        let units = |reading, measure| self.units(reading, measure);
        Encoded {
            body: Bytes::from(self.fleet.lines(readings, self.decimals, units)),
            readings: readings.len() as u64,
        }
    }

    fn document(&self, reading: Reading) -> Result<RawDocumentBuf, CompareError> {
        let mut document = rawdoc! {
            "_id": ObjectId::new(),
            "sensorId": self.fleet.sensor_id(reading.sensor),
            "ts": DateTime::from_millis(self.fleet.at(reading.tick) / 1000),
        };
        for (measure, name) in self.fleet.measures.iter().enumerate() {
            let name = CString::try_from(name.as_str())?;
            document.append(name, self.value(reading, measure));
        }
        Ok(document)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::fleet::tests::small;

    pub(in crate::compare) fn load(decimals: u32) -> Load {
        Load {
            fleet: small(),
            decimals,
        }
    }

    #[test]
    fn a_line_has_the_decimals_asked_for_and_parses_to_the_value() {
        for decimals in [1, 2] {
            let load = load(decimals);
            let reading = Reading { sensor: 2, tick: 5 };
            let body = load.lines(&[reading]);
            let text = String::from_utf8(body.body.to_vec()).unwrap();
            let value = text.split(['=', ' ']).nth(3).unwrap();
            assert_eq!(value.split('.').nth(1).unwrap().len(), decimals as usize);
            let parsed: f64 = value.parse().unwrap();
            assert_eq!(parsed.to_bits(), load.value(reading, 0).to_bits());
            assert!(text.starts_with("readings,sensor_id=S2 temp="), "{text}");
            assert!(text.ends_with(" 1777593605000000000\n"), "{text}");
        }
    }

    #[test]
    fn lines_of_one_decimal_are_those_of_a_run() {
        let fleet = Fleet {
            format: crate::workload::BodyFormat::Line,
            ..small()
        };
        let readings: Vec<Reading> = (0..50).map(|place| fleet.reading(place)).collect();
        assert_eq!(load(1).lines(&readings).body, fleet.encode(&readings));
    }

    #[test]
    fn a_document_holds_what_a_line_holds() {
        let load = load(2);
        let reading = Reading { sensor: 1, tick: 7 };
        let document = load.document(reading).unwrap();
        assert_eq!(document.get_str("sensorId").unwrap(), "S1");
        let at = document.get_datetime("ts").unwrap().timestamp_millis();
        assert_eq!(at * 1000, load.fleet.at(7));
        let value = document.get_f64("temp").unwrap();
        assert_eq!(value.to_bits(), load.value(reading, 0).to_bits());
    }

    #[test]
    fn grouped_or_not_every_reading_is_there_once() {
        let load = load(1);
        let in_time = load.readings(Form::Documents, 100..700);
        let mut grouped = load.readings(Form::GroupedDocuments, 100..700);
        assert_ne!(in_time, grouped);
        // Ten of one sensor in a row: a batch holds one sensor's readings.
        assert!(grouped[..10].iter().all(|r| r.sensor == grouped[0].sensor));
        grouped.sort_by_key(|r| (r.tick, r.sensor));
        assert_eq!(in_time, grouped);
    }
}
