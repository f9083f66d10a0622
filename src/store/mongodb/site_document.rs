//! Documents of `sites`: field names, the way in and the way out.

use ::mongodb::bson::{Bson, Document, doc};

use super::failure::corrupt;
use super::sensor_document::{decode_retention, integer, optional_text, retention, version};
use crate::model::{Contact, Position, SensorId, Site, SiteId};
use crate::store::{CopiesProgress, StoreError, StoredSite};

/// All of a site but its version.
pub(super) fn encode(site: &Site) -> Document {
    let mut document = doc! { "_id": site.id.as_str() };
    let texts = [
        ("name", &site.name),
        ("city", &site.city),
        ("address", &site.address),
        ("timeZone", &site.time_zone),
        ("notes", &site.notes),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            document.insert(name, &**text);
        }
    }
    if let Some(position) = site.position {
        let position = doc! { "latitude": position.latitude, "longitude": position.longitude };
        document.insert("position", position);
    }
    if !site.contacts.is_empty() {
        let contacts: Vec<Bson> = site.contacts.iter().map(encode_contact).collect();
        document.insert("contacts", contacts);
    }
    if let Some(retention) = retention(site.retention) {
        document.insert("retention", retention);
    }
    document
}

fn encode_contact(contact: &Contact) -> Bson {
    let fields = [
        ("name", &contact.name),
        ("role", &contact.role),
        ("email", &contact.email),
        ("phone", &contact.phone),
    ];
    let mut document = Document::new();
    for (name, text) in fields {
        if let Some(text) = text {
            document.insert(name, &**text);
        }
    }
    Bson::Document(document)
}

/// Reads the document of a site.
pub(super) fn decode(document: &Document) -> Result<StoredSite, StoreError> {
    let id = document.get_str("_id").unwrap_or_default();
    let bad = |reason: &str| corrupt(format!("site {id:?}"), reason);
    let unreadable = |field: &str| bad(&format!("{field} is unreadable"));
    let text = |name: &'static str| optional_text(document, name).map_err(unreadable);
    let contacts = match document.get("contacts") {
        None => Vec::new(),
        Some(contacts) => {
            let contacts = contacts.as_array().ok_or_else(|| unreadable("contacts"))?;
            let contacts: Result<Vec<_>, _> = contacts.iter().map(decode_contact).collect();
            contacts.map_err(unreadable)?
        }
    };
    let position = document.get("position").map(decode_position);
    let copies = document.get("copies").map(decode_copies);
    let version = version(document, "rev", "by").ok().flatten();
    Ok(StoredSite {
        site: Site {
            id: SiteId::new(id).map_err(|_| bad("_id is no site id"))?,
            name: text("name")?,
            city: text("city")?,
            address: text("address")?,
            position: position.transpose().map_err(unreadable)?,
            contacts,
            time_zone: text("timeZone")?,
            notes: text("notes")?,
            retention: decode_retention(document).map_err(unreadable)?,
        },
        version: version.ok_or_else(|| bad("rev or by is no integer"))?,
        copies: copies.transpose().map_err(unreadable)?,
    })
}

fn decode_contact(contact: &Bson) -> Result<Contact, &'static str> {
    let contact = contact.as_document().ok_or("contacts")?;
    Ok(Contact {
        name: optional_text(contact, "name")?,
        role: optional_text(contact, "role")?,
        email: optional_text(contact, "email")?,
        phone: optional_text(contact, "phone")?,
    })
}

fn decode_position(position: &Bson) -> Result<Position, &'static str> {
    let position = position.as_document().ok_or("position")?;
    let degrees = |name: &str| match position.get(name) {
        Some(Bson::Double(degrees)) => Ok(*degrees),
        Some(other) => integer(other).map(|n| n as f64).ok_or("position"),
        None => Err("position"),
    };
    Ok(Position {
        latitude: degrees("latitude")?,
        longitude: degrees("longitude")?,
    })
}

fn decode_copies(copies: &Bson) -> Result<CopiesProgress, &'static str> {
    let copies = copies.as_document().ok_or("copies")?;
    let after = match copies.get("after") {
        None => None,
        Some(after) => {
            let after = after.as_str().and_then(|after| SensorId::new(after).ok());
            Some(after.ok_or("copies.after")?)
        }
    };
    let done = copies.get("done").and_then(integer);
    Ok(CopiesProgress {
        after,
        done: done
            .and_then(|done| u64::try_from(done).ok())
            .ok_or("copies.done")?,
    })
}
