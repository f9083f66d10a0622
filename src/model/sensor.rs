//! What is known of a sensor beside its readings.

use std::collections::BTreeMap;

use super::{MeasureName, Micros, SiteCopy, Tags};

/// What people say of a sensor; devices say nothing of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SensorDetails {
    /// For people.
    pub name: Option<Box<str>>,
    /// What kind of device.
    pub model: Option<Box<str>>,
    /// Unit of each measure, as `°C`; at most [`UNITS_MAX`].
    pub units: BTreeMap<MeasureName, Box<str>>,
    /// Where it is.
    pub site: Option<SiteCopy>,
    /// Attributes that people set: no tag that a device sends changes these.
    pub attributes: Tags,
    /// How long its readings are kept, where not as its site says.
    pub retention: Retention,
}

/// Most units of one sensor.
pub const UNITS_MAX: usize = 256;

/// How long readings are kept. `None`: as the next wider rule says (sensor, then
/// site, then the setting).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Retention {
    /// Whole buckets, with computed fields.
    pub hours: Option<Keep>,
    /// Their readings. Beyond it the computed fields stay.
    pub readings: Option<Keep>,
}

/// For how long something is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Keep {
    /// For this many seconds, at least 1.
    Seconds(u64),
    /// Without end.
    Forever,
}

/// One of the newest readings of a sensor.
#[derive(Debug, Clone, PartialEq)]
pub struct RecentReading {
    /// When.
    pub at: Micros,
    /// All that is stored of that instant, sorted by measure, at least one.
    pub values: Vec<(MeasureName, f64)>,
}

/// The number that an attribute's text is, in decimal or scientific notation:
/// it then answers to ranges of numbers. `None` for other texts, and for what is
/// not finite.
#[must_use]
pub fn attribute_number(text: &str) -> Option<f64> {
    let first = text.strip_prefix(['+', '-']).unwrap_or(text);
    // `parse` also takes "inf" and "nan".
    if !first.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    // -0 and 0 are one number, also where numbers are compared as bytes.
    let number = text.parse::<f64>().ok().filter(|n| n.is_finite())?;
    Some(number + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_texts_are_numbers_and_others_are_not() {
        for (text, number) in [
            ("2.1", 2.1),
            ("2.10", 2.1),
            ("-3", -3.0),
            ("+4e2", 400.0),
            (".5", 0.5),
            ("007", 7.0),
        ] {
            assert_eq!(attribute_number(text), Some(number), "{text}");
        }
        for text in [
            "", "2.1.3", "inf", "-nan", "1e999", "4b", " 1", "0x10", "1_0",
        ] {
            assert_eq!(attribute_number(text), None, "{text}");
        }
        let zero = attribute_number("-0").unwrap();
        assert_eq!(zero.to_bits(), 0.0_f64.to_bits());
    }
}
