//! A line as each of the two decoders reads it, in one form.

use hourglass::decode::{DecodeContext, LineMapping, LineOptions, TextOnly, TimeUnit};
use hourglass::model::Micros;
use influxdb_line_protocol::{FieldValue, ParsedLine, parse_lines};

use crate::support::gate::OpenGate;

/// What a line says. Numbers by bits; text fields are only counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) measurement: String,
    pub(super) tags: Vec<(String, String)>,
    pub(super) numbers: Vec<(String, u64)>,
    pub(super) texts: usize,
    /// Microseconds since the epoch, where the line has a time.
    pub(super) at: Option<i64>,
}

/// The stamp of a line without a time.
const STAMP: i64 = 77;

/// The only line of `text` as this project reads it; `Ok(None)` where it holds
/// only text fields, and else why it is refused.
pub(super) fn ours(text: &str) -> Result<Option<Content>, String> {
    let context = DecodeContext {
        received_at: Micros::new(STAMP).unwrap(),
        min_time: Micros::MIN,
        max_time: Micros::MAX,
        unit: Some(TimeUnit::Nanos),
        unit_parameter: "precision",
    };
    // No tag names the sensor, so that all of them are seen in the origin.
    let mapping = LineMapping {
        sensor_tags: Vec::new(),
        dimension_tags: Vec::new(),
        measurement_prefix: false,
    };
    let options = LineOptions {
        mapping: &mapping,
        text_only: TextOnly::Skip,
    };
    let mut gate = OpenGate(context.received_at);
    let decoded = hourglass::decode::line_protocol(text.as_bytes(), &context, options, &mut gate);
    if let Some(rejection) = decoded.rejections.first().first() {
        return Err(format!("{}: {}", rejection.code, rejection.detail));
    }
    let Some(reading) = decoded.batch.readings().next() else {
        return Ok(None);
    };
    let origin = reading.origin().unwrap();
    let numbers = reading.values();
    let numbers = numbers.map(|(name, value)| (name.as_str().to_owned(), value.to_bits()));
    Ok(Some(Content {
        measurement: origin.measurement().to_owned(),
        tags: origin.tags().map(|(k, v)| (k.into(), v.into())).collect(),
        numbers: numbers.collect(),
        texts: usize::try_from(decoded.text_fields_skipped).unwrap(),
        at: Some(reading.at().get()).filter(|at| *at != STAMP),
    }))
}

/// The same as the other decoder reads it, nanoseconds cut to microseconds.
pub(super) fn theirs(text: &str) -> Result<Vec<Content>, String> {
    parse_lines(text)
        .map(|line| line.map(|line| content(&line)).map_err(|e| e.to_string()))
        .collect()
}

fn content(line: &ParsedLine<'_>) -> Content {
    let tags = line.series.tag_set.iter().flatten();
    let mut tags: Vec<_> = tags.map(|(k, v)| (k.to_string(), v.to_string())).collect();
    tags.sort();
    let mut numbers = Vec::new();
    let mut texts = 0;
    for (name, value) in &line.field_set {
        let value = match value {
            FieldValue::I64(value) => *value as f64,
            FieldValue::U64(value) => *value as f64,
            FieldValue::F64(value) => *value,
            FieldValue::Boolean(value) => f64::from(u8::from(*value)),
            FieldValue::String(_) => {
                texts += 1;
                continue;
            }
        };
        numbers.push((name.to_string(), value.to_bits()));
    }
    Content {
        measurement: line.series.measurement.to_string(),
        tags,
        numbers,
        texts,
        at: line.timestamp.map(|nanos| nanos.div_euclid(1000)),
    }
}
