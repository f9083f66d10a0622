//! Batches as decoders yield them, for whoever measures what comes behind.

use hourglass::model::{Batch, HourStart, MeasureName, Micros, SensorId};

/// 2026-05-01T10:00Z.
pub(crate) fn hour() -> HourStart {
    HourStart::from_hours(493_786)
}

const NAMES: [&str; 3] = ["temp", "humidity", "pressure"];

/// A batch of `measures` values a reading (1 to 3) with a table of `sensors`
/// sensors; `readings` are the number of a sensor and its instant.
pub(crate) fn batch(
    sensors: usize,
    measures: usize,
    readings: impl IntoIterator<Item = (usize, Micros)>,
) -> Batch {
    let mut batch = Batch::default();
    for sensor in 0..sensors {
        batch.add_sensor(SensorId::new(&format!("S{sensor}")).expect("a legal id"));
    }
    for name in &NAMES[..measures] {
        batch.add_measure(MeasureName::new(name).expect("a legal name"));
    }
    for (sensor, at) in readings {
        for measure in 0..measures as u32 {
            let step = at.get() / 1_000_000 * 7 + sensor as i64 + i64::from(measure) * 13;
            batch.push_value(measure, (step % 1000) as f64 / 10.0);
        }
        batch.finish_reading(sensor as u32, at);
    }
    batch
}

/// `readings` readings, each of `sensors` in turn, once a second from `second` of
/// the hour on.
pub(crate) fn in_turn(
    sensors: usize,
    readings: usize,
    second: usize,
) -> impl Iterator<Item = (usize, Micros)> {
    (0..readings).map(move |n| (n % sensors, at(second + n / sensors)))
}

/// The instant so many seconds behind the start of the hour.
pub(crate) fn at(second: usize) -> Micros {
    hour().start().saturating_add(second as i64 * 1_000_000)
}
