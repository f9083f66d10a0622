//! What is said of a site, from and to JSON. Pure.

use serde_json::{Map, Value};

use super::error::FieldError;
use super::members::{TEXT_BYTES_MAX, keep, object, put, put_retention, text, text_with};
use crate::model::{Contact, Position, Retention, SITE_CONTACTS_MAX, Site, SiteId};

const ADDRESS_BYTES_MAX: usize = 1024;
const NOTES_BYTES_MAX: usize = 4096;

const SAID: [&str; 9] = [
    "name",
    "city",
    "address",
    "position",
    "contacts",
    "timeZone",
    "notes",
    "retention",
    "rawRetention",
];

/// What an answer shows beside it.
const SHOWN: [&str; 2] = ["siteId", "copies"];

/// What is said of a site.
#[derive(Debug, Clone, PartialEq)]
pub struct SiteForm(Site);

impl SiteForm {
    /// Reads a JSON object of the site `id`.
    ///
    /// # Errors
    /// [`FieldError`] names the member.
    pub fn read(value: &Value, id: &SiteId) -> Result<Self, FieldError> {
        let known: Vec<&str> = SAID.iter().chain(&SHOWN).copied().collect();
        let members = object(value, "the body", &known)?;
        if members
            .get("siteId")
            .is_some_and(|said| said.as_str() != Some(id.as_str()))
        {
            let reason = format!("is not that of the path, `{id}`");
            return Err(FieldError::new("siteId", reason));
        }
        Ok(Self(Site {
            id: id.clone(),
            name: text(members, "name", "name", TEXT_BYTES_MAX)?,
            city: text(members, "city", "city", TEXT_BYTES_MAX)?,
            address: text_with(members, "address", "address", ADDRESS_BYTES_MAX, &['\n'])?,
            position: position(members)?,
            contacts: contacts(members)?,
            time_zone: time_zone(members)?,
            notes: text_with(members, "notes", "notes", NOTES_BYTES_MAX, &['\n', '\t'])?,
            retention: Retention {
                hours: keep(members, "retention")?,
                readings: keep(members, "rawRetention")?,
            },
        }))
    }

    /// The form of a site as it is.
    #[must_use]
    pub fn of(site: &Site) -> Self {
        Self(site.clone())
    }

    /// The site.
    #[must_use]
    pub fn into_site(self) -> Site {
        self.0
    }

    /// As a JSON object that [`SiteForm::read`] reads.
    #[must_use]
    pub fn to_json(&self) -> Map<String, Value> {
        let site = &self.0;
        let mut members = Map::new();
        put(&mut members, "name", site.name.as_deref());
        put(&mut members, "city", site.city.as_deref());
        put(&mut members, "address", site.address.as_deref());
        if let Some(position) = site.position {
            let mut degrees = Map::new();
            degrees.insert("latitude".into(), position.latitude.into());
            degrees.insert("longitude".into(), position.longitude.into());
            members.insert("position".into(), degrees.into());
        }
        if !site.contacts.is_empty() {
            let contacts: Vec<Value> = site.contacts.iter().map(contact_json).collect();
            members.insert("contacts".into(), contacts.into());
        }
        put(&mut members, "timeZone", site.time_zone.as_deref());
        put(&mut members, "notes", site.notes.as_deref());
        put_retention(&mut members, site.retention);
        members
    }
}

fn contact_json(contact: &Contact) -> Value {
    let mut members = Map::new();
    put(&mut members, "name", contact.name.as_deref());
    put(&mut members, "role", contact.role.as_deref());
    put(&mut members, "email", contact.email.as_deref());
    put(&mut members, "phone", contact.phone.as_deref());
    Value::Object(members)
}

fn position(members: &Map<String, Value>) -> Result<Option<Position>, FieldError> {
    let position = match members.get("position") {
        None | Some(Value::Null) => return Ok(None),
        Some(position) => object(position, "position", &["latitude", "longitude"])?,
    };
    let degrees = |key: &str, most: f64| {
        let degrees = position.get(key).and_then(Value::as_f64);
        degrees
            .filter(|degrees| degrees.abs() <= most)
            .ok_or_else(|| {
                let reason = format!("must be degrees from -{most} to {most}");
                FieldError::new(format!("position.{key}"), reason)
            })
    };
    Ok(Some(Position {
        latitude: degrees("latitude", 90.0)?,
        longitude: degrees("longitude", 180.0)?,
    }))
}

fn contacts(members: &Map<String, Value>) -> Result<Vec<Contact>, FieldError> {
    let listed = match members.get("contacts") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(listed)) => listed,
        Some(_) => return Err(FieldError::new("contacts", "must be a list of objects")),
    };
    if listed.len() > SITE_CONTACTS_MAX {
        let reason = format!(
            "has {}, at most {SITE_CONTACTS_MAX} are taken",
            listed.len()
        );
        return Err(FieldError::new("contacts", reason));
    }
    let contact = |(at, value): (usize, &Value)| {
        let field = format!("contacts.{at}");
        let members = object(value, &field, &["name", "role", "email", "phone"])?;
        let text = |key| text(members, key, &format!("{field}.{key}"), TEXT_BYTES_MAX);
        Ok(Contact {
            name: text("name")?,
            role: text("role")?,
            email: text("email")?,
            phone: text("phone")?,
        })
    };
    listed.iter().enumerate().map(contact).collect()
}

/// An IANA name that this build knows.
fn time_zone(members: &Map<String, Value>) -> Result<Option<Box<str>>, FieldError> {
    let name = text(members, "timeZone", "timeZone", TEXT_BYTES_MAX)?;
    if let Some(name) = &name
        && jiff::tz::TimeZone::get(name).is_err()
    {
        let reason = format!("is an IANA name, as Europe/Zurich; `{name}` is none");
        return Err(FieldError::new("timeZone", reason));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn id() -> SiteId {
        SiteId::new("plant 1").unwrap()
    }

    #[test]
    fn a_site_survives_as_json() {
        let value = json!({
            "name": "Plant 1", "city": "Bern", "address": "Main Street 1\n3000 Bern",
            "position": { "latitude": 46.95, "longitude": 7.44 },
            "contacts": [{ "name": "Ada", "role": "night", "email": "a@b.example", "phone": "1" }],
            "timeZone": "Europe/Zurich", "notes": "ring\ttwice", "retention": "forever",
        });
        let form = SiteForm::read(&value, &id()).unwrap();
        assert_eq!(Value::Object(form.to_json()), value);
        assert_eq!(SiteForm::of(&form.clone().into_site()), form);
    }

    #[test]
    fn what_may_not_be_said_is_named() {
        let contacts = vec![json!({}); SITE_CONTACTS_MAX + 1];
        for (value, field) in [
            (json!({ "town": "x" }), "town"),
            (
                json!({ "position": { "latitude": 91, "longitude": 0 } }),
                "position.latitude",
            ),
            (
                json!({ "position": { "latitude": 1 } }),
                "position.longitude",
            ),
            (json!({ "contacts": contacts }), "contacts"),
            (json!({ "contacts": [{ "fax": "1" }] }), "fax"),
            (json!({ "contacts": [{ "name": 1 }] }), "contacts.0.name"),
            (json!({ "timeZone": "Mars/Base" }), "timeZone"),
            (json!({ "notes": "x".repeat(5000) }), "notes"),
            (json!({ "siteId": "other" }), "siteId"),
        ] {
            let error = SiteForm::read(&value, &id()).unwrap_err();
            assert_eq!(error.field, field, "{value}");
        }
    }
}
