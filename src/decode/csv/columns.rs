//! What the sender says of the columns.

use std::hash::{Hash, Hasher};

use jiff::tz::TimeZone;

/// Which column is what. What is not said follows from the names of the header.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CsvColumns {
    /// The column of the sensor; where the header has none of that name, the id
    /// that every row is of.
    pub sensor: Option<String>,
    /// The column of the time.
    pub time: Option<String>,
    /// The column of `ageMs`.
    pub age: Option<String>,
    /// Measures, each with a column of its own. Where there is one, no other
    /// column is taken as a measure.
    pub measures: Vec<(String, String)>,
    /// The zone of times that name none.
    pub zone: CsvZone,
    delimiter: u8,
}

/// An IANA time zone by its name.
#[derive(Debug, Clone)]
pub struct CsvZone {
    name: String,
    zone: TimeZone,
}

impl CsvColumns {
    /// Columns by the names of the header alone, times in UTC, commas between.
    #[must_use]
    pub fn by_name() -> Self {
        Self {
            sensor: None,
            time: None,
            age: None,
            measures: Vec::new(),
            zone: CsvZone {
                name: "UTC".to_owned(),
                zone: TimeZone::UTC,
            },
            delimiter: b',',
        }
    }

    /// Sets what stands between two cells: `,`, `;` or a tab (`\t`, `tab`).
    /// Answers whether `name` is one of them.
    #[must_use]
    pub fn set_delimiter(&mut self, name: &str) -> bool {
        self.delimiter = match name {
            "," => b',',
            ";" => b';',
            "\t" | "\\t" | "tab" => b'\t',
            _ => return false,
        };
        true
    }

    /// All of it in a form that stays the same from version to version: digests
    /// on disk depend on it. Every text follows its length, so that two tables
    /// that are read differently never have one form.
    #[must_use]
    pub fn stable_form(&self) -> String {
        let mut form = format!("csv; delimiter={}", self.delimiter);
        let mut put = |key: &str, text: &str| {
            form.push_str(&format!("; {key}={}:{text}", text.len()));
        };
        put("tz", &self.zone.name);
        let said = [
            ("sensorId", &self.sensor),
            ("ts", &self.time),
            ("ageMs", &self.age),
        ];
        for (key, column) in said {
            if let Some(column) = column {
                put(key, column);
            }
        }
        for (measure, column) in &self.measures {
            put("measure", measure);
            put("column", column);
        }
        form
    }

    pub(super) fn delimiter(&self) -> u8 {
        self.delimiter
    }

    pub(super) fn zone(&self) -> &TimeZone {
        &self.zone.zone
    }
}

impl CsvZone {
    /// The zone that `name` names (`UTC`, `Europe/Berlin`), if there is one.
    #[must_use]
    pub fn new(name: &str) -> Option<Self> {
        let zone = match name {
            "UTC" => TimeZone::UTC,
            name => TimeZone::get(name).ok()?,
        };
        let name = zone.iana_name().unwrap_or(name).to_owned();
        Some(Self { name, zone })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl PartialEq for CsvZone {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for CsvZone {}

impl Hash for CsvZone {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Digests on disk hold it: a change here makes requests new that are not.
    #[test]
    fn the_stable_form_is_what_it_was_and_tells_tables_apart() {
        let mut columns = CsvColumns::by_name();
        assert_eq!(columns.stable_form(), "csv; delimiter=44; tz=3:UTC");
        columns.sensor = Some("S1".to_owned());
        columns.time = Some("when; ageMs=1:a".to_owned());
        columns.zone = CsvZone::new("Europe/Berlin").unwrap();
        columns.measures = vec![("temp".to_owned(), "value".to_owned())];
        assert!(columns.set_delimiter(";"));
        assert_eq!(
            columns.stable_form(),
            "csv; delimiter=59; tz=13:Europe/Berlin; sensorId=2:S1; ts=15:when; ageMs=1:a; \
             measure=4:temp; column=5:value"
        );
    }

    #[test]
    fn a_zone_is_known_by_its_name() {
        assert_eq!(CsvZone::new("europe/berlin"), CsvZone::new("Europe/Berlin"));
        assert_eq!(CsvZone::new("UTC").unwrap().name(), "UTC");
        for name in ["", "Berlin", "+02:00", "CEST"] {
            assert_eq!(CsvZone::new(name), None, "{name}");
        }
    }
}
