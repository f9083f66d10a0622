//! What people say of sensors.

use ::mongodb::bson::raw::{CString, cstr};
use ::mongodb::bson::{RawArrayBuf, RawBson, RawDocumentBuf, rawdoc};

use super::attributes::replaced;
use super::connection::Connection;
use super::fenced::{Fence, Records, Statement};
use super::indexes::SENSORS;
use super::sensor_document::details;
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
                let value = RawBson::try_from(value).map_err(|error| {
                    super::failure::corrupt(format!("sensor {id:?}"), error.to_string())
                })?;
                set.append(name, rawdoc! { "$literal": value });
            }
            None => set.append(name, "$$REMOVE"),
        }
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
