//! Streams of buckets, a page at a time, so that few are in memory and no
//! snapshot stays open while a consumer is slow.

use std::collections::VecDeque;
use std::ops::Bound;

use fjall::Readable;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};

use super::EmbeddedStore;
use super::database::Database;
use super::errors::{corrupt, library};
use super::hour_record::HourRecord;
use super::read::bucket;
use crate::model::Order;
use crate::store::{StoreError, StoredBucket};

/// A page ends after this many hours …
const PAGE_HOURS_MAX: usize = 32;
/// … or as soon as it has this many values (8 bytes each, and as much again
/// for instants and layout).
const PAGE_VALUES_MAX: usize = 1 << 16;

/// Keys of hour records still to be read.
pub(super) type KeyRange = (Bound<Vec<u8>>, Bound<Vec<u8>>);

type Item = Result<StoredBucket, StoreError>;

/// One page and what is left behind it.
struct Page {
    items: VecDeque<Item>,
    rest: Option<KeyRange>,
}

/// The buckets of `range`. A bucket that is damaged is one `Err`, those behind
/// it follow; any other error ends the stream.
pub(super) fn buckets(
    store: EmbeddedStore,
    range: KeyRange,
    order: Order,
) -> BoxStream<'static, Item> {
    let first = Page {
        items: VecDeque::new(),
        rest: Some(range),
    };
    stream::unfold(first, move |mut page| {
        let store = store.clone();
        async move {
            loop {
                if let Some(item) = page.items.pop_front() {
                    return Some((item, page));
                }
                let range = page.rest.take()?;
                let read = store.read(move |db| read_page(db, range, order)).await;
                page = read.unwrap_or_else(|error| Page {
                    items: VecDeque::from([Err(error)]),
                    rest: None,
                });
            }
        }
    })
    .boxed()
}

fn read_page(database: &Database, range: KeyRange, order: Order) -> Result<Page, StoreError> {
    let snapshot = database.snapshot();
    let mut hours = snapshot.range(&database.hours, range.clone());
    let mut items = VecDeque::new();
    let mut values = 0;
    let mut last = None;
    while items.len() < PAGE_HOURS_MAX && values < PAGE_VALUES_MAX {
        let next = match order {
            Order::Ascending => hours.next(),
            Order::Descending => hours.next_back(),
        };
        let Some(guard) = next else {
            return Ok(Page { items, rest: None });
        };
        let (key, record) = guard.into_inner().map_err(library)?;
        let item = HourRecord::decode(&record)
            .map_err(|damage| corrupt("the hour record", &key, damage))
            .and_then(|record| bucket(database, &snapshot, &key, record));
        match item {
            Ok(bucket) => {
                values += bucket
                    .parts
                    .iter()
                    .map(|p| p.elements.value_count())
                    .sum::<usize>();
                items.push_back(Ok(bucket));
            }
            Err(error @ StoreError::Corrupt { .. }) => items.push_back(Err(error)),
            Err(error) => return Err(error),
        }
        last = Some(key.to_vec());
    }
    let rest = last.map(|last| match order {
        Order::Ascending => (Bound::Excluded(last), range.1),
        Order::Descending => (range.0, Bound::Excluded(last)),
    });
    Ok(Page { items, rest })
}
