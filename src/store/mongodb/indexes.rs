//! Collections and indexes: what they are called, and making what is missing.

use ::mongodb::bson::{Document, RawDocumentBuf, doc};
use ::mongodb::{Collection, Database, IndexModel};

use super::failure::has_code;

/// One document per part of a bucket.
pub(super) const BUCKETS: &str = "buckets";
/// One document per sensor.
pub(super) const SENSORS: &str = "sensors";
/// One document per site.
pub(super) const SITES: &str = "sites";

/// NamespaceExists: another process made the collection in the meantime.
const NAMESPACE_EXISTS: i32 = 48;

/// The only index of `buckets` beside `_id`. It finds the parts of an hour and
/// a range of hours in order, and answers hourly aggregates without any
/// document.
pub(super) fn hours_index() -> Document {
    doc! {
        "sensorId": 1, "hour": 1, "part": 1, "rev": 1, "by": 1, "count": 1, "computed": 1,
    }
}

/// What [`hours_index`] answers alone.
pub(super) fn hours_projection() -> Document {
    doc! {
        "_id": 0,
        "sensorId": 1, "hour": 1, "part": 1, "rev": 1, "by": 1, "count": 1, "computed": 1,
    }
}

/// Sensors by attribute, whatever its key is; those of one text in the order of
/// their ids.
pub(super) fn attributes_index() -> Document {
    doc! { "attrs.k": 1, "attrs.v": 1, "_id": 1 }
}

/// The sensors of a site, in the order of their ids.
pub(super) fn site_index() -> Document {
    doc! { "site.id": 1, "_id": 1 }
}

/// Sensors by when they were last heard of.
pub(super) fn seen_index() -> Document {
    doc! { "lastSeen": 1, "_id": 1 }
}

/// Makes what is missing of collections and indexes. `sites` comes into being
/// with its first document and needs no index but `_id`.
pub(super) async fn create_missing(database: &Database) -> ::mongodb::error::Result<()> {
    if !are_there(database).await? {
        // zstd takes 6.6 bytes a reading where the default, snappy, takes 11.1.
        let create = doc! {
            "create": BUCKETS,
            "storageEngine": { "wiredTiger": { "configString": "block_compressor=zstd" } },
            "writeConcern": { "w": "majority" },
        };
        if let Err(error) = database.run_command(create).await
            && !has_code(&error, NAMESPACE_EXISTS)
        {
            return Err(error);
        }
    }
    let of_sensors = vec![attributes_index(), site_index(), seen_index()];
    for (collection, indexes) in [(BUCKETS, vec![hours_index()]), (SENSORS, of_sensors)] {
        let collection: Collection<Document> = database.collection(collection);
        let indexes = indexes
            .into_iter()
            .map(|keys| IndexModel::builder().keys(keys).build());
        collection.create_indexes(indexes).await?;
    }
    Ok(())
}

/// Whether the collections were made.
pub(super) async fn are_there(database: &Database) -> ::mongodb::error::Result<bool> {
    let names = database.list_collection_names();
    let there = names.filter(doc! { "name": BUCKETS }).await?;
    Ok(!there.is_empty())
}

/// Whether any of the collections has a document. Makes nothing.
pub(super) async fn hold_documents(database: &Database) -> ::mongodb::error::Result<bool> {
    for name in [BUCKETS, SENSORS, SITES] {
        let collection: Collection<RawDocumentBuf> = database.collection(name);
        let found = collection.find_one(doc! {}).projection(doc! { "_id": 1 });
        if found.await?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}
