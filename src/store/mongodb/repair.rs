//! Replacing computed fields that are wrong.

use ::mongodb::bson::raw::{CString, cstr};
use ::mongodb::bson::{RawDocumentBuf, doc};

use super::connection::Connection;
use super::document::{part_id, set_fields};
use super::failure::corrupt;
use super::indexes::BUCKETS;
use super::reply::UpdateReply;
use super::statement::{edit, update_command};
use crate::bucket::Computed;
use crate::model::{BucketKey, sum_field};
use crate::store::{BucketVersion, StoreError};

/// Sets the computed fields of one part and removes sums that belong to none,
/// where the part still has the version `expected`. Whether it did.
pub(super) async fn repair(
    connection: &Connection,
    key: &BucketKey,
    expected: BucketVersion,
    target: BucketVersion,
    computed: &Computed,
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
    let kept: Vec<String> = computed.measures.keys().map(sum_field).collect();
    let mut stray = RawDocumentBuf::new();
    for field in document.iter() {
        let (name, _) =
            field.map_err(|error| corrupt(format!("document {id:?}"), error.to_string()))?;
        if name.as_str().starts_with("sum") && !kept.iter().any(|kept| kept == name.as_str()) {
            stray.append(CString::from(name), "");
        }
    }
    let mut change = RawDocumentBuf::new();
    change.append(cstr!("$set"), set_fields(target, computed));
    if !stray.is_empty() {
        change.append(cstr!("$unset"), stray);
    }
    let command = update_command(BUCKETS, [edit(key, expected, change)]);
    let reply = connection
        .bounded(ready.database.run_raw_command(command))
        .await?;
    let mut reply = UpdateReply::read(&reply)?;
    match reply.failed.pop_first() {
        Some((_, error)) => Err(error),
        None => Ok(reply.matched() == 1),
    }
}
