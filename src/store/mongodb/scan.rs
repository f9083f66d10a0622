//! Buckets as a stream, in the order of the index. Holds one batch of the
//! cursor (at most 16 MB) and one bucket.

use std::sync::Arc;

use ::mongodb::Cursor;
use ::mongodb::bson::{Document, RawDocumentBuf};
use futures_util::stream::{self, BoxStream, StreamExt};

use super::connection::Connection;
use super::decode::{DecodedPart, decode_part};
use super::read::{join, load_again};
use crate::model::BucketKey;
use crate::store::{StoreError, StoredBucket, StoredPart};

/// Documents of a batch: a month of hours in one round trip, where they fit the
/// 16 MB of a reply.
const BATCH_DOCUMENTS: u32 = 1000;

/// Where a stream stands.
struct Scan {
    connection: Arc<Connection>,
    filter: Document,
    sort: Document,
    cursor: Option<Cursor<RawDocumentBuf>>,
    /// The bucket whose parts are being read.
    open: Option<(BucketKey, Vec<StoredPart>)>,
    ended: bool,
}

/// The buckets that match `filter`; `sort` keeps the parts of a bucket together.
pub(super) fn scan(
    connection: Arc<Connection>,
    filter: Document,
    sort: Document,
) -> BoxStream<'static, Result<StoredBucket, StoreError>> {
    let scan = Scan {
        connection,
        filter,
        sort,
        cursor: None,
        open: None,
        ended: false,
    };
    stream::unfold(scan, |mut scan| async {
        if scan.ended {
            return None;
        }
        match scan.next().await {
            Ok(Some(bucket)) => Some((Ok(bucket), scan)),
            Ok(None) => None,
            Err(error) => {
                // A document that cannot be read hides no other one from `verify`.
                scan.ended |= !matches!(error, StoreError::Corrupt { .. });
                Some((Err(error), scan))
            }
        }
    })
    .boxed()
}

impl Scan {
    async fn next(&mut self) -> Result<Option<StoredBucket>, StoreError> {
        while let Some(DecodedPart { key, part }) = self.next_part().await? {
            match &mut self.open {
                Some((open, parts)) if *open == key => parts.push(part),
                open => {
                    if let Some((key, parts)) = open.replace((key, vec![part])) {
                        return finish(&self.connection, key, parts).await.map(Some);
                    }
                }
            }
        }
        self.ended = true;
        match self.open.take() {
            Some((key, parts)) => finish(&self.connection, key, parts).await.map(Some),
            None => Ok(None),
        }
    }

    async fn next_part(&mut self) -> Result<Option<DecodedPart>, StoreError> {
        if self.cursor.is_none() {
            let ready = self.connection.ready().await?;
            let find = ready
                .buckets
                .find(self.filter.clone())
                .sort(self.sort.clone())
                .batch_size(BATCH_DOCUMENTS)
                .read_concern(ready.majority());
            self.cursor = Some(self.connection.bounded(find).await?);
        }
        let Some(cursor) = &mut self.cursor else {
            return Ok(None);
        };
        if !self.connection.bounded(cursor.advance()).await? {
            return Ok(None);
        }
        decode_part(cursor.current()).map(Some)
    }
}

async fn finish(
    connection: &Connection,
    key: BucketKey,
    parts: Vec<StoredPart>,
) -> Result<StoredBucket, StoreError> {
    match join(key, parts) {
        Ok(bucket) => Ok(bucket),
        Err(torn) => load_again(connection, torn).await,
    }
}
