//! What people say of a sensor, from and to JSON. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::before::Before;
use super::error::FieldError;
use super::members::{TEXT_BYTES_MAX, checked_text, keep, object, put, put_retention, text};
use crate::model::{
    ATTRIBUTES_MAX, MeasureName, Retention, SensorDetails, SensorId, SiteCopy, SiteId,
    TAG_KEY_BYTES_MAX, TAG_VALUE_BYTES_MAX, Tags, UNITS_MAX,
};

/// What may be said.
const SAID: [&str; 7] = [
    "name",
    "model",
    "units",
    "site",
    "attributes",
    "retention",
    "rawRetention",
];

/// What an answer shows beside it, and a body that was made from one may hold.
const SHOWN: [&str; 7] = [
    "sensorId",
    "lastSeen",
    "recent",
    "rawFrom",
    "complete",
    "incompleteReason",
    "attributesSet",
];

/// What is said of a sensor.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SensorForm {
    /// For people.
    pub name: Option<Box<str>>,
    /// What kind of device.
    pub model: Option<Box<str>>,
    /// Unit of each measure.
    pub units: BTreeMap<MeasureName, Box<str>>,
    /// At which site.
    pub site: Option<SiteId>,
    /// Attributes that people set.
    pub attributes: Tags,
    /// How long readings are kept.
    pub retention: Retention,
    /// Keys of the attributes that people set, where a body that was made from an
    /// answer says so.
    pub attributes_set: Option<BTreeSet<Box<str>>>,
}

impl SensorForm {
    /// Reads a JSON object. `of` is the sensor that it must be of, where it says.
    ///
    /// # Errors
    /// [`FieldError`] names the member.
    pub fn read(value: &Value, of: Option<&SensorId>) -> Result<Self, FieldError> {
        let known: Vec<&str> = SAID.iter().chain(&SHOWN).copied().collect();
        let members = object(value, "the body", &known)?;
        if let (Some(of), Some(said)) = (of, members.get("sensorId"))
            && said.as_str() != Some(of.as_str())
        {
            let reason = format!("is not that of the path, `{of}`");
            return Err(FieldError::new("sensorId", reason));
        }
        Ok(Self {
            name: text(members, "name", "name", TEXT_BYTES_MAX)?,
            model: text(members, "model", "model", TEXT_BYTES_MAX)?,
            units: units(members)?,
            site: site(members)?,
            attributes: attributes(members)?,
            attributes_set: attributes_set(members)?,
            retention: Retention {
                hours: keep(members, "retention")?,
                readings: keep(members, "rawRetention")?,
            },
        })
    }

    /// The form that gives `details` again.
    #[must_use]
    pub fn of(details: &SensorDetails) -> Self {
        Self {
            name: details.name.clone(),
            model: details.model.clone(),
            units: details.units.clone(),
            site: details.site.as_ref().map(|copy| copy.id.clone()),
            attributes: details.attributes.clone(),
            retention: details.retention,
            attributes_set: None,
        }
    }

    /// Leaves to the device what is the device's: an answer shows its tags among
    /// the attributes, and who sends the answer back with something else changed
    /// has not set them.
    pub(super) fn without_tags(mut self, before: &Before) -> Self {
        if let Some(set) = &self.attributes_set {
            let attributes = self.attributes.iter();
            let kept =
                attributes.filter(|(key, text)| set.contains(*key) || !before.is_tag(key, text));
            self.attributes = Tags::new(kept);
        }
        self
    }

    /// What a record is to hold, with the copy of its site.
    #[must_use]
    pub fn details(self, site: Option<SiteCopy>) -> SensorDetails {
        SensorDetails {
            name: self.name,
            model: self.model,
            units: self.units,
            site,
            attributes: self.attributes,
            retention: self.retention,
        }
    }

    /// As a JSON object that [`SensorForm::read`] reads: for patches.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut members = Map::new();
        put(&mut members, "name", self.name.as_deref());
        put(&mut members, "model", self.model.as_deref());
        if !self.units.is_empty() {
            let units = self.units.iter();
            let units: Map<String, Value> = units
                .map(|(name, unit)| (name.as_str().to_owned(), (&**unit).into()))
                .collect();
            members.insert("units".into(), units.into());
        }
        put(&mut members, "site", self.site.as_ref().map(SiteId::as_str));
        if !self.attributes.is_empty() {
            members.insert("attributes".into(), labels(&self.attributes).into());
        }
        put_retention(&mut members, self.retention);
        Value::Object(members)
    }
}

/// What is known of a sensor, as answers show it: the form, with the site's name
/// and city, and all `attributes`, those of devices too.
#[must_use]
pub fn shown(details: &SensorDetails, attributes: &Tags) -> Map<String, Value> {
    let Value::Object(mut members) = SensorForm::of(details).to_json() else {
        return Map::new();
    };
    if let Some(copy) = &details.site {
        let mut site = Map::new();
        put(&mut site, "id", Some(copy.id.as_str()));
        put(&mut site, "name", copy.name.as_deref());
        put(&mut site, "city", copy.city.as_deref());
        members.insert("site".into(), site.into());
    }
    members.insert("attributes".into(), labels(attributes).into());
    members
}

/// A list of keys.
fn attributes_set(members: &Map<String, Value>) -> Result<Option<BTreeSet<Box<str>>>, FieldError> {
    let keys = match members.get("attributesSet") {
        None | Some(Value::Null) => return Ok(None),
        Some(keys) => keys.as_array(),
    };
    let texts = keys.map(|keys| keys.iter().map(|key| key.as_str().map(Box::from)).collect());
    let reason = "must be a list of keys of attributes, as an answer shows it";
    texts
        .flatten()
        .map(Some)
        .ok_or_else(|| FieldError::new("attributesSet", reason))
}

fn labels(tags: &Tags) -> Map<String, Value> {
    let pairs = tags.iter();
    pairs.map(|(k, v)| (k.to_owned(), v.into())).collect()
}

fn units(members: &Map<String, Value>) -> Result<BTreeMap<MeasureName, Box<str>>, FieldError> {
    let listed = match members.get("units") {
        None | Some(Value::Null) => return Ok(BTreeMap::new()),
        Some(Value::Object(listed)) => listed,
        Some(_) => {
            let reason = "must be an object of texts by measure, as {\"temp\": \"°C\"}";
            return Err(FieldError::new("units", reason));
        }
    };
    if listed.len() > UNITS_MAX {
        let reason = format!("has {} units, at most {UNITS_MAX} are taken", listed.len());
        return Err(FieldError::new("units", reason));
    }
    let mut units = BTreeMap::new();
    for key in listed.keys() {
        let field = format!("units.{key}");
        let name =
            MeasureName::new(key).map_err(|error| FieldError::new(&field, error.to_string()))?;
        if let Some(unit) = text(listed, key, &field, TEXT_BYTES_MAX)? {
            units.insert(name, unit);
        }
    }
    Ok(units)
}

/// A site's id, or an object with it, as answers show it.
fn site(members: &Map<String, Value>) -> Result<Option<SiteId>, FieldError> {
    let id = match members.get("site") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Object(site)) => site.get("id").and_then(Value::as_str),
        Some(other) => other.as_str(),
    };
    let id = id.ok_or_else(|| FieldError::new("site", "must be the id of a site"))?;
    SiteId::new(id)
        .map(Some)
        .map_err(|error| FieldError::new("site", format!("names no site: {error}")))
}

fn attributes(members: &Map<String, Value>) -> Result<Tags, FieldError> {
    let listed = match members.get("attributes") {
        None | Some(Value::Null) => return Ok(Tags::default()),
        Some(Value::Object(listed)) => listed,
        Some(_) => {
            let reason = "must be an object of texts, as {\"room\": \"4b\"}";
            return Err(FieldError::new("attributes", reason));
        }
    };
    if listed.len() > ATTRIBUTES_MAX {
        let reason = format!(
            "has {} keys, at most {ATTRIBUTES_MAX} are taken",
            listed.len()
        );
        return Err(FieldError::new("attributes", reason));
    }
    let mut pairs = Vec::with_capacity(listed.len());
    for (key, value) in listed {
        let field = format!("attributes.{key}");
        checked_text(key, &field, TAG_KEY_BYTES_MAX, &[])?;
        let value = match value {
            Value::Null => continue,
            Value::String(text) => text.clone(),
            // Firmware 2 and floor 3 are written without quotes now and then.
            Value::Number(number) => number.to_string(),
            Value::Bool(flag) => flag.to_string(),
            Value::Array(_) | Value::Object(_) => {
                return Err(FieldError::new(field, "must be a text"));
            }
        };
        checked_text(&value, &field, TAG_VALUE_BYTES_MAX, &[])?;
        pairs.push((key.clone(), value));
    }
    Ok(Tags::new(
        pairs.iter().map(|(k, v)| (k.as_str(), v.as_str())),
    ))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_form_survives_as_json() {
        let value = json!({
            "name": "Boiler flow", "model": "SHT31", "units": { "temp": "°C", "a.b": "%" },
            "site": "plant 1", "attributes": { "room": "4b", "floor": "3" },
            "retention": "400d", "rawRetention": "30d",
        });
        let form = SensorForm::read(&value, None).unwrap();
        assert_eq!(form.to_json(), value);
        assert_eq!(SensorForm::of(&form.clone().details(None)).site, None);
    }

    #[test]
    fn what_may_not_be_said_is_named() {
        for (value, field) in [
            (json!({ "nmae": "x" }), "nmae"),
            (json!({ "name": 5 }), "name"),
            (json!({ "name": " " }), "name"),
            (json!({ "name": "a\nb" }), "name"),
            (json!({ "model": "x".repeat(257) }), "model"),
            (json!({ "units": [] }), "units"),
            (json!({ "units": { "temp": 1 } }), "units.temp"),
            (json!({ "units": { "": "x" } }), "units."),
            (json!({ "site": 5 }), "site"),
            (json!({ "site": ".." }), "site"),
            (json!({ "attributes": { "k": [1] } }), "attributes.k"),
            (
                json!({ "attributes": { "k": "v".repeat(257) } }),
                "attributes.k",
            ),
            (json!({ "retention": "1y" }), "retention"),
            (json!({ "rawRetention": 30 }), "rawRetention"),
            (json!({ "sensorId": "S2" }), "sensorId"),
            (json!([]), "the body"),
        ] {
            let id = SensorId::new("S1").unwrap();
            let error = SensorForm::read(&value, Some(&id)).unwrap_err();
            assert_eq!(error.field, field, "{value}");
        }
    }

    #[test]
    fn what_an_answer_shows_may_come_back() {
        let value = json!({
            "sensorId": "S1", "name": "x", "site": { "id": "s", "name": "n", "city": "c" },
            "attributes": { "floor": 3, "on": true }, "lastSeen": "2026-05-01T10:00:00Z",
            "recent": [], "complete": true,
        });
        let id = SensorId::new("S1").unwrap();
        let form = SensorForm::read(&value, Some(&id)).unwrap();
        assert_eq!(form.site, Some(SiteId::new("s").unwrap()));
        assert_eq!(form.attributes, Tags::new([("floor", "3"), ("on", "true")]));
    }

    proptest! {
        #[test]
        fn any_json_is_read_or_refused(text in "\\PC{0,60}") {
            if let Ok(value) = serde_json::from_str::<Value>(&text) {
                prop_assert!(value.is_object() || SensorForm::read(&value, None).is_err());
            }
            let value = json!({ "name": text.clone(), "attributes": { text.clone(): text.clone() },
                "units": { text.clone(): text.clone() }, "site": text.clone(), "retention": text });
            if let Ok(form) = SensorForm::read(&value, None) {
                prop_assert_eq!(SensorForm::read(&form.to_json(), None).unwrap(), form);
            }
        }
    }
}
