//! Which sensor a line is about: its measurement and tags to an id.

use std::borrow::Cow;

use sha2::{Digest, Sha256};

use super::scan::{KEY, MEASUREMENT, escape_into};
use crate::model::SensorId;

/// How lines become readings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineMapping {
    /// Tags that name the sensor; the first one that a line has does.
    pub sensor_tags: Vec<String>,
    /// Tags that tell sensors apart which share a name: where a line has one, it
    /// becomes part of the id.
    pub dimension_tags: Vec<String>,
    /// Whether the name of a measure begins with the measurement and `_`.
    pub measurement_prefix: bool,
}

impl Default for LineMapping {
    fn default() -> Self {
        let names = ["sensor_id", "sensorId", "sensor", "device_id", "device"];
        Self {
            sensor_tags: names.map(str::to_owned).to_vec(),
            dimension_tags: Vec::new(),
            measurement_prefix: false,
        }
    }
}

/// Measurement and tags of a line, unescaped, the tags sorted by key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Series<'a> {
    pub(in super::super) measurement: Cow<'a, str>,
    pub(in super::super) tags: Vec<(Cow<'a, str>, Cow<'a, str>)>,
}

/// The sensor of a series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct NamedSensor<'s> {
    pub(in super::super) id: Cow<'s, str>,
    /// Position of the tag that names it, if one does.
    pub(in super::super) tag: Option<usize>,
}

/// Hexadecimal digits of the hash at the end of an id that was too long.
const HASH_DIGITS: usize = 32;

impl LineMapping {
    /// The sensor that `series` is of: the value of the first of
    /// [`LineMapping::sensor_tags`] that it has, with its dimensions behind it
    /// (`d1,core=0`); without such a tag the series key, `measurement,tag=value`
    /// with the tags sorted and escaped as in line protocol, which loses nothing.
    /// A composed id of more than 128 bytes keeps its beginning and ends in `~`
    /// and a hash of the whole.
    pub(super) fn sensor<'s>(&self, series: &'s Series<'_>) -> NamedSensor<'s> {
        let find = |key: &String| series.tags.iter().position(|(k, _)| k == key.as_str());
        let Some(tag) = self.sensor_tags.iter().find_map(find) else {
            let mut id = String::new();
            escape_into(&mut id, &series.measurement, MEASUREMENT);
            for tag in &series.tags {
                push_tag(&mut id, tag);
            }
            return NamedSensor {
                id: shortened(id),
                tag: None,
            };
        };
        let value = &*series.tags[tag].1;
        if self.dimension_tags.is_empty() {
            return NamedSensor {
                id: Cow::Borrowed(value),
                tag: Some(tag),
            };
        }
        // Escaped, so that a comma in a name is no dimension.
        let mut id = String::new();
        escape_into(&mut id, value, KEY);
        let dimensions = self.dimension_tags.iter().filter_map(find);
        for dimension in dimensions.filter(|dimension| *dimension != tag) {
            push_tag(&mut id, &series.tags[dimension]);
        }
        NamedSensor {
            id: shortened(id),
            tag: Some(tag),
        }
    }

    /// The measure that `field` of `measurement` is.
    pub(super) fn measure<'f>(&self, measurement: &str, field: Cow<'f, str>) -> Cow<'f, str> {
        if self.measurement_prefix {
            Cow::Owned(format!("{measurement}_{field}"))
        } else {
            field
        }
    }
}

fn push_tag(id: &mut String, (key, value): &(Cow<'_, str>, Cow<'_, str>)) {
    id.push(',');
    escape_into(id, key, KEY);
    id.push('=');
    escape_into(id, value, KEY);
}

fn shortened(mut id: String) -> Cow<'static, str> {
    if id.len() > SensorId::BYTES_MAX {
        let digest = Sha256::digest(id.as_bytes());
        id.truncate(id.floor_char_boundary(SensorId::BYTES_MAX - 1 - HASH_DIGITS));
        id.push('~');
        for byte in digest.iter().take(HASH_DIGITS / 2) {
            for digit in [byte >> 4, byte & 15] {
                id.push(char::from_digit(u32::from(digit), 16).unwrap_or('0'));
            }
        }
    }
    Cow::Owned(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series<'a>(measurement: &'a str, tags: &[(&'a str, &'a str)]) -> Series<'a> {
        let mut tags: Vec<_> = tags
            .iter()
            .map(|(k, v)| ((*k).into(), (*v).into()))
            .collect();
        tags.sort();
        Series {
            measurement: measurement.into(),
            tags,
        }
    }

    fn id(mapping: &LineMapping, measurement: &str, tags: &[(&str, &str)]) -> String {
        let series = series(measurement, tags);
        mapping.sensor(&series).id.into_owned()
    }

    #[test]
    fn the_first_configured_tag_names_the_sensor() {
        let mapping = LineMapping::default();
        assert_eq!(id(&mapping, "m", &[("device", "d"), ("sensor", "s")]), "s");
        assert_eq!(id(&mapping, "m", &[("device", "d"), ("host", "h")]), "d");
    }

    #[test]
    fn a_series_key_is_escaped_and_sorted() {
        let mapping = LineMapping::default();
        assert_eq!(
            id(&mapping, "c pu", &[("host", "a=b"), ("core", "0,1")]),
            r"c\ pu,core=0\,1,host=a\=b"
        );
        assert_eq!(id(&mapping, "cpu", &[]), "cpu");
    }

    #[test]
    fn dimensions_tell_sensors_apart() {
        let mapping = LineMapping {
            dimension_tags: vec!["core".into(), "device".into()],
            ..LineMapping::default()
        };
        let tags = [("device", "d,1"), ("core", "0"), ("room", "4b")];
        assert_eq!(id(&mapping, "cpu", &tags), r"d\,1,core=0");
        assert_eq!(id(&mapping, "cpu", &[("device", "d1")]), "d1");
    }

    #[test]
    fn a_long_key_is_shortened_and_stays_its_own() {
        let mapping = LineMapping::default();
        let long = "é".repeat(200);
        let ids = ["1", "2"].map(|end| id(&mapping, "m", &[("a", &long), ("z", end)]));
        for id in &ids {
            assert!(id.len() <= SensorId::BYTES_MAX && id.contains('~'), "{id}");
            assert!(SensorId::new(id).is_ok());
        }
        assert_ne!(ids[0], ids[1]);
        assert_eq!(id(&mapping, "m", &[("a", &long), ("z", "1")]), ids[0]);
    }
}
