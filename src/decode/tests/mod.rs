//! Whole bodies through the decoders.

mod bodies;
mod datagrams;
mod items;
mod lines;
mod properties;
mod table_properties;
mod tables;

use super::*;
use crate::model::{MeasureName, Micros, RejectCode, SensorId};

/// 2026-05-01T10:00:00Z.
const NOW: i64 = 1_777_629_600_000_000;

/// Stamps from [`NOW`], a microsecond apart.
struct Counted(i64);

impl Gate for Counted {
    fn next(&mut self) -> Micros {
        self.0 += 1;
        Micros::new(self.0 - 1).unwrap()
    }

    fn admit(&mut self, sensor: &SensorId) -> Result<(), usize> {
        if sensor.as_str() == "one-too-many" {
            return Err(7);
        }
        Ok(())
    }

    fn oldest_kept(&mut self, sensor: &SensorId) -> Micros {
        if sensor.as_str() == "kept-from-2025" {
            Micros::new(1_735_689_600_000_000).unwrap()
        } else {
            Micros::MIN
        }
    }

    fn admit_measures(
        &mut self,
        _: &SensorId,
        mut measures: &mut dyn Iterator<Item = &MeasureName>,
    ) -> Result<(), usize> {
        match Iterator::position(&mut measures, |name| name.as_str() == "one-too-many") {
            Some(position) => Err(position),
            None => Ok(()),
        }
    }
}

fn context() -> DecodeContext {
    DecodeContext {
        received_at: Micros::new(NOW).unwrap(),
        min_time: Micros::new(946_684_800_000_000).unwrap(),
        max_time: Micros::new(NOW + 300_000_000).unwrap(),
        unit: None,
        unit_parameter: "unit",
    }
}

fn read_json(body: impl AsRef<[u8]>) -> Result<Decoded, BodyError> {
    json(body.as_ref(), &context(), &mut Counted(NOW))
}

fn read_ndjson(body: impl AsRef<[u8]>) -> Decoded {
    ndjson(body.as_ref(), &context(), &mut Counted(NOW))
}

fn read_lines(body: impl AsRef<[u8]>, unit: Option<TimeUnit>) -> Decoded {
    let context = DecodeContext { unit, ..context() };
    let mapping = LineMapping::default();
    let options = LineOptions {
        mapping: &mapping,
        text_only: TextOnly::Refuse,
    };
    line_protocol(body.as_ref(), &context, options, &mut Counted(NOW))
}

/// Sensor, microseconds after [`NOW`], values by measure.
type Row = (String, i64, Vec<(String, f64)>);

fn rows(decoded: &Decoded) -> Vec<Row> {
    let rows = decoded.batch.readings().map(|reading| {
        let values = reading.values();
        let values = values.map(|(name, value)| (name.as_str().to_owned(), value));
        (
            reading.sensor().as_str().to_owned(),
            reading.at().get() - NOW,
            values.collect(),
        )
    });
    rows.collect()
}

fn row(sensor: &str, at: i64, values: &[(&str, f64)]) -> Row {
    let values = values
        .iter()
        .map(|(name, value)| ((*name).to_owned(), *value));
    (sensor.to_owned(), at, values.collect())
}

/// Index, line, field and code of each rejection.
type Refused<'a> = (u64, Option<u64>, Option<&'a str>, RejectCode);

fn refused(decoded: &Decoded) -> Vec<Refused<'_>> {
    let rejections = decoded.rejections.first().iter();
    let refused = rejections.map(|r| (r.index, r.line, r.field.as_deref(), r.code));
    refused.collect()
}

/// What becomes of one item: the values of its reading, or field and code.
fn fate(item: &str) -> Result<Row, (Option<String>, RejectCode)> {
    let decoded = read_json(item).unwrap();
    assert_eq!(decoded.items, 1, "{item}");
    match decoded.rejections.first() {
        [] => Ok(rows(&decoded).remove(0)),
        [rejection] => {
            assert!(!rejection.detail.is_empty());
            assert!(decoded.batch.is_empty(), "{item}");
            assert!(decoded.batch.sensors().is_empty(), "{item}");
            assert!(decoded.batch.measures().is_empty(), "{item}");
            Err((rejection.field.clone(), rejection.code))
        }
        several => panic!("{item}: {several:?}"),
    }
}
