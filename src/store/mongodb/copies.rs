//! The copies that sensors carry of a site: rewritten in batches, in the order of
//! their ids. The progress stands in the site's document.

use ::mongodb::bson::raw::cstr;
use ::mongodb::bson::{RawDocumentBuf, doc, rawdoc};
use ::mongodb::options::Hint;

use super::connection::Connection;
use super::failure::corrupt;
use super::indexes::{SENSORS, SITES, site_index};
use super::plain::update;
use super::sensor_document::{integer, site_copy};
use super::sites::site;
use crate::model::{SensorId, SiteId};
use crate::store::{CopiesProgress, StoreError, StoredSite};

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
        progress.done += update(connection, SENSORS, vec![statement]).await?;
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
    let matched = update(connection, SITES, vec![statement]).await?;
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
