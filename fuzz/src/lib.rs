//! What must hold for any bytes that a decoder is given.

use hourglass::decode::{DecodeContext, Decoded, Gate};
use hourglass::journal::Record;
use hourglass::model::{MeasureName, Micros, SensorId};

/// 2026-05-01T10:00:00Z.
const NOW: i64 = 1_777_629_600_000_000;

/// Stamps a microsecond apart; a few sensors and measures are beyond the caps.
#[derive(Debug)]
pub struct Caps(i64);

impl Default for Caps {
    fn default() -> Self {
        Self(NOW)
    }
}

impl Gate for Caps {
    fn next(&mut self) -> Micros {
        self.0 += 1;
        Micros::new(self.0).expect("the year 2026 and some microseconds")
    }

    fn admit(&mut self, sensor: &SensorId) -> Result<(), usize> {
        if sensor.as_str().ends_with('9') {
            Err(1)
        } else {
            Ok(())
        }
    }

    fn admit_measures(
        &mut self,
        _: &SensorId,
        mut measures: &mut dyn Iterator<Item = &MeasureName>,
    ) -> Result<(), usize> {
        match Iterator::position(&mut measures, |name| name.as_str().ends_with('9')) {
            Some(position) => Err(position),
            None => Ok(()),
        }
    }
}

/// The range of times and the time of receipt.
#[must_use]
pub fn context() -> DecodeContext {
    let at = |micros| Micros::new(micros).expect("in the calendar");
    DecodeContext {
        received_at: at(NOW),
        min_time: at(946_684_800_000_000),
        max_time: at(NOW + 300_000_000),
        unit: None,
        unit_parameter: "unit",
    }
}

/// The ledger balances, every reading is in range and has values, and the journal
/// gives back what it was given.
///
/// # Panics
/// Where it is not so.
pub fn check(decoded: &Decoded) {
    let accepted = decoded.batch.len() as u64;
    assert_eq!(decoded.items, accepted + decoded.rejections.total());
    let by_code: u64 = decoded.rejections.by_code().map(|(_, items)| items).sum();
    assert_eq!(by_code, decoded.rejections.total());
    let kept = decoded.rejections.first().len() as u64;
    assert_eq!(kept, decoded.rejections.total().min(100));
    let mut last = None;
    for rejection in decoded.rejections.first() {
        assert!(rejection.index < decoded.items && last < Some(rejection.index));
        assert!(!rejection.detail.is_empty() && rejection.detail.len() < 2000);
        last = Some(rejection.index);
    }
    let context = context();
    for reading in decoded.batch.readings() {
        // Readings without a time of their own are stamped from NOW on.
        assert!(context.min_time <= reading.at() && reading.at() <= context.max_time);
        assert!(reading.values().len() > 0);
        assert!(reading.values().all(|(_, value)| value.abs() <= 1e300));
    }
    if accepted > 0 {
        let record = Record::Batch {
            received_at: context.received_at,
            batch: decoded.batch.clone(),
            keyed: None,
        };
        assert_eq!(Record::decode(&record.encode()), Ok(record));
    }
}

/// Whether the last reading, and the first one, is of sensor `id` with one value.
#[must_use]
pub fn ends_in(decoded: &Decoded, id: &str) -> bool {
    let last = decoded.batch.readings().last();
    last.is_some_and(|last| last.sensor().as_str() == id && last.values().len() == 1)
}
