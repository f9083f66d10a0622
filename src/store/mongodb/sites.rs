//! Records of sites.

use ::mongodb::bson::{Document, RawDocumentBuf, doc, rawdoc};

use super::connection::Connection;
use super::failure::{corrupt, unavailable};
use super::fenced::{Fence, Records, Statement};
use super::indexes::SITES;
use super::site_document::{decode, encode};
use crate::model::SiteId;
use crate::store::{SitePut, StoreError, StoredSite, WriteOutcome};

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
