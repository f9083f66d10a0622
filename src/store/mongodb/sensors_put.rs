//! What people say of sensors.

use ::mongodb::bson::raw::{CString, cstr};
use ::mongodb::bson::{RawArrayBuf, RawBson, RawDocumentBuf, rawdoc};

use super::attributes::replaced;
use super::connection::Connection;
use super::failure::corrupt;
use super::fenced::{Fence, Records, Statement};
use super::indexes::SENSORS;
use super::sensor_document::{details, site_copy};
use crate::model::SiteCopy;
use crate::store::{SensorPut, StoreError, WriteOutcome};

const DETAILS: Records = Records {
    collection: SENSORS,
    rev: "rev",
    by: "by",
};

/// One command for all of them, where no fence is lost.
pub(super) async fn put(
    connection: &Connection,
    puts: &[SensorPut],
) -> Result<Vec<WriteOutcome>, StoreError> {
    if puts.is_empty() {
        return Ok(Vec::new());
    }
    let statements: Result<Vec<_>, _> = puts.iter().map(statement).collect();
    DETAILS.update(connection, statements?).await
}

fn statement(put: &SensorPut) -> Result<Statement, StoreError> {
    let id = put.id.as_str();
    let fence = Some(Fence {
        expect: put.expect,
        target: put.target,
    });
    let mut set = RawDocumentBuf::new();
    for (name, value) in details(&put.details) {
        let name = CString::try_from(name.to_owned()).expect("our field names hold no nul");
        match value {
            // Of texts of people a literal, or one with a `$` would be a path.
            Some(value) => {
                let value = RawBson::try_from(value)
                    .map_err(|error| corrupt(format!("sensor {id:?}"), error.to_string()))?;
                set.append(name, rawdoc! { "$literal": value });
            }
            None => set.append(name, "$$REMOVE"),
        }
    }
    match &put.details.site {
        Some(copy) => set.append(cstr!("site"), newest_copy(copy)?),
        None => set.append(cstr!("site"), "$$REMOVE"),
    }
    set.append(
        cstr!("attrs"),
        replaced(&put.details.attributes, &put.attributes_removed),
    );
    let keys: RawArrayBuf = put.details.attributes.iter().map(|(key, _)| key).collect();
    match put.details.attributes.is_empty() {
        true => set.append(cstr!("attrsSet"), "$$REMOVE"),
        false => set.append(cstr!("attrsSet"), rawdoc! { "$literal": keys }),
    }
    set.append(cstr!("rev"), rawdoc! { "$literal": put.target.rev });
    set.append(cstr!("by"), rawdoc! { "$literal": put.target.by });
    Ok(Statement {
        id: id.to_owned(),
        fence,
        document: rawdoc! {
            "q": DETAILS.filter(id, fence),
            "u": [{ "$set": set }],
            "upsert": put.expect.is_none(),
        },
    })
}

/// The copy of a site, or the one that is there where it is of a later version of
/// the same site: it may have been rewritten since the caller read it.
fn newest_copy(copy: &SiteCopy) -> Result<RawDocumentBuf, StoreError> {
    let given = RawDocumentBuf::try_from(&site_copy(copy))
        .map_err(|error| corrupt(format!("a copy of site {:?}", copy.id), error.to_string()))?;
    let is_same = rawdoc! { "$eq": ["$site.id", { "$literal": copy.id.as_str() }] };
    let is_newer = rawdoc! { "$gt": ["$site.rev", { "$literal": copy.rev }] };
    Ok(rawdoc! {
        "$cond": [{ "$and": [is_same, is_newer] }, "$site", { "$literal": given }],
    })
}
