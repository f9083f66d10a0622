//! Sites, and the copies that sensors carry of them.

use ::mongodb::bson::raw::cstr;
use ::mongodb::bson::{Bson, Document, RawDocumentBuf, doc, rawdoc};
use ::mongodb::options::Hint;

use super::connection::Connection;
use super::failure::{corrupt, unavailable};
use super::fenced::{Fence, Records, Statement};
use super::indexes::{SENSORS, SITES, site_index};
use super::reply::UpdateReply;
use super::sensor_document::{
    decode_retention, integer, optional_text, retention, site_copy, version,
};
use super::statement::update_command;
use crate::model::{Contact, Position, SensorId, Site, SiteId};
use crate::store::{CopiesProgress, SitePut, StoreError, StoredSite, WriteOutcome};

const RECORDS: Records = Records {
    collection: SITES,
    rev: "rev",
    by: "by",
};

/// One site.
pub(super) async fn site(
    connection: &Connection,
    site: &SiteId,
) -> Result<Option<StoredSite>, StoreError> {
    let mut found = list(connection, doc! { "_id": site.as_str() }, 1).await?;
    Ok(found.pop())
}

/// At most `limit` sites above `after`, ordered by id.
pub(super) async fn sites(
    connection: &Connection,
    after: Option<&SiteId>,
    limit: usize,
) -> Result<Vec<StoredSite>, StoreError> {
    let Some(limit) = i64::try_from(limit).ok().filter(|limit| *limit > 0) else {
        return Ok(Vec::new());
    };
    // From the first text on: the server then walks the index, not the
    // collection.
    let above = after.map_or(doc! { "$gte": "" }, |after| doc! { "$gt": after.as_str() });
    list(connection, doc! { "_id": above }, limit).await
}

async fn list(
    connection: &Connection,
    filter: Document,
    limit: i64,
) -> Result<Vec<StoredSite>, StoreError> {
    let ready = connection.ready().await?;
    let collection = ready.database.collection::<Document>(SITES);
    let find = || {
        let find = collection.find(filter.clone()).sort(doc! { "_id": 1 });
        find.limit(limit)
            .batch_size(u32::MAX >> 1)
            .read_concern(ready.at_one_instant())
    };
    let mut cursor = connection.bounded_read(find).await?;
    let mut sites = Vec::new();
    while connection.bounded(cursor.advance()).await? {
        let document = cursor.deserialize_current();
        let document = document.map_err(|error| corrupt("a site", error.to_string()))?;
        sites.push(decode(&document)?);
    }
    Ok(sites)
}

/// Puts one site.
pub(super) async fn put(
    connection: &Connection,
    put: &SitePut,
) -> Result<WriteOutcome, StoreError> {
    let id = put.site.id.as_str();
    let fence = Some(Fence {
        expect: put.expect,
        target: put.target,
    });
    let bad = |error: &dyn std::fmt::Display| corrupt(format!("site {id:?}"), error.to_string());
    let mut document = encode(&put.site);
    document.insert("rev", put.target.rev);
    document.insert("by", put.target.by);
    let document = RawDocumentBuf::try_from(&document).map_err(|error| bad(&error))?;
    let begin = rawdoc! { "$literal": { "copies": { "done": 0_i64 } } };
    let copies = match put.rewrite_copies {
        true => begin,
        // A rewriting that is under way begins anew.
        false => rawdoc! { "$cond": [{ "$eq": [{ "$type": "$copies" }, "object"] }, begin, {}] },
    };
    let whole = rawdoc! { "$mergeObjects": [{ "$literal": document }, copies] };
    let statement = Statement {
        id: id.to_owned(),
        fence,
        document: rawdoc! {
            "q": RECORDS.filter(id, fence),
            "u": [{ "$replaceWith": whole }],
            "upsert": put.expect.is_none(),
        },
    };
    let mut outcomes = RECORDS.update(connection, vec![statement]).await?;
    outcomes
        .pop()
        .ok_or_else(|| unavailable("it did not say what became of a site"))
}

/// One batch of rewriting copies.
pub(super) async fn rewrite_copies(
    connection: &Connection,
    id: &SiteId,
    limit: usize,
) -> Result<Option<CopiesProgress>, StoreError> {
    let Some(StoredSite {
        site: found,
        version,
        copies: Some(mut progress),
    }) = site(connection, id).await?
    else {
        return Ok(None);
    };
    let limit = limit.max(1);
    let (members, stale) = members(connection, id, &progress, version.rev, limit).await?;
    if !stale.is_empty() {
        let copy = site_copy(&found.copy(version.rev));
        let copy = RawDocumentBuf::try_from(&copy)
            .map_err(|error| corrupt(format!("site {id:?}"), error.to_string()))?;
        let stale: Vec<&str> = stale.iter().map(SensorId::as_str).collect();
        let ids: ::mongodb::bson::RawArrayBuf = stale.into_iter().collect();
        let statement = rawdoc! {
            "q": {
                "_id": { "$in": ids },
                "site.id": id.as_str(),
                "site.rev": { "$lt": version.rev },
            },
            "u": { "$set": { "site": copy } },
            "multi": true,
        };
        progress.done += update(connection, SENSORS, statement).await? as u64;
    }
    let is_done = members.len() < limit;
    let change = if is_done {
        rawdoc! { "$unset": { "copies": "" } }
    } else {
        progress.after = members.into_iter().next_back();
        let mut copies = rawdoc! { "done": i64::try_from(progress.done).unwrap_or(i64::MAX) };
        if let Some(after) = &progress.after {
            copies.append(cstr!("after"), after.as_str());
        }
        rawdoc! { "$set": { "copies": copies } }
    };
    let statement = rawdoc! {
        "q": { "_id": id.as_str(), "rev": version.rev, "by": version.by },
        "u": change,
    };
    let matched = update(connection, SITES, statement).await?;
    if matched == 0 {
        // The site was changed meanwhile: what it says now is what is to be done.
        return Ok(site(connection, id).await?.and_then(|site| site.copies));
    }
    Ok((!is_done).then_some(progress))
}

/// The next sensors of a site behind the progress, and those of them whose copy
/// is older than `rev`.
async fn members(
    connection: &Connection,
    id: &SiteId,
    progress: &CopiesProgress,
    rev: i64,
    limit: usize,
) -> Result<(Vec<SensorId>, Vec<SensorId>), StoreError> {
    let ready = connection.ready().await?;
    let mut filter = doc! { "site.id": id.as_str() };
    if let Some(after) = &progress.after {
        filter.insert("_id", doc! { "$gt": after.as_str() });
    }
    let find = || {
        let find = ready.sensors.find(filter.clone()).sort(doc! { "_id": 1 });
        find.hint(Hint::Keys(site_index()))
            .projection(doc! { "site.rev": 1 })
            .limit(i64::try_from(limit).unwrap_or(i64::MAX))
            .batch_size(u32::MAX >> 1)
            .read_concern(ready.majority())
    };
    let mut cursor = connection.bounded_read(find).await?;
    let (mut members, mut stale) = (Vec::new(), Vec::new());
    while connection.bounded(cursor.advance()).await? {
        let document = cursor.deserialize_current();
        let document = document.map_err(|error| corrupt("a sensor", error.to_string()))?;
        let sensor = document.get_str("_id").ok();
        let sensor = sensor.and_then(|sensor| SensorId::new(sensor).ok());
        let sensor = sensor.ok_or_else(|| corrupt("a sensor", "_id is no sensor id"))?;
        let copied = document.get_document("site").ok();
        let copied = copied.and_then(|copy| copy.get("rev")).and_then(integer);
        if copied.is_none_or(|copied| copied < rev) {
            stale.push(sensor.clone());
        }
        members.push(sensor);
    }
    Ok((members, stale))
}

/// Runs one statement; how many documents matched.
async fn update(
    connection: &Connection,
    collection: &str,
    statement: RawDocumentBuf,
) -> Result<usize, StoreError> {
    let ready = connection.ready().await?;
    let command = update_command(collection, [statement]);
    let reply = connection
        .bounded(ready.database.run_raw_command(command))
        .await?;
    let mut reply = UpdateReply::read(&reply)?;
    match reply.failed.pop_first() {
        Some((_, error)) => Err(error),
        None => Ok(reply.matched()),
    }
}

fn encode(site: &Site) -> Document {
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

fn decode(document: &Document) -> Result<StoredSite, StoreError> {
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
