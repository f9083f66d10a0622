//! Taking readings away from buckets, part by part.

use ::mongodb::bson::raw::{CString, cstr};
use ::mongodb::bson::{RawDocumentBuf, doc, rawdoc};

use super::connection::Connection;
use super::document::{part_id, set_fields};
use super::failure::{corrupt, refused};
use super::indexes::BUCKETS;
use super::plain::{delete, update};
use super::readings_array::readings;
use super::statement;
use crate::bucket::{Computed, Elements};
use crate::model::{BucketKey, is_sum_field, sum_field};
use crate::store::{BucketEdit, BucketVersion, PartChange, StoreError, WriteOutcome};

/// Changes the parts in order. What a fence that does not hold, or an error,
/// leaves is true in itself: each part changed in one step.
pub(super) async fn edit(
    connection: &Connection,
    edit: &BucketEdit,
) -> Result<WriteOutcome, StoreError> {
    let parts = edit.parts.len();
    for part in &edit.parts {
        let is_done = match &part.change {
            PartChange::Keep => true,
            PartChange::Remove if parts > 1 => {
                return Err(refused(format!(
                    "\"{}\" has {parts} parts; they are emptied, not removed",
                    edit.key
                )));
            }
            PartChange::Remove => remove(connection, &edit.key, part.expected).await?,
            PartChange::Replace {
                target,
                elements,
                computed,
            } => {
                let with = Replacement {
                    target: *target,
                    elements: Some(elements),
                    computed,
                };
                replace(connection, &edit.key, part.expected, with).await?
            }
        };
        if !is_done {
            return Ok(WriteOutcome::Fenced);
        }
    }
    Ok(WriteOutcome::Stored)
}

/// What a part gets.
pub(super) struct Replacement<'a> {
    pub(super) target: BucketVersion,
    /// `None` leaves its readings.
    pub(super) elements: Option<&'a Elements>,
    pub(super) computed: &'a Computed,
}

/// Sets readings and computed fields of one part, and removes sums that belong
/// to none, where it still has the version `expected`. Whether it did.
pub(super) async fn replace(
    connection: &Connection,
    key: &BucketKey,
    expected: BucketVersion,
    with: Replacement<'_>,
) -> Result<bool, StoreError> {
    let ready = connection.ready().await?;
    let id = part_id(&key.sensor, key.hour, expected.part);
    // The names of stray sums are in the document only. Should it change in
    // between, the fence refuses the update.
    let find = || {
        let part = doc! { "_id": &id, "sensorId": key.sensor.as_str() };
        let find = ready.buckets.find_one(part);
        find.projection(doc! { "readings": 0 })
            .read_concern(ready.at_one_instant())
    };
    let Some(document) = connection.bounded_read(find).await? else {
        return Ok(false);
    };
    let kept: Vec<String> = with.computed.measures.keys().map(sum_field).collect();
    let mut stray = RawDocumentBuf::new();
    for field in document.iter() {
        let (name, _) =
            field.map_err(|error| corrupt(format!("document {id:?}"), error.to_string()))?;
        if is_sum_field(name.as_str()) && !kept.iter().any(|kept| kept == name.as_str()) {
            stray.append(CString::from(name), "");
        }
    }
    let mut set = set_fields(with.target, with.computed);
    if let Some(elements) = with.elements {
        set.append(cstr!("readings"), readings(elements));
    }
    let mut change = RawDocumentBuf::new();
    change.append(cstr!("$set"), set);
    if !stray.is_empty() {
        change.append(cstr!("$unset"), stray);
    }
    let statement = statement::edit(key, expected, change);
    Ok(update(connection, BUCKETS, vec![statement]).await? == 1)
}

/// Removes a part that has the version `expected`; whether it did.
async fn remove(
    connection: &Connection,
    key: &BucketKey,
    expected: BucketVersion,
) -> Result<bool, StoreError> {
    let statement = rawdoc! { "q": statement::part(key, expected), "limit": 1 };
    Ok(delete(connection, BUCKETS, vec![statement]).await? == 1)
}
