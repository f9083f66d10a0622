//! What a decoder is told and what it yields.

use std::fmt::Display;

use super::{Refused, TimeUnit};
use crate::model::{Batch, MeasureName, Micros, RejectCode, Rejection, SensorId};

/// What decoding depends on besides the bytes.
#[derive(Debug, Clone, Copy)]
pub struct DecodeContext {
    /// When the body arrived; named in messages, never used as a stamp.
    pub received_at: Micros,
    /// Earliest instant accepted (`ingest.min_time`).
    pub min_time: Micros,
    /// Latest instant accepted: the time of receipt and `ingest.max_future`.
    pub max_time: Micros,
    /// Unit of numeric times; by magnitude where absent.
    pub unit: Option<TimeUnit>,
    /// The parameter that sets the unit, named in messages: `unit`, or
    /// `precision` on endpoints that call it so.
    pub unit_parameter: &'static str,
}

/// What decoding asks of the process, item by item.
pub trait Gate {
    /// The time of receipt for an item without a time of its own: at least one
    /// microsecond after the last.
    fn next(&mut self) -> Micros;

    /// Whether `sensor`, which is new in this body, may come in; if not, how many
    /// sensors are the most (`ingest.sensors_max`).
    fn admit(&mut self, sensor: &SensorId) -> Result<(), usize>;

    /// The first instant of which readings of `sensor` are kept; everything, where
    /// the process does not say.
    fn oldest_kept(&mut self, sensor: &SensorId) -> Micros {
        let _ = sensor;
        Micros::MIN
    }

    /// How many bytes of refused items are taken along, about; none, where the
    /// process does not keep them.
    fn refused_bytes_max(&self) -> usize {
        0
    }

    /// Whether the measures of a reading of `sensor`, some of which are new for
    /// it in this body, may come in; if not, which one (its position) is beyond
    /// the most that a sensor may have.
    fn admit_measures(
        &mut self,
        sensor: &SensorId,
        measures: &mut dyn Iterator<Item = &MeasureName>,
    ) -> Result<(), usize>;
}

/// A decoded body.
#[derive(Debug, Default)]
pub struct Decoded {
    /// The accepted readings, in the order of the body.
    pub batch: Batch,
    /// Items in the body: `batch.len()` and the rejections together. Lines that
    /// hold only text, where these are to be skipped, are no items.
    pub items: u64,
    /// Tags of accepted items that are beyond the bounds of what is kept.
    pub tags_left_out: u64,
    /// Text fields skipped in items that have no fault but, perhaps, that
    /// nothing else was in them.
    pub text_fields_skipped: u64,
    /// The refused items.
    pub rejections: Rejections,
    /// The first of them as they came, as far as the [`Gate`] wants them.
    pub refused: Refused,
}

/// The first refused items, and how many of which kind there were.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rejections {
    first: Vec<Rejection>,
    by_code: [u64; RejectCode::ALL.len()],
    total: u64,
}

impl Rejections {
    /// Most rejections kept; the rest are only counted.
    pub const KEPT_MAX: usize = 100;

    /// Counts a rejection and keeps it if it is among the first.
    pub(crate) fn add(&mut self, code: RejectCode, rejection: impl FnOnce() -> Rejection) {
        self.total += 1;
        self.by_code[code as usize] += 1;
        if self.first.len() < Self::KEPT_MAX {
            self.first.push(rejection());
        }
    }

    /// The first [`Self::KEPT_MAX`] rejections, in the order of the body.
    #[must_use]
    pub fn first(&self) -> &[Rejection] {
        &self.first
    }

    /// How many items were refused for `code`.
    #[must_use]
    pub fn count(&self, code: RejectCode) -> u64 {
        self.by_code[code as usize]
    }

    /// The codes that occurred, with their counts.
    pub fn by_code(&self) -> impl Iterator<Item = (RejectCode, u64)> + '_ {
        let counts = RejectCode::ALL.into_iter().zip(self.by_code);
        counts.filter(|(_, count)| *count > 0)
    }

    /// How many items were refused.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }
}

/// Why an item is refused, before its place in the body is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) code: RejectCode,
    pub(super) field: Option<String>,
    pub(super) detail: String,
}

impl Fault {
    pub(super) fn new(code: RejectCode, field: Option<&str>, detail: impl Display) -> Self {
        Self {
            code,
            field: field.map(|field| excerpt(field).into_owned()),
            detail: detail.to_string(),
        }
    }

    /// The same fault, of the field `name`.
    pub(super) fn of(self, name: &str) -> Self {
        Self {
            field: Some(excerpt(name).into_owned()),
            ..self
        }
    }

    pub(super) fn at(self, index: u64, line: Option<u64>) -> Rejection {
        Rejection {
            index,
            line,
            field: self.field,
            code: self.code,
            detail: self.detail,
        }
    }
}

/// `text`, cut so that an answer stays small whatever was sent.
pub(super) fn excerpt(text: &str) -> std::borrow::Cow<'_, str> {
    const BYTES_MAX: usize = 128;
    if text.len() <= BYTES_MAX {
        return text.into();
    }
    format!("{}…", &text[..text.floor_char_boundary(BYTES_MAX)]).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_counted_in_the_order_of_their_declaration() {
        for (place, code) in RejectCode::ALL.into_iter().enumerate() {
            assert_eq!(code as usize, place);
        }
    }

    #[test]
    fn the_list_is_capped_and_the_counts_are_exact() {
        let mut rejections = Rejections::default();
        for index in 0..250 {
            let code = [RejectCode::NotFinite, RejectCode::TooOld][index as usize % 2];
            rejections.add(code, || Fault::new(code, Some("x"), "y").at(index, None));
        }
        assert_eq!(rejections.first().len(), 100);
        assert_eq!(rejections.first()[99].index, 99);
        assert_eq!(
            rejections.by_code().collect::<Vec<_>>(),
            [(RejectCode::NotFinite, 125), (RejectCode::TooOld, 125)]
        );
        assert_eq!(rejections.total(), 250);
    }

    #[test]
    fn an_excerpt_ends_between_characters() {
        assert_eq!(excerpt("temp"), "temp");
        let cut = excerpt(&"é🌡".repeat(100)).into_owned();
        assert!(cut.ends_with('…') && cut.len() <= 131);
    }
}
