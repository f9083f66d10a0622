//! All documents of a collection, taking nothing for granted. A stream holds one
//! batch of the cursor (at most 16 MB) and one bucket.

use std::sync::Arc;

use ::mongodb::bson::{Document, RawDocument, RawDocumentBuf, doc};
use ::mongodb::{Collection, Cursor};
use futures_util::stream::{self, BoxStream, StreamExt};

use super::connection::Connection;
use super::document::hour_date;
use super::examine::{Examined, examine, what};
use super::indexes::{SENSORS, SITES};
use super::{number_elements, sensor_document, site_document, strange_fields};
use crate::model::BucketKey;
use crate::store::{
    Flaw, Inspected, InspectedBucket, StoreError, StoredPart, StoredSensor, StoredSite,
};

/// Documents of a batch of small records.
const BATCH_DOCUMENTS: u32 = 1000;

/// What [`Scan`] knows of the bucket whose parts are being read.
type Open = (BucketKey, InspectedBucket);

struct Scan {
    connection: Arc<Connection>,
    cursor: Option<Cursor<RawDocumentBuf>>,
    open: Option<Open>,
}

/// All of `buckets`.
pub(super) fn buckets(
    connection: Arc<Connection>,
) -> BoxStream<'static, Result<InspectedBucket, StoreError>> {
    let scan = Scan {
        connection,
        cursor: None,
        open: None,
    };
    stream::try_unfold(scan, |mut scan| async {
        Ok(scan.next().await?.map(|found| (found, scan)))
    })
    .boxed()
}

impl Scan {
    async fn next(&mut self) -> Result<Option<InspectedBucket>, StoreError> {
        if self.cursor.is_none() {
            let ready = self.connection.ready().await?;
            let find = ready
                .buckets
                .find(doc! {})
                .sort(doc! { "sensorId": 1, "hour": 1, "part": 1 })
                .batch_size(BATCH_DOCUMENTS)
                .read_concern(ready.majority());
            self.cursor = Some(self.connection.bounded(find).await?);
        }
        let Some(cursor) = &mut self.cursor else {
            return Ok(None);
        };
        while self.connection.bounded(cursor.advance()).await? {
            let examined = examine(cursor.current());
            if let Some(bucket) = put(&mut self.open, examined) {
                return Ok(Some(bucket));
            }
        }
        Ok(self.open.take().map(|(_, bucket)| bucket))
    }
}

/// Adds a document to the bucket whose parts are being read; gives what is whole
/// by now, or names no bucket.
fn put(open: &mut Option<Open>, examined: Examined) -> Option<InspectedBucket> {
    let Some(key) = examined.key else {
        return Some(InspectedBucket {
            key: None,
            parts: Vec::new(),
            is_whole: false,
            flaws: examined.flaws,
        });
    };
    match open {
        Some((of, bucket)) if *of == key => {
            add(bucket, examined.part, examined.flaws);
            None
        }
        open => {
            let mut bucket = InspectedBucket {
                key: Some(key.clone()),
                parts: Vec::new(),
                is_whole: true,
                flaws: Vec::new(),
            };
            add(&mut bucket, examined.part, examined.flaws);
            open.replace((key, bucket)).map(|(_, bucket)| bucket)
        }
    }
}

fn add(bucket: &mut InspectedBucket, part: Option<StoredPart>, mut flaws: Vec<Flaw>) {
    bucket.is_whole &= part.is_some();
    bucket.parts.extend(part);
    bucket.flaws.append(&mut flaws);
}

/// One bucket, at one instant.
pub(super) async fn bucket(
    connection: &Connection,
    key: &BucketKey,
) -> Result<Option<InspectedBucket>, StoreError> {
    let ready = connection.ready().await?;
    let filter = doc! { "sensorId": key.sensor.as_str(), "hour": hour_date(key.hour) };
    let find = || {
        let find = ready.buckets.find(filter.clone());
        find.sort(doc! { "part": 1 })
            .read_concern(ready.at_one_instant())
    };
    let mut cursor = connection.bounded_read(find).await?;
    let mut open = None;
    while connection.bounded(cursor.advance()).await? {
        // All of them name this bucket, as the filter does.
        put(&mut open, examine(cursor.current()));
    }
    Ok(open.map(|(_, bucket)| bucket))
}

/// All of `sensors`.
pub(super) fn sensors(
    connection: Arc<Connection>,
) -> BoxStream<'static, Result<Inspected<StoredSensor>, StoreError>> {
    let read = |document: &Document| {
        let record = sensor_document::decode(document);
        let numbers = record.as_ref().ok();
        let numbers = numbers.map(|sensor| number_elements::untrue(document, &sensor.attributes));
        Read {
            strange: strange_fields::of_sensor(document),
            untrue: numbers.unwrap_or_default(),
            record,
        }
    };
    records(connection, SENSORS, read)
}

/// All of `sites`.
pub(super) fn sites(
    connection: Arc<Connection>,
) -> BoxStream<'static, Result<Inspected<StoredSite>, StoreError>> {
    let read = |document: &Document| Read {
        record: site_document::decode(document),
        strange: strange_fields::of_site(document),
        untrue: Vec::new(),
    };
    records(connection, SITES, read)
}

/// What a document holds.
struct Read<T> {
    /// The record as reads see it.
    record: Result<T, StoreError>,
    /// Its fields that are not known.
    strange: Vec<String>,
    /// What should follow from other fields and does not.
    untrue: Vec<String>,
}

fn records<T: Send + 'static>(
    connection: Arc<Connection>,
    collection: &'static str,
    read: fn(&Document) -> Read<T>,
) -> BoxStream<'static, Result<Inspected<T>, StoreError>> {
    stream::try_unfold(None, move |cursor: Option<Cursor<RawDocumentBuf>>| {
        let connection = Arc::clone(&connection);
        async move {
            let mut cursor = match cursor {
                Some(cursor) => cursor,
                None => {
                    let ready = connection.ready().await?;
                    let collection: Collection<RawDocumentBuf> =
                        ready.database.collection(collection);
                    let find = collection
                        .find(doc! {})
                        .sort(doc! { "_id": 1 })
                        .batch_size(BATCH_DOCUMENTS)
                        .read_concern(ready.majority());
                    connection.bounded(find).await?
                }
            };
            if !connection.bounded(cursor.advance()).await? {
                return Ok(None);
            }
            let record = record(cursor.current(), read);
            Ok(Some((record, Some(cursor))))
        }
    })
    .boxed()
}

fn record<T>(document: &RawDocument, read: fn(&Document) -> Read<T>) -> Inspected<T> {
    let what = what(document);
    let decoded = match Document::try_from(document) {
        Ok(decoded) => decoded,
        Err(error) => {
            return Inspected {
                record: None,
                flaws: vec![Flaw::damaged(what, error.to_string())],
            };
        }
    };
    let Read {
        record,
        strange,
        untrue,
    } = read(&decoded);
    let strange = strange.into_iter();
    let strange = strange.map(|reason| Flaw::not_understood(&what, reason));
    let untrue = untrue.into_iter();
    let untrue = untrue.map(|reason| Flaw::damaged(&what, reason));
    let mut flaws: Vec<Flaw> = strange.chain(untrue).collect();
    if let Err(error) = &record {
        // Its text names the record.
        let StoreError::Corrupt { what, reason, .. } = error else {
            return Inspected {
                record: None,
                flaws: vec![Flaw::damaged(what, error.to_string())],
            };
        };
        flaws.push(match reason.starts_with("_id") {
            true => Flaw::damaged(what, reason),
            false => Flaw::not_understood(what, reason),
        });
    }
    Inspected {
        record: record.ok(),
        flaws,
    }
}
