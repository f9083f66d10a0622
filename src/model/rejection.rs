//! What was refused, where and why.

use std::fmt;

/// Why an item was refused. The texts are stable: clients and metrics match them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RejectCode {
    /// A line that is not JSON (line-wise bodies only).
    InvalidJson,
    /// A line against the grammar of line protocol.
    InvalidLine,
    /// A row of CSV that does not fit its header.
    InvalidRow,
    /// The item is not a JSON object.
    NotAnObject,
    /// The same field twice in one item.
    DuplicateField,
    /// No `sensorId`.
    MissingSensorId,
    /// A `sensorId` against the rules.
    InvalidSensorId,
    /// A measure name against the rules.
    InvalidMeasureName,
    /// A value that is neither number nor boolean.
    NotANumber,
    /// A nested value.
    NestedValue,
    /// Not finite, or beyond 1e300 in magnitude.
    NotFinite,
    /// An integer beyond 2^53, which no double holds exactly.
    IntegerTooLarge,
    /// Nothing numeric in the item.
    NoMeasures,
    /// More than 256 measures in the item.
    TooManyMeasures,
    /// A new sensor beyond `ingest.sensors_max`.
    TooManySensors,
    /// A time that cannot be read.
    InvalidTime,
    /// A time below `ingest.min_time`.
    TooOld,
    /// A time of which readings of the sensor are not kept any more.
    OlderThanRetention,
    /// A time beyond now + `ingest.max_future`.
    TooFarInFuture,
}

impl RejectCode {
    /// Every code, in the order of declaration (metrics pre-register them).
    pub const ALL: [Self; 19] = [
        Self::InvalidJson,
        Self::InvalidLine,
        Self::InvalidRow,
        Self::NotAnObject,
        Self::DuplicateField,
        Self::MissingSensorId,
        Self::InvalidSensorId,
        Self::InvalidMeasureName,
        Self::NotANumber,
        Self::NestedValue,
        Self::NotFinite,
        Self::IntegerTooLarge,
        Self::NoMeasures,
        Self::TooManyMeasures,
        Self::TooManySensors,
        Self::InvalidTime,
        Self::TooOld,
        Self::OlderThanRetention,
        Self::TooFarInFuture,
    ];

    /// The code as the API and the metrics write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidJson => "invalid_json",
            Self::InvalidLine => "invalid_line",
            Self::InvalidRow => "invalid_row",
            Self::NotAnObject => "not_an_object",
            Self::DuplicateField => "duplicate_field",
            Self::MissingSensorId => "missing_sensor_id",
            Self::InvalidSensorId => "invalid_sensor_id",
            Self::InvalidMeasureName => "invalid_measure_name",
            Self::NotANumber => "not_a_number",
            Self::NestedValue => "nested_value",
            Self::NotFinite => "not_finite",
            Self::IntegerTooLarge => "integer_too_large",
            Self::NoMeasures => "no_measures",
            Self::TooManyMeasures => "too_many_measures",
            Self::TooManySensors => "too_many_sensors",
            Self::InvalidTime => "invalid_time",
            Self::TooOld => "too_old",
            Self::OlderThanRetention => "older_than_retention",
            Self::TooFarInFuture => "too_far_in_future",
        }
    }
}

impl fmt::Display for RejectCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One refused item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// Position among the items of the body, from 0.
    pub index: u64,
    /// Line of the body, from 1, where the format has lines.
    pub line: Option<u64>,
    /// The field at fault, where one is.
    pub field: Option<String>,
    /// The kind of fault.
    pub code: RejectCode,
    /// What was wrong and what to do, for people.
    pub detail: String,
}
